"""What an optimizer has to know of torch.distributed: its groups, and the wrappers that send by themselves."""

from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator, List, Sequence

import torch
import torch.distributed as dist

from ._error import Error

Wrapper = torch.nn.parallel.DistributedDataParallel


def wrappers_in(module: Any) -> List[Wrapper]:
    """The `DistributedDataParallel` in a module, which may be one."""
    if not isinstance(module, torch.nn.Module):
        return []
    return [each for each in module.modules() if isinstance(each, Wrapper)]


def group_of(given: Any) -> Any:
    """Torch's group, of what a user may give for one; None: none."""
    if given is None or given is False:
        return None
    if given is True:
        if not (dist.is_available() and dist.is_initialized()):
            raise Error(
                "process_group is True and torch.distributed has no group yet: call init_process_group() before."
            )
        return dist.group.WORLD
    if isinstance(given, Wrapper):
        return given.process_group
    if dist.is_available():
        if isinstance(given, dist.ProcessGroup):
            return given
        if given is dist.GroupMember.NON_GROUP_MEMBER:
            raise Error("this process is no rank of the process group: build the optimizer on its ranks only.")
    raise TypeError(
        f"process_group is of type '{type(given).__name__}': pass a group of torch.distributed's, or True for its "
        "default one."
    )


def has_company() -> bool:
    """Whether this process is one of several of torch.distributed's default group."""
    return bool(dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1)


@contextlib.contextmanager
def quiet(wrappers: Sequence[Any]) -> Iterator[None]:
    """Forward passes in here send nothing, and neither do the backward passes that follow them.

    What the optimizer evaluates, it averages itself. Ranks may evaluate more or less often than others; a wrapper that
    waits for them would wait for ever.
    """
    if torch.is_grad_enabled() and any(each.static_graph for each in wrappers):
        raise Error(
            "a DistributedDataParallel with static_graph sends whatever it is told: leave that out, or call backward "
            "yourself."
        )
    before = [(each, each.require_backward_grad_sync, each.require_forward_param_sync) for each in wrappers]
    try:
        for each in wrappers:
            each.require_backward_grad_sync = False
            each.require_forward_param_sync = False
        yield
    finally:
        for each, gradients, buffers in before:
            each.require_backward_grad_sync, each.require_forward_param_sync = gradients, buffers


def refuse_sharded(things: Iterable[object]) -> None:
    """Parameters or modules of FSDP, which gives each rank a part of every parameter.

    By name, because no version of torch has all of these classes.
    """
    for thing in things:
        kind = type(thing)
        is_sharded = kind.__name__ in ("DTensor", "FlatParameter", "FullyShardedDataParallel")
        is_flat = getattr(thing, "_is_flat_param", False)  # a plain Parameter since torch 2
        if is_flat or (is_sharded and kind.__module__.startswith("torch.distributed")):
            raise Error(
                f"the parameters are sharded ({'FlatParameter' if is_flat else kind.__name__}): sadam needs the whole of each on every rank, as with "
                "DistributedDataParallel."
            )
