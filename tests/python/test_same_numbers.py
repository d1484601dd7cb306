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


def twin(what, folder):
    """Of all kinds at once, since a start of the program takes half a second."""
    program = os.environ.get("SADAM_TWIN")
    if not program:
        pytest.skip("SADAM_TWIN does not name the C++ program to compare with: build the target page_examples.")
    subprocess.run([program, "twin", what, str(STEPS), str(folder), *KINDS], check=True)


@pytest.fixture(scope="session")
def from_cpp(tmp_path_factory):
    """A folder for each kind, with weights.pt and optimizer.pt of the C++ program."""
    folder = tmp_path_factory.mktemp("cpp")
    for kind in KINDS:
        (folder / kind).mkdir()
    twin("train", folder)
    return folder


@pytest.fixture(scope="session")
def resumed_by_cpp(tmp_path_factory):
    """A folder for each kind, with resumed.pt of the C++ program; and what Python's own run came to."""
    folder = tmp_path_factory.mktemp("python")
    whole = {}
    for kind in KINDS:
        (folder / kind).mkdir()
        run = Run(kind)
        run.train()
        run.optimizer.save_for_cpp(folder / kind / "python.pt")
        run.train()
        whole[kind] = run.tensors()
    twin("resume", folder)
    return folder, whole


def tensors_in(path):
    return [tensor.detach() for tensor in torch.jit.load(str(path)).parameters()]


@pytest.mark.parametrize("kind", KINDS)
def test_python_follows_the_trajectory_of_cpp_bit_for_bit(kind, from_cpp):
    run = Run(kind)
    run.train()
    assert same_bits(run.tensors(), tensors_in(from_cpp / kind / "weights.pt"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_saved_by_cpp_continues_in_python(kind, from_cpp):
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
    resumed.optimizer.load_from_cpp(from_cpp / kind / "optimizer.pt")
    assert resumed.optimizer.totals == whole.optimizer.totals
    assert resumed.optimizer.param_groups[0]["lr"] == 0.01
    resumed.train()
    torch.set_rng_state(generator)
    whole.train()
    assert same_bits(resumed.tensors(), whole.tensors())
    assert resumed.optimizer.summary.lgi == whole.optimizer.summary.lgi


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_saved_by_python_continues_in_cpp(kind, resumed_by_cpp):
    folder, whole = resumed_by_cpp
    assert same_bits(whole[kind], tensors_in(folder / kind / "resumed.pt"))


def test_loading_a_state_without_moments_forgets_those_that_are_there(tmp_path):
    run = Run("adamw")
    run.optimizer.save_for_cpp(tmp_path / "fresh.pt")
    run.train()
    run.optimizer.load_from_cpp(tmp_path / "fresh.pt")
    assert not run.optimizer.state and run.optimizer.totals.steps == 0
