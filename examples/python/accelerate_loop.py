"""S-Adam under Accelerate, which wraps the optimizer: probe the one inside after `accelerator.backward`."""

import torch
from accelerate import Accelerator

import sadam


def main(steps=20):
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model, optimizer = accelerator.prepare(model, sadam.SAdam(model, lr=1e-2))
    x = torch.rand(64, 2) * 4 - 2
    y = x.abs().sum(1, keepdim=True)

    def loss_fn():
        return torch.nn.functional.mse_loss(model(x), y)

    inner = optimizer.optimizer
    brakes = []
    for _ in range(steps):
        inner.begin()
        optimizer.zero_grad()
        loss = loss_fn()
        accelerator.backward(loss)
        inner.probe(loss_fn, loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        brakes.append(inner.summary.brake)
    return brakes


if __name__ == "__main__":
    print("brakes", main())
