"""The same network, seed and data in Python and in a C++ program: the same bits."""

import os
import subprocess

import pytest
import torch

import sadam
from conftest import same_bits

F = torch.nn.functional
STEPS = 12
HELD = dict(directions="step", statistic="residual", brake="held", target=0.3)
KINDS = {
    "sadam": lambda model: sadam.SAdam(model, lr=0.01, probes=3, seed=7),
    "held": lambda model: sadam.SAdam(model, lr=0.01, probes=3, seed=7, **HELD),
    "adamw": lambda model: sadam.AdamW(model, lr=0.01),
    "prox": lambda model: sadam.ProxSGD(model, lr=0.01),
}


class Run:
    """What tests/python/twin.cpp does."""

    def __init__(self, kind):
        torch.manual_seed(2)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
        )
        torch.manual_seed(4)
        self.x, self.y = torch.randn(16, 6), torch.randint(0, 3, (16,))
        self.optimizer = KINDS[kind](self.model)
        torch.manual_seed(5)

    def train(self):
        for _ in range(STEPS):
            self.optimizer.step(lambda: F.cross_entropy(self.model(self.x), self.y))

    def tensors(self):
        return [tensor.detach() for tensor in [*self.model.parameters(), *self.model.buffers()]]


def twin(what, kind, folder):
    program = os.environ.get("SADAM_TWIN")
    if not program:
        pytest.skip("SADAM_TWIN does not name the C++ program to compare with: build the target page_examples.")
    subprocess.run([program, "twin", what, kind, str(STEPS), str(folder)], check=True)


def tensors_in(path):
    return [tensor.detach() for tensor in torch.jit.load(str(path)).parameters()]


@pytest.mark.parametrize("kind", KINDS)
def test_python_follows_the_trajectory_of_cpp_bit_for_bit(kind, tmp_path):
    twin("train", kind, tmp_path)
    run = Run(kind)
    run.train()
    assert same_bits(run.tensors(), tensors_in(tmp_path / "weights.pt"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_saved_by_cpp_continues_in_python(kind, tmp_path):
    twin("train", kind, tmp_path)
    whole = Run(kind)
    whole.train()
    resumed = Run(kind)
    resumed.train()
    # Another optimizer, with other options and a life of its own, which loading must replace.
    resumed.optimizer = type(resumed.optimizer)(resumed.model, lr=0.5)
    weights = [tensor.clone() for tensor in resumed.tensors()]
    generator = torch.get_rng_state()
    resumed.train()
    for tensor, saved in zip(resumed.tensors(), weights):
        tensor.copy_(saved)
    torch.set_rng_state(generator)
    resumed.optimizer.load_from_cpp(tmp_path / "optimizer.pt")
    assert resumed.optimizer.totals == whole.optimizer.totals
    assert resumed.optimizer.param_groups[0]["lr"] == 0.01
    resumed.train()
    torch.set_rng_state(generator)
    whole.train()
    assert same_bits(resumed.tensors(), whole.tensors())
    assert resumed.optimizer.summary.lgi == whole.optimizer.summary.lgi


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_saved_by_python_continues_in_cpp(kind, tmp_path):
    run = Run(kind)
    run.train()
    run.optimizer.save_for_cpp(tmp_path / "python.pt")
    run.train()
    twin("resume", kind, tmp_path)
    assert same_bits(run.tensors(), tensors_in(tmp_path / "resumed.pt"))


def test_loading_a_state_without_moments_forgets_those_that_are_there(tmp_path):
    run = Run("adamw")
    run.optimizer.save_for_cpp(tmp_path / "fresh.pt")
    run.train()
    run.optimizer.load_from_cpp(tmp_path / "fresh.pt")
    assert not run.optimizer.state and run.optimizer.totals.steps == 0
