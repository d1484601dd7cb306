"""What the pages and docstrings say runs as it stands."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["sadam", "sadam._graphed_step", "sadam._optimizer", "sadam._probe_model", "sadam._summary"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0


# What a page calls the reader's own.
YOURS = """
import sadam, torch
model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
batches = [(torch.rand(64, 2), torch.rand(64, 1)) for _ in range(3)]
loss_fn = torch.nn.functional.mse_loss
epochs = 2
"""


@pytest.mark.parametrize("page, yours", [("README.md", ""), ("docs/python.md", ""), ("docs/which.md", YOURS)])
def test_the_programs_of_a_page(page, yours, tmp_path, monkeypatch):
    """In a folder of their own, one after the other, in one namespace: each may use what those before it made."""
    programs = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert programs
    namespace = {}
    exec(yours, namespace)
    monkeypatch.chdir(tmp_path)
    for number, program in enumerate(programs):
        exec(compile(program, f"{page}, program {number + 1}", "exec"), namespace)


def test_every_name_has_a_docstring():
    sadam = importlib.import_module("sadam")
    for name in sadam.__all__:
        if name not in ("__version__", "with_cuda"):
            thing = getattr(sadam, name)
            assert thing.__doc__, name
            for method, value in vars(thing).items() if isinstance(thing, type) else []:
                if not method.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{method}"
