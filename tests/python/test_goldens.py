"""Trajectories recorded elsewhere, in float64, reproduced step by step."""

import json
from pathlib import Path

import pytest
import torch

import sadam

F = torch.nn.functional
GOLDENS = Path(__file__).resolve().parents[1] / "optim" / "goldens"


class Golden:
    """One recorded run: the network Linear(4,5), ReLU, Linear(5,3) with mean cross-entropy, its data and its steps."""

    def __init__(self, name: str) -> None:
        self.record = json.loads((GOLDENS / f"{name}.json").read_text())
        self.shapes = self.record["parameter_shapes"]
        self.parameters = [
            self.tensor(values, shape).requires_grad_()
            for values, shape in zip(self.record["initial_parameters"], self.shapes)
        ]
        self.inputs = torch.tensor(self.record["inputs"], dtype=torch.float64)
        self.targets = torch.tensor(self.record["targets"])

    @staticmethod
    def tensor(values, shape):
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    def loss(self):
        w1, b1, w2, b2 = self.parameters
        return F.cross_entropy(F.linear(torch.relu(F.linear(self.inputs, w1, b1)), w2, b2), self.targets)

    def expect_parameters_of_step(self, step):
        for values, shape, parameter in zip(self.record["steps"][step]["parameters"], self.shapes, self.parameters):
            expected = self.tensor(values, shape)
            assert ((parameter - expected).abs() <= 1e-12 * expected.abs().clamp(min=1)).all(), f"step {step}"


@pytest.mark.parametrize("k", [1, 2, 8])
def test_the_authors_trajectory_is_reproduced_through_a_direction_source(k):
    golden = Golden(f"sadam_reference_k{k}")
    options = golden.record["options"]

    def source(request):
        assert request.group == 0
        directions = golden.record["steps"][request.step]["directions"]
        return golden.tensor(directions[request.probe * 4 + request.parameter], golden.shapes[request.parameter])

    optimizer = sadam.SAdam.reference(
        golden.parameters,
        lr=options["lr"],
        betas=tuple(options["betas"]),
        eps=options["eps"],
        weight_decay=options["weight_decay"],
        damping=options["lam"],
        probes=options["k"],
        radius=options["delta"],
        lgi_eps=options["lgi_eps"],
        cap=options["cap"],
        source=source,
    )
    assert len(golden.record["steps"]) >= 6
    for step, recorded in enumerate(golden.record["steps"]):
        loss = optimizer.step(golden.loss)
        assert loss.item() == pytest.approx(recorded["base_loss"], abs=1e-12)
        assert optimizer.summary.lgi == pytest.approx(recorded["last_group_lgi"], abs=1e-9)
        golden.expect_parameters_of_step(step)


def test_prox_sgd_is_reproduced():
    golden = Golden("prox_sgd")
    options = golden.record["options"]
    optimizer = sadam.ProxSGD(golden.parameters, lr=options["lr"], momentum=options["momentum"], l1=options["l1"])
    for step, recorded in enumerate(golden.record["steps"]):
        loss = optimizer.step(golden.loss)
        assert loss.item() == pytest.approx(recorded["loss"], abs=1e-12)
        golden.expect_parameters_of_step(step)


def test_adamw_is_torchs_to_1e_12_in_float64():
    torch.manual_seed(1)
    ours, theirs = (torch.nn.Linear(5, 3).double() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(8, 5, dtype=torch.float64)
    a = sadam.AdamW(ours, lr=0.02, betas=(0.8, 0.99), weight_decay=0.1)
    b = torch.optim.AdamW(theirs.parameters(), lr=0.02, betas=(0.8, 0.99), weight_decay=0.1)
    for _ in range(20):
        a.step(lambda: ours(x).tanh().square().sum())
        b.zero_grad()
        theirs(x).tanh().square().sum().backward()
        b.step()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        assert (p - q).abs().max() <= 1e-12
