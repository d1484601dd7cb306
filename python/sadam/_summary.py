"""What happened in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from ._error import Error


@dataclass(frozen=True)
class StepSummary:
    """Every number of a step. AdamW and ProxSGD leave ρ at 0 and the brake at 1."""

    step: int = 0
    """Steps taken before this one."""
    loss: float = 0.0
    """f(w) of the base evaluation; NaN for a step without a closure."""
    probed: bool = False
    """Probes were evaluated; else ρ is the last one, or 0 if there is none."""
    differences: Tuple[float, ...] = ()
    """D_i; for the directions 'step' the one value f(w + Δ) − f(w)."""
    slopes: Tuple[float, ...] = ()
    """⟨g, u_i⟩, with the residual statistic only."""
    lgi: float = 0.0
    """ρ after the cap."""
    brake: float = 1.0
    """The factor on the step."""
    group_lgi: Tuple[float, ...] = ()
    """ρ of each group; `lgi` is that of the last one."""
    group_brakes: Tuple[float, ...] = ()
    """The brake of each group; `brake` is that of the last one."""
    probe_seconds: float = 0.0
    """Wall time of the probes; 0 for whole steps on a GPU, which are not waited for."""
    within_noise: bool = False
    """The probes differed by rounding alone: ρ measures arithmetic, not geometry."""
    skipped: bool = False
    """The loss or a gradient was not finite: weights and state are untouched."""
    non_finite_loss: int = 0
    """1 if f(w) was not finite."""
    non_finite_gradient: int = 0
    """Elements of the gradient that were not finite."""
    non_finite_probes: int = 0
    """Probes whose loss was not finite."""


@dataclass(frozen=True)
class Totals:
    """Sums over the optimizer's life; saved and loaded with it."""

    steps: int = 0
    """Updates applied."""
    skipped: int = 0
    """Steps skipped for a loss or gradient that was not finite."""
    non_finite_probes: int = 0
    """Probes whose loss was not finite."""


@dataclass(frozen=True)
class Brakes:
    """What a probe found: the brake of each group.

    >>> float(Brakes(lgi=0.1, per_group=(0.8, 0.8)))
    0.8
    """

    lgi: float
    """ρ, after the cap."""
    per_group: Tuple[float, ...]
    """The brake of each group."""

    def __float__(self) -> float:
        if any(brake != self.per_group[0] for brake in self.per_group):
            raise Error("the groups have different brakes: pass what probe() returned to step() as it is.")
        return self.per_group[0] if self.per_group else 1.0
