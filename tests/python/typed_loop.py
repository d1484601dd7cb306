"""A loop as a user with `mypy --strict` writes it: scripts/test-python checks its types."""

import torch

import sadam

model = torch.nn.Linear(2, 1)


def loss_fn() -> torch.Tensor:
    return torch.nn.functional.mse_loss(model(torch.ones(4, 2)), torch.ones(4, 1))


optimizer = sadam.SAdam(model, lr=1e-2, probes=2)
print(optimizer.step(loss_fn).item(), optimizer.step([loss_fn, loss_fn]).item())
print(sadam.AdamW(model).step(loss_fn).item(), optimizer.summary.brake)
optimizer.step(optimizer.probe(loss_fn))
