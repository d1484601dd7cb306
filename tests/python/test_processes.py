"""Optimizers in several processes: the steps of one, from ranks that are equal to the bit, and nothing hangs."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import torch
import torch.distributed as dist
from conftest import refusal, same_bits
from ranks import Ranks

import sadam

F = torch.nn.functional
DDP = torch.nn.parallel.DistributedDataParallel
Tensors = List[torch.Tensor]
STEPS = 6


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    started = Ranks(tmp_path_factory.mktemp("ranks"))
    yield started
    started.end()


# ---- a task, and how two ranks or one process train it ----


def make_model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2)).double()


def batch_of(step: int) -> Tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(step))
    return x, x.abs()[:, :2]


def loss_on(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.l1_loss(model(x), y)


def equal_parts(step: int) -> List[int]:
    return [4, 4]


def odd_parts(step: int) -> List[int]:
    """In the third step rank 1 has nothing."""
    return [8, 0] if step == 2 else [5, 3]


Step = Callable[[Any, torch.nn.Module, torch.Tensor, torch.Tensor], None]


def closure_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    optimizer.step(lambda: loss_on(model, x, y), examples=len(x))


def graphed_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    sadam.GraphedStep(optimizer, lambda x, y: loss_on(model, x, y), model)(x, y)


def split_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    is_probed = isinstance(optimizer, sadam.SAdam)
    if is_probed:
        optimizer.begin()
    optimizer.zero_grad()
    loss = loss_on(model, x, y)
    loss.backward()
    if not isinstance(model, DDP):
        optimizer.average_gradients()
    if is_probed:
        optimizer.probe(lambda: loss_on(model, x, y), loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()


def accumulating_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """Two backward passes, of which the last one sends; with a scaler, as under autocast."""
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    halves = list(zip(x.split(len(x) // 2), y.split(len(x) // 2)))
    functions = [lambda x=x, y=y: loss_on(model, x, y) / 2 for x, y in halves]
    optimizer.begin()
    optimizer.zero_grad()
    losses = []
    for i, function in enumerate(functions):
        with model.no_sync() if isinstance(model, DDP) and i == 0 else nullcontext():
            losses.append(function())
            scaler.scale(losses[-1]).backward()
    scaler.unscale_(optimizer)
    optimizer.probe(functions, sum(loss.detach() for loss in losses))
    scaler.step(optimizer)
    scaler.update()


def loop_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_on(model, x, y)
        loss.backward()
        return loss

    optimizer.step(closure, loss_fn=lambda: loss_on(model, x, y))


def states_after(model: torch.nn.Module, optimizer: Any) -> Tensors:
    summary = optimizer.summary
    return [p.detach().clone() for p in model.parameters()] + [torch.tensor([summary.lgi, summary.brake]).double()]


def train(rank: int, kind: type, options: Dict[str, Any], wrap: bool, step: Step, parts: Any) -> List[Tensors]:
    """Weights, ρ and brake after each step. Without parts: the whole of each batch."""
    model = make_model()
    if wrap:
        model = DDP(model)
    optimizer = kind(model, lr=1e-2, **options)
    history = []
    for number in range(STEPS):
        x, y = batch_of(number)
        if parts is not None:
            sizes = parts(number)
            x, y = x.split(sizes)[rank], y.split(sizes)[rank]
        step(optimizer, model, x, y)
        history.append(states_after(model, optimizer))
    return history


SADAM = dict(probes=3, radius=0.3, damping=20.0)
GROUP = dict(process_group=True, check_ranks_every=1)


@pytest.mark.parametrize(
    "kind, options, group, wrap, step, parts",
    [
        (sadam.SAdam, SADAM, GROUP, False, closure_step, odd_parts),
        (sadam.SAdam, dict(SADAM, statistic="residual"), dict(check_ranks_every=1), True, closure_step, odd_parts),
        (sadam.SAdam, SADAM, GROUP, False, split_step, equal_parts),
        (sadam.SAdam, dict(SADAM, statistic="residual"), {}, True, split_step, equal_parts),
        (sadam.SAdam, SADAM, {}, True, accumulating_step, equal_parts),
        (sadam.SAdam, SADAM, {}, True, loop_step, equal_parts),
        (sadam.SAdam, SADAM, {}, True, graphed_step, odd_parts),
        (sadam.AdamW, dict(gradient_at="ascent"), {}, True, closure_step, odd_parts),
        (sadam.AdamW, {}, GROUP, False, closure_step, odd_parts),
        (sadam.AdamW, {}, {}, True, split_step, equal_parts),
        (sadam.ProxSGD, dict(l1=1e-3), {}, True, closure_step, odd_parts),
    ],
)
def test_two_ranks_take_the_steps_of_one(ranks, kind, options, group, wrap, step, parts):
    first, second = ranks(train, kind, {**options, **group}, wrap, step, parts)
    alone = train(0, kind, options, False, step, None)
    assert len(first) == len(second) == len(alone) == STEPS
    for of_first, of_second, of_one in zip(first, second, alone):
        assert same_bits(of_first, of_second)
        for got, wanted in zip(of_first, of_one):
            torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    assert kind is not sadam.SAdam or alone[-1][-1][1] < 0.95  # a brake that could have been another


def test_ranks_that_share_probes_take_the_steps_of_one_to_the_bit(ranks):
    options = dict(SADAM, statistic="residual")
    for wrap in False, True:
        histories = ranks(train, sadam.SAdam, dict(options, process_group=True, split="probes"), wrap, plain_step, None)
        alone = train(0, sadam.SAdam, options, False, plain_step, None)
        for history in histories:
            assert all(same_bits(got, wanted) for got, wanted in zip(history, alone))


def plain_step(optimizer: Any, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    optimizer.step(lambda: loss_on(model, x, y))


# ---- DistributedDataParallel ----


def train_with_a_spy(rank: int) -> Tuple[int, Tensors]:
    """With batch norm, whose buffers DDP broadcasts. Only the step with a backward pass of its own may send."""
    torch.manual_seed(0)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).double())
    sent = []

    def spy(state, bucket):  # type: ignore[no-untyped-def]  # torch reads annotations
        sent.append(bucket.index())
        return dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(lambda f: f.value()[0])

    model.register_comm_hook(None, spy)
    optimizer = sadam.SAdam(model, probes=2)
    for number in range(4):
        x, y = (each.split([8, 0] if number == 0 else [5, 3])[rank] for each in batch_of(number))
        closure_step(optimizer, model, x, y)
    in_closures = len(sent)
    x, y = (each.split([4, 4])[rank] for each in batch_of(9))
    split_step(optimizer, model, x, y)
    assert len(sent) > in_closures
    assert model.require_backward_grad_sync and model.require_forward_param_sync
    return in_closures, [p.detach() for p in model.parameters()]


def test_in_closures_the_optimizer_alone_sends(ranks):
    (of_first, first), (of_second, second) = ranks(train_with_a_spy)
    assert of_first == of_second == 0
    assert same_bits(first, second)


def train_groups_of_a_wrapper(rank: int) -> Tensors:
    model = make_model()
    wrapper = DDP(model)
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 1e-3}]
    optimizer = sadam.SAdam(groups, lr=1e-2, process_group=wrapper)
    x, y = (each.split([5, 3])[rank] for each in batch_of(0))
    closure_step(optimizer, wrapper, x, y)
    assert optimizer._wrappers == [wrapper]
    return states_after(model, optimizer)


def test_groups_of_parameters_belong_to_the_wrapper_that_is_named(ranks):
    first, second = ranks(train_groups_of_a_wrapper)
    assert same_bits(first, second)


# ---- states ----


def train_from_a_file(rank: int, path: str, stop: int) -> Tensors:
    """Saves on rank 0 after so many steps, and goes on from the file on both."""
    model = make_model()
    optimizer = sadam.SAdam(model, lr=1e-2, process_group=True, **SADAM)
    for number in range(STEPS):
        if number == stop:
            if rank == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
            dist.barrier()
            saved = torch.load(path)
            model = make_model()
            model.load_state_dict(saved["model"])
            optimizer = sadam.SAdam(model, process_group=True)
            optimizer.load_state_dict(saved["optimizer"])
        x, y = (each.split([5, 3])[rank] for each in batch_of(number))
        closure_step(optimizer, model, x, y)
    return states_after(model, optimizer)


def test_what_one_rank_saves_all_load(ranks, tmp_path):
    through = ranks(train_from_a_file, "", -1)
    stopped = ranks(train_from_a_file, str(tmp_path / "run.pt"), 3)
    assert same_bits(through[0], stopped[0]) and same_bits(stopped[0], stopped[1])


# ---- what goes wrong ----


def fail_on_one_rank(rank: int, wrap: bool, at_probe: bool) -> Tuple[str, Tensors]:
    """What is raised on each rank, and the weights after one step more."""
    model = DDP(make_model()) if wrap else make_model()
    optimizer = sadam.SAdam(model, process_group=True)
    x, y = (each.split([4, 4])[rank] for each in batch_of(0))
    before = [p.detach().clone() for p in model.parameters()]

    def fails() -> torch.Tensor:
        if rank == 1 and torch.is_grad_enabled() != at_probe:
            raise KeyError("lost it")
        return loss_on(model, x, y)

    try:
        optimizer.step(fails)
        raised = "nothing"
    except (KeyError, sadam.Error) as error:
        raised = f"{type(error).__name__}: {error}"
    assert same_bits(before, [p.detach() for p in model.parameters()])
    closure_step(optimizer, model, x, y)
    return raised, [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("at_probe", [False, True])
def test_what_a_closure_raises_on_one_rank_the_others_hear_of(ranks, wrap, at_probe):
    (of_first, first), (of_second, second) = ranks(fail_on_one_rank, wrap, at_probe)
    assert of_first == "Error: rank 1 of 2 failed in this step, so no rank takes it: look at what is thrown there."
    assert of_second == "KeyError: 'lost it'"
    assert same_bits(first, second)  # they went on


def drift(rank: int, how: str) -> None:
    torch.manual_seed(0)
    model = make_model()
    options: Dict[str, Any] = dict(process_group=True)
    if how == "weights":
        torch.nn.init.constant_(model[0].bias, rank)
    if how == "options":
        options["lr"] = 1e-3 * (1 + rank)
    if how == "later":
        options["check_ranks_every"] = 2
    optimizer = sadam.SAdam(model, **options)
    x, y = (each.split([4, 4])[rank] for each in batch_of(0))
    if how == "gradients":
        loss_on(model, x, y).backward()
        optimizer.step(0.5)
    for step in range(4):
        closure_step(optimizer, model, x, y)
        if how == "later" and rank == 1 and step == 1:
            model[0].bias.data[0] += 1e-12


@pytest.mark.parametrize(
    "how, sentence",
    [
        ("weights", "rank 1 has other weights than rank 0: broadcast those of rank 0 before training."),
        ("options", "rank 1 has other options than rank 0: give every rank the same."),
        ("gradients", "rank 1 has other gradients than rank 0: call average_gradients() after backward."),
        ("later", "rank 1 has other weights than rank 0: broadcast those of rank 0 before training."),
    ],
)
def test_ranks_that_differ_are_named(ranks, how, sentence):
    assert ranks.ask(drift, how) == [(False, f"Error: {sentence}")] * 2


def be_outside(rank: int) -> None:
    group = dist.new_group([0])
    sadam.SAdam(make_model(), process_group=group)


def test_a_process_outside_the_group_is_told_so(ranks):
    inside, outside = ranks.ask(be_outside)
    assert inside == (True, None)
    assert outside[1] == "Error: this process is no rank of the process group: build the optimizer on its ranks only."


def step_a_static_graph(rank: int) -> None:
    model = DDP(make_model(), static_graph=True)
    split_step(sadam.SAdam(model), model, *batch_of(0))
    closure_step(sadam.SAdam(model), model, *batch_of(0))


def test_a_wrapper_that_cannot_be_kept_quiet_is_refused_in_closures(ranks):
    for came_to_its_end, raised in ranks.ask(step_a_static_graph):
        assert not came_to_its_end and "static_graph" in raised and raised.endswith("call backward yourself.")


class OtherGroup(dist.ProcessGroup):
    """A group of a backend that this machine lacks."""

    def getBackendName(self) -> str:
        return "nccl"


class DTensor(torch.Tensor):
    """What FSDP2 makes of a parameter."""


DTensor.__module__ = "torch.distributed.tensor"


def test_bad_input_is_refused_with_a_sentence():
    def make(**options: Any) -> sadam.SAdam:
        return sadam.SAdam(make_model(), **options)

    assert "init_process_group" in refusal(sadam.Error, lambda: make(process_group=True))
    assert "type 'str'" in refusal(TypeError, lambda: make(process_group="gloo"))
    assert "use 'gloo' for a CPU" in refusal(sadam.Error, lambda: make(process_group=OtherGroup(0, 1)))
    assert "use batch or probes" in refusal(sadam.Error, lambda: make(split="both"))
    assert "batch or probes" in refusal(TypeError, lambda: make(split=1))
    assert "whole number" in refusal(TypeError, lambda: make(check_ranks_every=0.5))
    assert "0 (in the first step only)" in refusal(sadam.Error, lambda: make(check_ranks_every=-1))
    model = make_model()
    optimizer = sadam.SAdam(model)
    closure = lambda: loss_on(model, *batch_of(0))  # noqa: E731
    assert "0 or more" in refusal(sadam.Error, lambda: optimizer.step(closure, examples=-1))
    assert "whole number" in refusal(TypeError, lambda: optimizer.step(closure, examples=2.5))
    assert "count equally" in refusal(sadam.Error, lambda: optimizer.step(0.5, examples=2))
    assert "count equally" in refusal(sadam.Error, lambda: sadam.AdamW(model).step(examples=2))


def test_sharded_parameters_are_refused():
    sharded = torch.ones(2).as_subclass(DTensor).requires_grad_()
    assert "sharded (DTensor)" in refusal(sadam.Error, lambda: sadam.AdamW([sharded]))
    optimizer = sadam.SAdam(make_model())
    assert "sharded" in refusal(sadam.Error, lambda: optimizer.add_param_group({"params": [sharded]}))
    assert len(optimizer.param_groups) == 1
    fsdp = type("FullyShardedDataParallel", (torch.nn.Linear,), {"__module__": "torch.distributed.fsdp"})
    assert "DistributedDataParallel" in refusal(sadam.Error, lambda: sadam.SAdam(torch.nn.Sequential(fsdp(2, 1))))


    flat = torch.nn.Parameter(torch.ones(2))
    flat._is_flat_param = True
    assert "sharded (FlatParameter)" in refusal(sadam.Error, lambda: sadam.AdamW([flat]))


def train_in_loops_that_average(rank: int) -> List[torch.Tensor]:
    model = make_model()
    optimizer = sadam.SAdam(model, lr=1e-2, process_group=True)
    for number in range(3):
        x, y = (each.split([4, 4])[rank] for each in batch_of(number))

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = loss_on(model, x, y)
            loss.backward()
            optimizer.average_gradients()
            return loss

        optimizer.step(closure, loss_fn=lambda: loss_on(model, x, y))
    return [parameter.detach() for parameter in model.parameters()]


def test_a_closure_that_calls_backward_may_average_the_gradients(ranks):
    first, second = ranks(train_in_loops_that_average)
    assert same_bits(first, second)
    assert not same_bits(first, [parameter.detach() for parameter in make_model().parameters()])


def warnings_of_optimizers(rank: int) -> List[int]:
    """How many there are for the parameters of a wrapper alone: of SAdam, of one that is alone on purpose, of AdamW."""
    parameters = list(DDP(make_model()).parameters())
    counts = []
    for kind, options in ((sadam.SAdam, {}), (sadam.SAdam, {"process_group": False}), (sadam.AdamW, {})):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind(parameters, **options)
        counts.append(sum("drift apart" in str(each.message) for each in caught))
    return counts


def test_an_optimizer_without_a_group_warns_where_there_is_company(ranks):
    assert ranks(warnings_of_optimizers) == [[1, 0, 0]] * 2


def end_in_the_closure(rank: int) -> None:
    model = make_model()
    optimizer = sadam.SAdam(model, process_group=True)

    def closure() -> torch.Tensor:
        if rank == 1:
            os._exit(1)
        return loss_on(model, *batch_of(0))

    optimizer.step(closure)


def test_a_rank_that_dies_is_noticed(tmp_path):
    pair = Ranks(tmp_path)
    first, second = pair.ask(end_in_the_closure)
    pair.end()
    assert second == (False, "it has ended")
    assert re.match(r"Error: rank 0 of 2 gave up, because it lost the others \(.*\): look at .* again\.$", first[1])


def test_the_program_of_the_page_runs_as_torchrun_starts_it(tmp_path):
    """That is, with these variables. Debian's own torchrun does not start with its Python."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()
    program = re.search(r"^```python train\.py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert program is not None
    (tmp_path / "train.py").write_text(program.group(1))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    said = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    said["PYTHONPATH"] = str(Path(sadam.__file__).parents[1])
    started = [
        subprocess.Popen(
            [sys.executable, "train.py"],
            cwd=tmp_path,
            env={**os.environ, **said, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    first, second = (process.communicate(timeout=100)[0] for process in started)
    assert re.fullmatch(r"loss 0\.[0-9]{3} brake [01]\.[0-9]{3}\n", first), first
    assert second == ""
