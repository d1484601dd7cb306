"""Whole steps as CUDA graphs."""

from __future__ import annotations

from typing import Callable, Optional

import torch

from . import _engine
from ._error import Error
from ._optimizer import Optimizer, _checked_hook


class GraphedStep:
    """Takes steps of an optimizer on a GPU as CUDA graphs: forward, backward, probes and update, launched at once.

    >>> from sadam import SAdam
    >>> model = torch.nn.Linear(2, 1)
    >>> step = GraphedStep(SAdam(model), lambda x, y: torch.nn.functional.mse_loss(model(x), y))
    >>> loss = step(torch.ones(4, 2), torch.ones(4, 1))
    >>> step.is_captured, step.why_not
    (False, 'the parameters are on the CPU')

    The first step with inputs of a new shape captures; later ones copy the inputs to where the graph reads them and
    launch it. The loss must depend on nothing but the module and the inputs, and may not wait for the device
    (`.item()`). Where a step cannot be captured, a warning says why and steps are taken eagerly, with the same results;
    so they are on the CPU, and with a process group. The next step overwrites the loss that one returned.

    optimizer: made from a module; else give the module.
    loss_fn: of the inputs.
    probe_loss_fn: what probes evaluate instead, of the same inputs.
    streams: how many probes run side by side, each with a copy of the weights; 0: one after the other, with the
        weights moved in place; negative: one for each probe, at most 8.
    replica_memory: the most bytes that the copies may take; negative: a quarter of what is free.
    capture: False never captures.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        loss_fn: Callable[..., torch.Tensor],
        module: Optional[torch.nn.Module] = None,
        *,
        probe_loss_fn: Optional[Callable[..., torch.Tensor]] = None,
        streams: int = -1,
        replica_memory: int = -1,
        capture: bool = True,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"GraphedStep: the optimizer is of type '{type(optimizer).__name__}': pass one of sadam's."
            )
        if not callable(loss_fn):
            raise TypeError("GraphedStep: there is no loss: pass a function of the inputs.")
        _checked_hook(probe_loss_fn, "probe_loss_fn")
        module = optimizer._module if module is None else module
        if module is None:
            raise Error("GraphedStep: the optimizer was made from parameters: give the module too.")
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"GraphedStep: the module is of type '{type(module).__name__}': pass a torch.nn.Module.")
        self._optimizer = optimizer
        self._module = module
        self._graphed = _engine.GraphedStep(
            optimizer._core,
            optimizer._quietly(loss_fn),
            None if probe_loss_fn is None else optimizer._quietly(probe_loss_fn),
            streams,
            replica_memory,
            capture,
        )
        if all(module is not known for known in optimizer._modules):
            optimizer._modules.append(module)

    def __call__(self, *inputs: torch.Tensor, brake: Optional[float] = None) -> torch.Tensor:
        """One step. Returns the loss of the base evaluation. `brake`: your own instead of probes, for SAdam only."""
        for tensor in inputs:
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"GraphedStep: an input is of type '{type(tensor).__name__}': pass tensors.")
        modes = [module.training for module in self._module.modules()]
        loss: torch.Tensor = self._optimizer._take(
            self._graphed.step, list(inputs), brake, modes, list(self._module.parameters()), self._optimizer._is_joined
        )
        return loss

    @property
    def is_captured(self) -> bool:
        """Whether the last step was a graph."""
        return self._graphed.is_captured()

    @property
    def why_not(self) -> str:
        """Why not, in a sentence; "" if it was."""
        return self._graphed.why_not()

    @property
    def streams(self) -> int:
        """Streams that the probes of the last step ran on; 0: the base evaluation's own, or none."""
        return self._graphed.streams()
