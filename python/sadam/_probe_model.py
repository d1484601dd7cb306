"""Where and how a loss is not smooth around its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

from . import _engine
from ._error import Error


@dataclass(frozen=True)
class Signature:
    """How the residual falls with the radius: as δ² where the loss is smooth, δ at a kink, δ⁰ at a jump."""

    power: float
    error: float
    """Its standard error."""
    start: float
    end: float
    """The radii it is fitted to."""
    smoothness: str
    """'smooth', 'kinks', 'jumps', or 'unseen' where rounding hides it."""


@dataclass(frozen=True)
class EstimatorReading:
    """ρ as one estimator sees it."""

    directions: str
    statistic: str
    lgi: float
    deviation: float
    forwards: int


@dataclass(frozen=True)
class RadiusReading:
    """What moving by δ in random directions does to the loss."""

    radius: float
    change: float
    residual: float
    above_noise: bool


@dataclass(frozen=True)
class LayerReading:
    """One layer by itself."""

    name: str
    parameters: int
    signature: Signature


@dataclass(frozen=True)
class Suggestion:
    """What to train with, and why."""

    brake: bool
    directions: str
    statistic: str
    radius: float
    damping: float
    reason: str


@dataclass(frozen=True)
class ModelProbe:
    """What `probe_model` found. `print` shows it as a report."""

    loss: float
    gradient_norm: float
    parameters: int
    noise: float
    smallest_radius: float
    signature: Signature
    estimators: Tuple[EstimatorReading, ...]
    radii: Tuple[RadiusReading, ...]
    layers: Tuple[LayerReading, ...]
    suggestion: Suggestion
    report: str

    def __str__(self) -> str:
        return self.report


def probe_model(
    model: torch.nn.Module,
    loss_fn: Callable[[], torch.Tensor],
    *,
    radii: Optional[Sequence[float]] = None,
    probes: int = 16,
    radius: float = 0.01,
    lr: float = 1e-3,
    seed: int = 0,
    layers: bool = True,
) -> ModelProbe:
    """Probes the loss around the model's weights, with about 550 forward passes, and 150 more for each layer.

    `loss_fn` returns the loss of one batch and does nothing else. Weights, buffers and generators are as before;
    gradients are cleared.

    >>> model = torch.nn.Linear(2, 1).double()
    >>> x = torch.rand(16, 2).double()
    >>> found = probe_model(model, lambda: model(x).square().mean())
    >>> found.signature.smoothness
    'smooth'
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"probe_model: the model is of type '{type(model).__name__}': pass a torch.nn.Module.")
    if not callable(loss_fn):
        raise TypeError(f"probe_model: loss_fn is of type '{type(loss_fn).__name__}': pass a function.")
    try:
        radii = None if radii is None else [float(radius) for radius in radii]
    except (TypeError, ValueError):
        raise TypeError(f"radii is {radii!r}: it must be a list of numbers.") from None
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise Error("probe_model: the model has no trainable parameters: there is nothing to probe.")
    found: Dict[str, Any] = _engine.probe_model(
        list(model.named_parameters()),
        list(model.buffers()),
        loss_fn,
        radii,
        probes,
        radius,
        lr,
        seed,
        layers,
    )
    found["signature"] = Signature(**found["signature"])
    found["estimators"] = tuple(EstimatorReading(**reading) for reading in found["estimators"])
    found["radii"] = tuple(RadiusReading(**reading) for reading in found["radii"])
    found["layers"] = tuple(
        LayerReading(layer["name"], layer["parameters"], Signature(**layer["signature"])) for layer in found["layers"]
    )
    found["suggestion"] = Suggestion(**found["suggestion"])
    return ModelProbe(**found)
