"""The optimizers: what a user of torch.optim expects, in front of the engine."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import threading
import warnings
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
    overload,
)

import torch

from . import _engine
from ._error import Error
from ._process_group import Wrapper, group_of, has_company, quiet, refuse_sharded, wrappers_in
from ._summary import Brakes, StepSummary, Totals

Closure = Callable[..., torch.Tensor]
Parameters = Union[torch.nn.Module, Iterable[torch.Tensor], Iterable[Dict[str, Any]]]
DirectionSource = Callable[[_engine.DirectionRequest], torch.Tensor]

# What the state of an optimizer has beside torch's "state" and "param_groups".
_RECORD = "sadam"
_FORMAT = 1

_OF_THE_AUTHORS = {"k": "probes", "lam": "damping", "delta": "radius"}


class _Option:
    """An option as the lists of C++ describe it."""

    def __init__(self, name: str, default: Any, allowed: str, meaning: str, of_optimizer: bool) -> None:
        self.name = name
        self.default = default
        self.allowed = allowed
        self.meaning = meaning
        self.of_optimizer = of_optimizer

    def __str__(self) -> str:
        return f"{self.name} = {self.default!r}: {self.meaning} ({self.allowed})"


def _with_betas(options: Dict[str, Any]) -> Dict[str, Any]:
    """Torch's people and schedulers know β1 and β2 as one pair, `betas`."""
    folded = dict(options)
    beta1, beta2 = folded.pop("beta1", None), folded.pop("beta2", None)
    if beta1 is not None or beta2 is not None:
        betas = folded.get("betas", (None, None))
        folded["betas"] = (betas[0] if beta1 is None else beta1, betas[1] if beta2 is None else beta2)
    return folded


def _without_betas(options: Mapping[str, Any]) -> Dict[str, Any]:
    """As C++ has them."""
    unfolded = dict(options)
    if "betas" in unfolded:
        try:
            unfolded["beta1"], unfolded["beta2"] = unfolded.pop("betas")
        except (TypeError, ValueError):
            raise TypeError(f"betas is {options['betas']!r}: it must be a pair of numbers.") from None
    return unfolded


def _takes_backward(closure: Closure) -> bool:
    """Whether a closure has the form of the authors' code: closure(backward=True)."""
    code = getattr(closure, "__code__", None)
    if code is not None and not hasattr(closure, "__wrapped__"):
        return "backward" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return "backward" in inspect.signature(closure).parameters
    except (TypeError, ValueError):
        return False


def _loss_of(closure: Closure) -> Closure:
    """The closure as one that returns the loss and does nothing else."""
    if not callable(closure):
        raise TypeError(
            f"a closure is of type '{type(closure).__name__}': pass a function without arguments that returns the loss."
        )
    if not _takes_backward(closure):
        return closure
    return lambda: closure(backward=False)


def _checked_hook(function: Any, name: str) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"{name} is of type '{type(function).__name__}': pass a function, or None.")


def _parts(closures: Union[Closure, Sequence[Closure]]) -> List[Closure]:
    if isinstance(closures, (list, tuple)):
        return [_loss_of(closure) for closure in closures]
    return [_loss_of(closures)]  # type: ignore[arg-type]


def _buffers_in(modules: Iterable[torch.nn.Module]) -> List[torch.Tensor]:
    """What `module.buffers()` gives, in a sixth of the time, because every step asks; shared ones come twice."""
    found: List[Optional[torch.Tensor]] = []
    queue: List[Optional[torch.nn.Module]] = [*modules]
    for module in queue:  # grows meanwhile
        if module is not None:
            found.extend(module._buffers.values())
            queue.extend(module._modules.values())
    return [buffer for buffer in found if buffer is not None]


class Optimizer(torch.optim.Optimizer):
    """What SAdam, AdamW and ProxSGD have in common: a `torch.optim.Optimizer` whose steps the engine takes.

    `step(closure)` takes a closure that returns the loss and does nothing else: the optimizer clears the gradients,
    evaluates the closure and calls backward. If anything is raised, weights, states, buffers and random generators are
    as before, and the gradients are cleared.

    `param_groups` are dictionaries that schedulers write to. Options of the whole optimizer are in `defaults`.

    `process_group`, `split` and `check_ranks_every` are those of `join`.
    """

    _core_type: Type[Any]
    _options: Dict[str, _Option]
    _whole: FrozenSet[str]  # names of the options that belong to the whole optimizer

    defaults: Dict[str, Any]

    def __init__(
        self,
        params: Parameters,
        lr: Optional[float] = None,
        *,
        process_group: Any = None,
        split: str = "batch",
        check_ranks_every: int = 0,
        **options: Any,
    ) -> None:
        source = options.pop("source", None) if self._has_source() else None
        if lr is not None:
            options["lr"] = lr
        self._check_names(options)
        _checked_hook(source, "source")
        self._core: Any = None
        self._turn = threading.Lock()
        self._source: Optional[DirectionSource] = source
        self._buffers: List[torch.Tensor] = []
        self._names: List[Tuple[str, torch.Tensor]] = []
        self._module: Optional[torch.nn.Module] = None
        self._modules: List[torch.nn.Module] = []  # whose buffers are protected
        self._wrappers: List[Wrapper] = []
        self._is_joined = False
        self._brakes: Optional[Brakes] = None
        self._is_stepping = False
        self._lent_to: Optional[int] = None  # the thread whose own part of a step it is
        defaults = {option.name: option.default for option in self._options.values()}
        defaults = _with_betas({**defaults, **_without_betas(options)})
        if isinstance(params, torch.nn.Module):
            refuse_sharded(params.modules())
            self._module = params
            self._modules = [params]
            self._names = list(params.named_parameters())
            if not self._names:
                raise Error("the module has no parameters: give it layers, or pass the tensors to be trained.")
            params = [parameter for _, parameter in self._names]
        super().__init__(params, defaults)
        self._make_core()
        self.join(process_group, split=split, check_ranks_every=check_ranks_every)
        if process_group is None and not self._wrappers and hasattr(self, "probe") and has_company():
            warnings.warn(
                "sadam: this process is one of several, and the optimizer was given no process group: each rank would "
                "find a brake of its own, and their weights would drift apart. Say process_group=True, or give the "
                "DistributedDataParallel itself; False if these processes train apart.",
                stacklevel=2,
            )

    @classmethod
    def _has_source(cls) -> bool:
        return False

    def _check_names(self, options: Iterable[str]) -> None:
        for name in options:
            if name not in self._options and not (name == "betas" and "beta1" in self._options):
                known = _OF_THE_AUTHORS.get(name)
                hint = f"the authors' {name} is {known}" if known else f"its options are {', '.join(self._options)}"
                raise TypeError(f"{type(self).__name__} has no option '{name}': {hint}.")

    def _make_core(self) -> None:
        self._core = self._core_type(*self._as_seen_by_core(), self._source, self._names)
        self._protect_all()

    def _as_seen_by_core(self) -> Tuple[List[Dict[str, Any]], Dict[str, Any]]:
        for group in self.param_groups:
            for name in self._whole & group.keys():
                self._refuse_of_group(name, group[name])
        return [_without_betas(group) for group in self.param_groups], _without_betas(self.defaults)

    def _refuse_of_group(self, name: str, value: Any) -> None:
        if value != self.defaults[name]:
            raise Error(
                f"{name} belongs to the optimizer, since one evaluation serves all groups: give it to "
                f"{type(self).__name__}, or write to its defaults."
            )

    def _sync(self) -> None:
        """Tells the engine what Python's groups, options, states and buffers are now."""
        self._core.sync(*self._as_seen_by_core(), self._source, self.state)
        self._protect_all()

    def _protect_all(self) -> None:
        """Modules that are moved have other buffers than before."""
        self._core.protect(self._buffers + _buffers_in(self._modules))

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """What may not happen in a closure of this optimizer, nor in two threads at once."""
        if not self._turn.acquire(blocking=False):
            raise Error(
                "this optimizer is in the middle of a step: call it neither in a closure of its own nor from another "
                "thread."
            )
        try:
            yield
        finally:
            self._turn.release()

    def _take_back(self, wait: bool = False) -> None:
        """Lets Python's states follow those of the engine. The counts of updates are on the GPU until somebody waits."""
        if wait:  # what was cleared since the last step stays so
            self._core.take_states(self.param_groups, self.state)
        self._core.give_states(self.param_groups, self.state, wait)

    # ---- groups ----

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Adds a group, with options of its own or those of the optimizer."""
        if not isinstance(param_group, dict):
            raise TypeError(f"a group is of type '{type(param_group).__name__}': pass a dictionary with 'params'.")
        if "params" not in param_group:
            raise Error("a group has no 'params': give it the tensors to be trained.")
        with self._at_work():
            self._add_group(_with_betas(param_group))

    def _add_group(self, group: Dict[str, Any]) -> None:
        for name in self._whole & group.keys():
            self._refuse_of_group(name, group.pop(name))
        if None in group.get("betas", ()):
            group["betas"] = tuple(
                usual if given is None else given for given, usual in zip(group["betas"], self.defaults["betas"])
            )
        super().add_param_group(group)
        for name in self._whole:  # torch gave the group all defaults
            self.param_groups[-1].pop(name, None)
        try:
            refuse_sharded(self.param_groups[-1]["params"])
            if self._core is not None:
                self._sync()
        except BaseException:
            self.param_groups.pop()
            raise

    def protect(self, buffers: Iterable[torch.Tensor]) -> None:
        """Buffers that a failed evaluation puts back and that probes leave untouched.

        An optimizer made from a module protects the module's buffers already; this adds to them.
        """
        added = list(buffers)
        for buffer in added:
            if not isinstance(buffer, torch.Tensor):
                raise TypeError(f"protect: a buffer is of type '{type(buffer).__name__}': pass tensors.")
        with self._at_work():
            before = self._buffers
            self._buffers = before + added
            try:
                self._protect_all()
            except BaseException:
                self._buffers = before
                raise

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Lets go of the gradients. In a closure it does nothing, because `step` has done so."""
        if not self._is_stepping:
            super().zero_grad(set_to_none)

    # ---- several processes ----

    def join(self, process_group: Any, *, split: str = "batch", check_ranks_every: int = 0) -> None:
        """From now on this optimizer is one of several, one on each rank of a group, and takes steps with them.

        process_group: a group of torch.distributed's; True: its default one; a `DistributedDataParallel`: its own.
            None: that of the `DistributedDataParallel` which the optimizer was made from, or alone again; False: alone,
            on purpose.
        split: "batch": each rank has a part of the batch; "probes": all have the whole batch, and share the probes.
        check_ranks_every: every so many steps, the ranks compare their weights; 0: in the first step only.

        Copies and pickles of an optimizer are alone, until they join.
        """
        wrappers = wrappers_in(self._module) or wrappers_in(process_group)
        if process_group is None and wrappers:
            process_group = wrappers[0]
        group = group_of(process_group)
        with self._at_work():
            self._core.join(group, split, check_ranks_every)
        self._is_joined = group is not None and group.size() > 1
        self._wrappers = wrappers

    def average_gradients(self) -> None:
        """The mean of the ranks' gradients, for loops that call backward themselves: after it.

        `DistributedDataParallel` has done so already. Alone, it does nothing.
        """
        if self._lent_to == threading.get_ident():
            self._take_now(self._core.average_gradients)
        else:
            self._take(self._core.average_gradients)

    def _quietly(self, function: Closure) -> Closure:
        """The function, with nothing sent in its forward passes."""

        def evaluate(*inputs: Any) -> torch.Tensor:
            with quiet(self._wrappers):
                return function(*inputs)

        return evaluate

    def _parts(self, closures: Union[Closure, Sequence[Closure]]) -> List[Closure]:
        parts = _parts(closures)
        return [self._quietly(part) for part in parts] if self._wrappers else parts

    # ---- steps ----

    def _take(self, work: Callable[..., Any], *arguments: Any) -> Any:
        with self._at_work():
            return self._take_now(work, *arguments)

    def _take_now(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self._sync()
        self._is_stepping = True
        try:
            return work(*arguments)
        finally:
            self._is_stepping = False
            self._take_back()

    @overload  # type: ignore[override]
    def step(
        self,
        closure: Union[Closure, Sequence[Closure]],
        *,
        before_update: Optional[Callable[[], Any]] = None,
        examples: int = 1,
    ) -> torch.Tensor: ...
    @overload
    def step(self, closure: None = None, *, before_update: Optional[Callable[[], Any]] = None) -> None: ...

    def step(
        self,
        closure: Union[Closure, Sequence[Closure], None] = None,
        *,
        before_update: Optional[Callable[[], Any]] = None,
        examples: int = 1,
    ) -> Optional[torch.Tensor]:
        """Takes a step and returns the loss.

        closure: returns the loss and does nothing else; or a list of closures, parts of the loss that add up, each
            evaluated and differentiated by itself. None: updates from the gradients as they are.
        before_update: called before the update, to clip gradients for instance.
        examples: in a process group, how many of the batch's examples this rank has: its weight in all averages. With
            0 the closure is not called.
        """
        _checked_hook(before_update, "before_update")
        if closure is not None:
            return self._loss_after(self._parts(closure), [], before_update, None, examples)
        self._refuse_examples(examples)
        if before_update is not None:
            before_update()
        self._take(self._core.apply)
        return None

    def _refuse_examples(self, examples: int) -> None:
        if examples != 1:
            raise Error(
                f"{type(self).__name__}.step: examples are for closures that the optimizer evaluates: where you call "
                "backward, ranks count equally."
            )

    def _loss_after(self, *request: Any) -> torch.Tensor:
        loss: torch.Tensor = self._take(self._core.step, *request)
        return loss

    # ---- what happened ----

    @property
    def summary(self) -> StepSummary:
        """What happened in the last step."""
        return StepSummary(**self._core.summary())

    @property
    def totals(self) -> Totals:
        """What happened so far."""
        return Totals(**self._core.totals())

    def take_summaries(self) -> List[StepSummary]:
        """The summaries of the steps since the last call, oldest first; at most the last 512."""
        return [StepSummary(**summary) for summary in self._core.take_summaries()]

    # ---- states ----

    def state_dict(self) -> Dict[str, Any]:
        """Torch's dictionary and an entry "sadam": tensors, numbers and text only, so `weights_only=True` loads it."""
        self._take_back(wait=True)
        saved = super().state_dict()
        saved[_RECORD] = self._record()
        return saved

    def _record(self) -> Dict[str, Any]:
        lgi, brakes = self._core.memory()
        options = _without_betas(self.defaults)
        return {
            "format": _FORMAT,
            "optimizer": type(self)._core_type.__name__,
            # Not what torch adds of its own.
            "options": _with_betas({name: options[name] for name in self._options}),
            "totals": self._core.totals(),
            "last_lgi": lgi,
            "held_brakes": brakes,
            "has_source": self._source is not None,
        }

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Loads what `state_dict` gave. A state that does not fit is refused and changes nothing."""
        record = self._checked_record(state_dict)
        with self._at_work():
            self._load(state_dict, record)

    def _load(self, state_dict: Dict[str, Any], record: Dict[str, Any]) -> None:
        before = self.state, self.param_groups, self.defaults
        try:
            # Copied, as torch 1.13 does and 2.x does not: two optimizers must not share their moments.
            super().load_state_dict(copy.deepcopy({key: state_dict[key] for key in ("state", "param_groups")}))
            self.defaults = {**self.defaults, **record["options"]}
            self._sync()
            self._core.restore(record["totals"], record["last_lgi"], record["held_brakes"])
        except BaseException:
            self.state, self.param_groups, self.defaults = before
            self._sync()
            raise

    def _checked_record(self, state_dict: Dict[str, Any]) -> Dict[str, Any]:
        name = self._core_type.__name__
        record = state_dict.get(_RECORD) if isinstance(state_dict, dict) else None
        if not isinstance(record, dict) or "optimizer" not in record:
            raise Error(f"the state was not saved by sadam: load what state_dict() of a sadam.{name} gave.")
        if record["optimizer"] != name:
            raise Error(
                f"the state was saved by sadam.{record['optimizer']}, this optimizer is a sadam.{name}: load it into "
                "one of the same kind."
            )
        if isinstance(record.get("format"), int) and record["format"] > _FORMAT:
            raise Error(f"the state has format {record['format']}, this sadam reads {_FORMAT}: use a newer sadam.")
        if not self._is_whole(state_dict, record):
            raise Error(f"the state is damaged: load what state_dict() of a sadam.{name} gave, all of it.")
        if record["has_source"] and self._source is None:
            raise Error("the state was saved with a direction source, which a file cannot hold: give SAdam one first.")
        counts = {len(record["last_lgi"]), len(record["held_brakes"])}
        if counts not in ({0}, {len(self.param_groups)}):
            raise Error("the state has another number of groups: build the optimizer as it was when it was saved.")
        return record

    def _is_whole(self, state_dict: Dict[str, Any], record: Dict[str, Any]) -> bool:
        """As far as the engine does not look at it."""
        groups, options, totals = state_dict.get("param_groups"), record.get("options"), record.get("totals")
        numbers = [record.get("last_lgi"), record.get("held_brakes")]
        return (
            isinstance(record.get("format"), int)
            and isinstance(state_dict.get("state"), dict)
            and isinstance(groups, list)
            and all(isinstance(group, dict) and {"params", "lr"} <= group.keys() for group in groups)
            and isinstance(options, dict)
            and isinstance(totals, dict)
            and all(isinstance(totals.get(name), int) and totals[name] >= 0 for name in vars(Totals()))
            and all(isinstance(each, list) and all(isinstance(one, (int, float)) for one in each) for each in numbers)
            and isinstance(record.get("has_source"), bool)
        )

    def save_for_cpp(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the state as C++'s `torch::save(optimizer, path)` does."""
        with self._at_work():
            self._take_back(wait=True)
            self._sync()
            self._core.save(os.fspath(path))

    def load_from_cpp(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Loads a state that C++'s `torch::save(optimizer, path)` wrote."""
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file '{os.fspath(path)}': save the optimizer there first.")
        with self._at_work():
            self._load_from_cpp(path)

    def _load_from_cpp(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._sync()
        self._core.load(os.fspath(path))
        self.defaults.update(_with_betas(self._core.whole_options()))
        for group, options in zip(self.param_groups, self._core.group_options()):
            own = {name: value for name, value in options.items() if not self._options[name].of_optimizer}
            group.update(_with_betas(own))
        self.state.clear()
        self._take_back()

    # ---- copies ----

    def __getstate__(self) -> Dict[str, Any]:
        self._take_back(wait=True)
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
            "_source": self._source,
            "_buffers": self._buffers,
            "_names": self._names,
            "_module": self._module,
            _RECORD: self._record(),
        }

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        record = state.pop(_RECORD, None)
        if record is None:  # torch's own load_state_dict
            super().__setstate__(state)
            return
        self._brakes, self._is_stepping, self._wrappers, self._is_joined = None, False, [], False
        self._turn, self._lent_to = threading.Lock(), None
        super().__setstate__(state)
        self._modules = [] if self._module is None else [self._module]
        self._make_core()
        self._sync()
        self._core.restore(record["totals"], record["last_lgi"], record["held_brakes"])


class SAdam(Optimizer):
    """Singularity-aware Adam (S-Adam): AdamW with a brake from probes of the loss.

    >>> model = torch.nn.Linear(2, 1)
    >>> x, y = torch.ones(4, 2), torch.ones(4, 1)
    >>> optimizer = SAdam(model, lr=1e-2, probes=2, radius=0.01, damping=2.0)
    >>> loss = optimizer.step(lambda: torch.nn.functional.mse_loss(model(x), y))
    >>> optimizer.summary.probed, optimizer.totals.steps
    (True, 1)

    The closure is evaluated 1 + k times in a step: once with gradients, then without at each probe (and twice or three
    times more in the first step that probes, which is checked). `source` is a function that gives the directions: it
    is called with a `DirectionRequest` and returns a tensor of the parameter's shape.
    """

    _core_type = _engine.SAdam

    @classmethod
    def _has_source(cls) -> bool:
        return True

    @classmethod
    def paper(cls, params: Parameters, lr: Optional[float] = None, **options: Any) -> "SAdam":
        """The paper's Algorithm 1: no bias correction, everything else as by default.

        >>> SAdam.paper(torch.nn.Linear(2, 1)).param_groups[0]["bias_correction"]
        'none'
        """
        return cls._preset(_engine.SAdam.paper(), params, lr, options)

    @classmethod
    def reference(cls, params: Parameters, lr: Optional[float] = None, **options: Any) -> "SAdam":
        """The authors' published code: a unit vector per tensor, variance with 1/(k−1), fresh masks.

        >>> SAdam.reference(torch.nn.Linear(2, 1)).defaults["statistic"]
        'unbiased_variance'
        """
        return cls._preset(_engine.SAdam.reference(), params, lr, options)

    @classmethod
    def _preset(
        cls, preset: Dict[str, Any], params: Parameters, lr: Optional[float], options: Dict[str, Any]
    ) -> "SAdam":
        preset.update(_without_betas(options))
        if lr is not None:
            preset["lr"] = lr
        return cls(params, **preset)

    @overload  # type: ignore[override]
    def step(
        self,
        closure: Union[Closure, Sequence[Closure]],
        *,
        loss_fn: Union[Closure, Sequence[Closure], None] = None,
        probe_parts: Optional[Sequence[Closure]] = None,
        before_update: Optional[Callable[[], Any]] = None,
        brake: Optional[float] = None,
        examples: int = 1,
    ) -> torch.Tensor: ...
    @overload
    def step(
        self,
        closure: Union[Brakes, float, None] = None,
        *,
        loss_fn: Union[Closure, Sequence[Closure], None] = None,
        before_update: Optional[Callable[[], Any]] = None,
        brake: Optional[float] = None,
    ) -> None: ...

    def step(
        self,
        closure: Union[Closure, Sequence[Closure], Brakes, float, None] = None,
        *,
        loss_fn: Union[Closure, Sequence[Closure], None] = None,
        probe_parts: Optional[Sequence[Closure]] = None,
        before_update: Optional[Callable[[], Any]] = None,
        brake: Optional[float] = None,
        examples: int = 1,
    ) -> Optional[torch.Tensor]:
        """Takes a step and returns the loss.

        closure: returns the loss and does nothing else; or a list of closures, parts of the loss that add up.
            In the split form: what `probe` returned, a brake of your own, or nothing for what `probe` found last.
        loss_fn: for loops that own the backward pass: the closure, if there is one, is theirs, and clears the
            gradients, evaluates and calls backward; this one returns the loss and does nothing else.
        probe_parts: what probes evaluate instead of the closure, for instance the loss on part of the batch.
        before_update: called after the probes and before the update, to clip gradients for instance.
        brake: a brake of your own instead of probes.
        examples: in a process group, how many of the batch's examples this rank has: its weight in all averages. With
            0 the closure is not called.
        """
        _checked_hook(before_update, "before_update")
        is_evaluated = callable(closure) or isinstance(closure, (list, tuple))
        if probe_parts is not None and (loss_fn is not None or not is_evaluated):
            raise Error(
                "SAdam.step: probe_parts are for closures that the optimizer evaluates: where you call backward, give "
                "what probes evaluate as loss_fn, or to probe()."
            )
        if brake is not None and (loss_fn is not None or not (is_evaluated or closure is None)):
            raise Error("SAdam.step: the brake is given twice, or beside a loss_fn that finds it: leave one out.")
        if loss_fn is not None:
            self._refuse_examples(examples)
            return self._step_of_loop(closure, loss_fn, before_update)
        if is_evaluated:
            self._brakes = None
            parts = [] if probe_parts is None else self._parts(probe_parts)
            evaluated = self._parts(closure)  # type: ignore[arg-type]
            return self._loss_after(evaluated, parts, before_update, brake, examples)
        self._refuse_examples(examples)
        if closure is None:
            closure = self._brakes if brake is None else brake
        if closure is None:
            raise Error(
                "SAdam.step: there is no closure: pass one that returns the loss, or call probe() after your own "
                "backward."
            )
        with self._at_work():
            self._apply_with(closure, before_update)
        return None

    def _apply_with(self, brakes: Any, before_update: Optional[Callable[[], Any]]) -> None:
        per_group = brakes.per_group if isinstance(brakes, Brakes) else [self._number(brakes)] * len(self.param_groups)
        if before_update is not None:
            with self._lent():
                before_update()
        self._take_now(self._core.apply_with, list(per_group))
        self._brakes = None

    def _step_of_loop(
        self, closure: Any, loss_fn: Union[Closure, Sequence[Closure]], before_update: Optional[Callable[[], Any]]
    ) -> Optional[torch.Tensor]:
        parts = self._parts_of_probe(loss_fn)
        if closure is None:
            with self._at_work():
                self._apply_with(self._probe(parts, None), before_update)
            return None
        if not callable(closure):
            raise TypeError(
                f"SAdam.step: beside loss_fn, the closure is of type '{type(closure).__name__}': pass the function "
                "that calls backward."
            )
        with self._at_work():
            self._take_now(self._core.begin)
            try:
                with torch.enable_grad(), self._lent():
                    loss: torch.Tensor = closure()
                self._apply_with(self._probe(parts, loss), before_update)
            except BaseException:
                self._brakes = None
                self._core.give_up()
                raise
        return loss

    @contextlib.contextmanager
    def _lent(self) -> Iterator[None]:
        """In the middle of a step, what the caller does: `average_gradients` may be part of it."""
        self._lent_to = threading.get_ident()
        try:
            yield
        finally:
            self._lent_to = None

    @staticmethod
    def _number(brake: Any) -> float:
        try:
            return float(brake)
        except (TypeError, ValueError):
            raise TypeError(
                f"SAdam.step: the argument is of type '{type(brake).__name__}': pass a closure that returns the loss, or "
                "the brake."
            ) from None

    def begin(self) -> None:
        """Before a forward pass of your own: records random generators and buffers, so that `probe` can replay it."""
        self._take(self._core.begin)

    def probe(self, loss_fn: Union[Closure, Sequence[Closure]], loss: Optional[torch.Tensor] = None) -> Brakes:
        """Probes around the weights and returns the brake, for loops that own the backward pass.

        loss_fn: returns the loss; or a list of functions, parts of it that add up, as with accumulated gradients.
        loss: f(w) from the forward pass after `begin`. Without it, or if torch autocast in that forward pass, there is
            one forward pass more, because probes are in full precision.

        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = SAdam(model, lr=1e-2)
        >>> loss_fn = lambda: model(torch.ones(4, 2)).square().mean()
        >>> optimizer.begin()
        >>> optimizer.zero_grad()
        >>> loss = loss_fn()
        >>> loss.backward()
        >>> brakes = optimizer.probe(loss_fn, loss)
        >>> norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        >>> optimizer.step(brakes)
        """
        parts = self._parts_of_probe(loss_fn)
        with self._at_work():
            return self._probe(parts, loss)

    def _parts_of_probe(self, loss_fn: Union[Closure, Sequence[Closure]]) -> List[Closure]:
        if isinstance(loss_fn, (list, tuple)) and not loss_fn:
            raise Error("SAdam.probe: there is no loss function: pass one that returns the loss.")
        return self._parts(loss_fn)

    def _probe(self, parts: List[Closure], loss: Optional[torch.Tensor]) -> Brakes:
        if loss is not None and not isinstance(loss, torch.Tensor):
            raise TypeError(
                f"SAdam.probe: the loss is of type '{type(loss).__name__}': pass the tensor itself, without .item()."
            )
        lgi, brakes = self._take_now(self._core.probe, parts, loss)
        self._brakes = Brakes(lgi, tuple(brakes))
        return self._brakes


class AdamW(Optimizer):
    """AdamW in one pass over memory. In float64 it follows torch's to 1e-12.

    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = AdamW(model.parameters(), lr=1e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.totals.steps
    1
    """

    _core_type = _engine.AdamW

    @classmethod
    def adabound(cls, params: Parameters, lr: float = 1e-3, final_lr: float = 0.1, **options: Any) -> "AdamW":
        """AdaBound: step sizes close on final_lr, and follow it where a schedule scales lr, which must be above 0.
        A group with a learning rate of its own closes on as many times that.

        >>> AdamW.adabound(torch.nn.Linear(2, 1)).param_groups[0]["final_ratio"]
        100.0
        """
        return cls(params, **{**_engine.AdamW.adabound(lr, final_lr), **_without_betas(options)})


class ProxSGD(Optimizer):
    """Proximal SGD with momentum: b ← momentum·b + g; w ← w − lr·b; then each w moves towards 0 by lr·l1.

    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = ProxSGD(model, lr=1e-2, l1=1e-4)
    >>> loss = optimizer.step(lambda: model(torch.ones(4, 2)).square().mean())
    """

    _core_type = _engine.ProxSGD


for _class in (SAdam, AdamW, ProxSGD):
    _class._options = {option[0]: _Option(*option) for option in _class._core_type.list_options()}
    _class._whole = frozenset(option.name for option in _class._options.values() if option.of_optimizer)
    _class.__doc__ = f"{_class.__doc__}\n    Options:\n" + "".join(
        f"        {option}\n" for option in _class._options.values()
    )
    _keyword = inspect.Parameter.KEYWORD_ONLY
    _class.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("params", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            inspect.Parameter(
                option.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if option.name == "lr" else _keyword,
                default=option.default,
            )
            for option in _class._options.values()
        ]
        + ([inspect.Parameter("source", _keyword, default=None)] if _class._has_source() else [])
        + [
            inspect.Parameter(name, _keyword, default=default)
            for name, default in (("process_group", None), ("split", "batch"), ("check_ranks_every", 0))
        ]
    )
