"""Steps that are captured on a GPU, and taken eagerly on the CPU."""

import pytest
import torch

import sadam
from conftest import Task, refusal, same_bits


def test_on_the_cpu_a_graphed_step_is_the_optimizers_own():
    a, b = Task(), Task()
    optimizer = sadam.SAdam(a.model, lr=0.01)
    graphed = sadam.SAdam(b.model, lr=0.01)
    step = sadam.GraphedStep(graphed, lambda x, y: torch.nn.functional.cross_entropy(b.model(x), y))
    torch.manual_seed(3)
    losses = [optimizer.step(a.loss).item() for _ in range(3)]
    torch.manual_seed(3)
    assert losses == [step(b.x, b.y).item() for _ in range(3)]
    assert same_bits(a.tensors(), b.tensors())
    assert not step.is_captured and step.why_not == "the parameters are on the CPU" and step.streams == 0
    assert graphed.state[b.model.last.weight]["step"] == 3


def test_a_brake_and_a_loss_for_probes():
    task = Task()
    optimizer = sadam.SAdam(task.model)
    sizes = []

    def part(x, y):
        sizes.append(len(x))
        return torch.nn.functional.cross_entropy(task.model(x[:4]), y[:4])

    loss = lambda x, y: torch.nn.functional.cross_entropy(task.model(x), y)
    step = sadam.GraphedStep(optimizer, loss, probe_loss_fn=part)
    step(task.x, task.y)
    assert sizes
    step(task.x, task.y, brake=0.5)
    assert optimizer.summary.brake == 0.5


def test_what_does_not_fit_is_refused():
    task = Task()
    loss = lambda x: task.model(x).sum()
    by_parameters = sadam.SAdam(task.model.parameters())
    assert "module" in refusal(ValueError, lambda: sadam.GraphedStep(by_parameters, loss))
    sadam.GraphedStep(by_parameters, loss, task.model)(task.x)
    assert "SGD" in refusal(TypeError, lambda: sadam.GraphedStep(torch.optim.SGD(task.model.parameters(), 0.1), loss))
    assert "no loss" in refusal(TypeError, lambda: sadam.GraphedStep(by_parameters, None, task.model))
    step = sadam.GraphedStep(sadam.SAdam(task.model), loss)
    assert "'int'" in refusal(TypeError, lambda: step(3))
    with pytest.raises(ZeroDivisionError):
        sadam.GraphedStep(sadam.SAdam(task.model), lambda x: 1 / 0)(task.x)
