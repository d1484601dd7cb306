"""Small models and comparisons that several tests share."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence

import pytest
import torch

F = torch.nn.functional


class NoisyNet(torch.nn.Module):
    """Dropout and batch norm, the two things that make a forward pass leave traces."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.dropout = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(8, 3)
        self.masks: List[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.dropout(torch.relu(self.norm(self.first(x))))
        self.masks.append(hidden.detach() == 0)
        return self.last(hidden)


class Task:
    """A model, a batch and the loss on it."""

    def __init__(self, seed: int = 1) -> None:
        torch.manual_seed(seed)
        self.model = NoisyNet()
        self.x = torch.randn(16, 6)
        self.y = torch.randint(0, 3, (16,))

    def loss(self) -> torch.Tensor:
        return F.cross_entropy(self.model(self.x), self.y)

    def tensors(self) -> List[torch.Tensor]:
        return [tensor.detach().clone() for tensor in self.model.state_dict().values()]


@pytest.fixture
def task() -> Task:
    return Task()


def same_bits(a: Sequence[torch.Tensor], b: Sequence[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and x.cpu().numpy().tobytes() == y.cpu().numpy().tobytes()
        for x, y in zip(a, b)
    )


def steps_with_scaler(
    optimizer: Any,
    scaler: Any,
    autocast: Any,
    loss_fn: Callable[[], torch.Tensor],
    steps: int,
    clip: Callable[[], Any] = lambda: None,
) -> None:
    """The loop of docs/python.md for mixed precision; clipping goes where it has to."""
    for _ in range(steps):
        optimizer.begin()
        optimizer.zero_grad()
        with autocast:
            loss = loss_fn()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        optimizer.probe(loss_fn, loss)
        clip()
        scaler.step(optimizer)
        scaler.update()


def refusal(kind: type, call: Callable[[], Any]) -> str:
    """The sentence of the exception that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence, sentence
    return sentence
