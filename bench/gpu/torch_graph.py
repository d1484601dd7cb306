"""ResNet-18 with AdamW, captured as a CUDA graph by PyTorch: what `gpu_tables` holds our captured AdamW against.

Each line of standard input is a batch size and a number of steps; the answer is the seconds that one step took.
"""

import sys
import time

try:
    import torch
    import torchvision
except ImportError:
    sys.exit()

CLASSES, PIXELS = 100, 224


def captured(batch):
    """A function that takes one step."""
    torch.manual_seed(1)
    net = torchvision.models.resnet18(num_classes=CLASSES).cuda().train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, capturable=True)
    images = torch.randn(batch, 3, PIXELS, PIXELS, device="cuda")
    labels = torch.randint(CLASSES, (batch,), device="cuda")
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(images), labels).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    steps = {}
    for line in sys.stdin:
        batch, count = map(int, line.split())
        if batch not in steps:
            steps[batch] = captured(batch)
            steps[batch]()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            steps[batch]()
        torch.cuda.synchronize()
        print((time.perf_counter() - start) / count, flush=True)


main()
