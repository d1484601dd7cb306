"""Steps of the published training script's kind, in plain PyTorch: what `bench_tables qat` measures against.

The network, the fake quantization and the optimizer rule are those of the authors' experiment (QATNet for 32
pixels, 100 classes, 2 bits, batch 128), written as a PyTorch user would write them: tensor expressions, one
parameter tensor after the other, the number of threads that PyTorch chooses.

Each line of standard input asks for steps, each answer is a line with the seconds that one of them took:

    adamw N        N steps of torch.optim.AdamW
    sadam K N      N steps of S-Adam with K probes
    threads N      PyTorch is to use N threads; 0: as many as it chose at the start. Answered with their number

The data are random and stay the same; every optimizer trains a network of its own.
"""

import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit()  # without an answer: bench_tables then says what is missing

BATCH, PIXELS, CLASSES = 128, 32, 100
LEARNING_RATE, DECAY, BETAS, EPS = 1e-3, 0.01, (0.9, 0.999), 1e-8
RADIUS, DAMPING, LGI_EPS, LGI_CAP = 0.01, 2.0, 1e-6, 10.0


class TwoBits(torch.autograd.Function):
    """Rounds to -1, 0 and 1 in units of the tensor's own scale; the gradient passes as it is."""

    @staticmethod
    def forward(ctx, x):
        scale = 1.5 / (x.abs().max() + 1e-5)
        return torch.clamp(torch.round(x * scale), -2, 1) / scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class QuantizedConv2d(nn.Conv2d):
    def forward(self, x):
        return nn.functional.conv2d(TwoBits.apply(x), TwoBits.apply(self.weight), self.bias)


class QuantizedLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, TwoBits.apply(self.weight), self.bias)


class QATNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = QuantizedConv2d(3, 16, 3)
        self.conv2 = QuantizedConv2d(16, 32, 3)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.25)
        self.fc = QuantizedLinear(32 * 6 * 6, CLASSES)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc(self.dropout(torch.flatten(x, 1)))


class SAdam(torch.optim.Optimizer):
    """The authors' rule: a unit direction for each tensor, unbiased variance, probes in training mode."""

    def __init__(self, parameters, probes):
        super().__init__(parameters, {"lr": LEARNING_RATE})
        self.probes = probes

    @torch.no_grad()
    def step(self, closure):
        with torch.enable_grad():
            loss = closure()
            loss.backward()
        base = loss.item()
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            brake = self.brake(parameters, closure, base)
            for p in parameters:
                self.update(p, group["lr"], brake)
        return loss

    def brake(self, parameters, closure, base):
        slopes = []
        for _ in range(self.probes):
            moves = []
            for p in parameters:
                direction = torch.randn_like(p)
                moves.append(direction / (direction.norm() + 1e-12) * RADIUS)
            for p, move in zip(parameters, moves):
                p.add_(move)
            slopes.append((closure().item() - base) / RADIUS)
            for p, move in zip(parameters, moves):
                p.sub_(move)
        slopes = torch.tensor(slopes)
        variance = slopes.var(unbiased=True) if self.probes > 1 else torch.tensor(0.0)
        lgi = min((variance / (slopes.square().mean() + LGI_EPS)).item(), LGI_CAP)
        return torch.exp(torch.tensor(-DAMPING * lgi)).item()

    def update(self, p, learning_rate, brake):
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["m"] = torch.zeros_like(p)
            state["v"] = torch.zeros_like(p)
        state["step"] += 1
        m, v, t = state["m"], state["v"], state["step"]
        p.mul_(1 - learning_rate * DECAY)
        m.mul_(BETAS[0]).add_(p.grad, alpha=1 - BETAS[0])
        v.mul_(BETAS[1]).addcmul_(p.grad, p.grad, value=1 - BETAS[1])
        size = learning_rate * (1 - BETAS[1] ** t) ** 0.5 / (1 - BETAS[0] ** t)
        p.addcdiv_(m, v.sqrt().add_(EPS), value=-size * brake)


class Training:
    def __init__(self, make_optimizer):
        self.network = QATNet()
        self.optimizer = make_optimizer(self.network.parameters())
        self.criterion = nn.CrossEntropyLoss()

    def step(self, images, labels):
        def loss():
            return self.criterion(self.network(images), labels)

        self.optimizer.zero_grad()
        if isinstance(self.optimizer, SAdam):
            self.optimizer.step(loss).item()
        else:
            value = loss()
            value.backward()
            self.optimizer.step()
            value.item()


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=DECAY)


def main():
    torch.manual_seed(42)
    images = torch.randn(BATCH, 3, PIXELS, PIXELS)
    labels = torch.randint(CLASSES, (BATCH,))
    chosen_threads = torch.get_num_threads()
    trainings = {}
    for line in sys.stdin:
        words = line.split()
        if words[0] == "threads":
            torch.set_num_threads(int(words[1]) or chosen_threads)
            print(torch.get_num_threads(), flush=True)
            continue
        name = " ".join(words[:-1])
        if name not in trainings:
            probes = int(words[1]) if words[0] == "sadam" else None
            trainings[name] = Training((lambda p: SAdam(p, probes)) if probes else adamw)
        steps = int(words[-1])
        start = time.perf_counter()
        for _ in range(steps):
            trainings[name].step(images, labels)
        print((time.perf_counter() - start) / steps, flush=True)


if __name__ == "__main__":
    main()
