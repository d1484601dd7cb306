"""The examples for Lightning, Accelerate and the Hugging Face Trainer, where these are installed."""

import importlib.util
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize(
    "name, packages",
    [
        ("lightning_module", ["lightning", "pytorch_lightning"]),
        ("accelerate_loop", ["accelerate"]),
        ("transformers_trainer", ["transformers"]),
    ],
)
def test_the_example_trains_and_brakes(name, packages):
    if not any(importlib.util.find_spec(package) for package in packages):
        pytest.skip(f"{name}.py is not run, because there is no {' or '.join(packages)} here.")
    brakes = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](steps=5)
    assert len(brakes) == 5
    assert all(0 < brake <= 1 for brake in brakes) and min(brakes) < 1
