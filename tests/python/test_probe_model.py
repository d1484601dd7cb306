"""Where a loss is not smooth."""

import pytest
import torch

import sadam
from conftest import refusal, same_bits


def test_smooth_kinks_and_jumps_are_told_apart():
    torch.manual_seed(1)
    model = torch.nn.Linear(6, 40).double()
    x = torch.randn(64, 6).double()
    found = {
        name: sadam.probe_model(model, lambda: shape(model(x)).mean(), layers=False).signature.smoothness
        for name, shape in [("smooth", torch.tanh), ("kinks", torch.abs)]
    }
    assert found == {"smooth": "smooth", "kinks": "kinks"}


def test_the_model_is_left_as_it_was(task):
    before, generator = task.tensors(), torch.get_rng_state()
    found = sadam.probe_model(task.model, task.loss, probes=4)
    assert same_bits(before, task.tensors()) and torch.equal(generator, torch.get_rng_state())
    assert found.parameters == sum(parameter.numel() for parameter in task.model.parameters())
    assert [layer.name for layer in found.layers] == ["first", "norm", "last"]
    assert "Suggested:" in str(found) and found.suggestion.reason
    assert {reading.directions for reading in found.estimators} == {"sphere", "per_tensor", "rademacher", "step"}


def test_it_works_without_gradients_around_it(task):
    with torch.no_grad():
        without = sadam.probe_model(task.model, task.loss, layers=False)
    assert without == sadam.probe_model(task.model, task.loss, layers=False)


def test_what_cannot_be_probed_is_refused(task):
    assert "no trainable parameters" in refusal(ValueError, lambda: sadam.probe_model(torch.nn.ReLU(), task.loss))
    assert "'function'" in refusal(TypeError, lambda: sadam.probe_model(lambda: 1, task.loss))
    with pytest.raises(ZeroDivisionError):
        sadam.probe_model(task.model, lambda: 1 / 0)
