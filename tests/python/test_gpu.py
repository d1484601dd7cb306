"""What needs a GPU."""

import io

import pytest
import torch

import sadam
from conftest import Task, refusal, same_bits, steps_with_scaler
from ranks import Ranks

F = torch.nn.functional
pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and sadam.with_cuda), reason="there is no GPU here, or no CUDA in this build"
)


@pytest.fixture
def on_gpu():
    task = Task()
    task.model.cuda()
    task.x, task.y = task.x.cuda(), task.y.cuda()
    return task


def small(seed=1):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).cuda()
    return model, torch.randn(16, 6, device="cuda"), torch.randint(0, 3, (16,), device="cuda")


@pytest.mark.parametrize("probes", [2, 8])
def test_captured_steps_are_the_eager_ones_bit_for_bit(probes):
    results = []
    for graphed in (False, True):
        model, x, y = small()
        optimizer = sadam.SAdam(model, lr=0.01, probes=probes)
        if graphed:
            step = sadam.GraphedStep(optimizer, lambda x, y: F.cross_entropy(model(x), y))
            for _ in range(5):
                step(x, y)
            assert step.is_captured, step.why_not
        else:
            for _ in range(5):
                optimizer.step(lambda: F.cross_entropy(model(x), y))
        results.append([tensor.detach() for tensor in model.state_dict().values()])
        assert optimizer.totals.steps == 5
    assert same_bits(*results)


def test_a_scheduler_reaches_a_captured_step():
    model, x, y = small()
    optimizer = sadam.SAdam(model, lr=0.01)
    step = sadam.GraphedStep(optimizer, lambda x, y: F.cross_entropy(model(x), y))
    for _ in range(3):
        step(x, y)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.param_groups[0]["lr"] = 0.0
    step(x, y)
    assert step.is_captured and same_bits(before, [parameter.detach() for parameter in model.parameters()])


def test_a_module_on_two_devices_is_not_captured():
    model, x, y = small()
    optimizer = sadam.SAdam(model[0], lr=0.01)
    model[3].cpu()
    step = sadam.GraphedStep(optimizer, lambda x, y: F.cross_entropy(model(x), y), model)
    assert "one device" in refusal(ValueError, lambda: step(x, y))


def test_a_real_grad_scaler(on_gpu):
    optimizer = sadam.SAdam(on_gpu.model, lr=0.01)
    scaler = torch.cuda.amp.GradScaler(init_scale=256.0)
    autocast = torch.autocast("cuda", dtype=torch.float16)
    clip = lambda: torch.nn.utils.clip_grad_norm_(on_gpu.model.parameters(), 1.0)
    steps_with_scaler(optimizer, scaler, autocast, on_gpu.loss, 4, clip)
    assert optimizer.totals.steps == 4 and optimizer.totals.skipped == 0


def test_a_state_crosses_devices(on_gpu):
    optimizer = sadam.SAdam(on_gpu.model, lr=0.01)
    for _ in range(3):
        optimizer.step(on_gpu.loss)
    saved = optimizer.state_dict()
    assert saved["state"][0]["step"] == 3
    buffer = io.BytesIO()
    torch.save(saved, buffer)
    buffer.seek(0)
    cpu = Task()
    other = sadam.SAdam(cpu.model)
    other.load_state_dict(torch.load(buffer, map_location="cpu"))
    other.step(cpu.loss)
    assert other.totals.steps == 4
    optimizer.load_state_dict(other.state_dict())
    optimizer.step(on_gpu.loss)
    assert optimizer.totals.steps == 5


@pytest.mark.parametrize("ask", [lambda o, path: o.state_dict(), lambda o, path: o.save_for_cpp(path), lambda o, path: o.summary])
def test_asking_in_between_changes_nothing(ask, tmp_path):
    results = []
    for asked in (False, True):
        model, x, y = small()
        optimizer = sadam.SAdam(model, lr=0.01)
        for _ in range(6):
            optimizer.step(lambda: F.cross_entropy(model(x), y))
            if asked:
                ask(optimizer, tmp_path / "state.pt")
        results.append([tensor.detach() for tensor in model.state_dict().values()])
        assert {state["step"] for state in optimizer.state_dict()["state"].values()} == {6}
    assert same_bits(*results)


def test_parameters_on_two_devices_are_refused():
    there = torch.nn.Parameter(torch.ones(2, device="cuda"))
    assert "one device" in refusal(ValueError, lambda: sadam.SAdam([torch.nn.Parameter(torch.ones(2)), there]))


def test_a_step_does_not_wait(on_gpu):
    optimizer = sadam.SAdam(on_gpu.model, lr=0.01)
    for _ in range(2):
        optimizer.step(on_gpu.loss)
    on_gpu.model.masks.clear()
    torch.cuda.set_sync_debug_mode("error")
    try:
        optimizer.step(on_gpu.loss)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch before 2.0 does not compile")
def test_compiled_modules_work_in_closures():
    model, x, y = small()
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = sadam.SAdam(model, lr=0.01)
    twin, _, _ = small()
    plain = sadam.SAdam(twin, lr=0.01)
    for _ in range(3):
        optimizer.step(lambda: F.cross_entropy(compiled(x), y))
        plain.step(lambda: F.cross_entropy(twin(x), y))
    assert optimizer.summary.lgi == pytest.approx(plain.summary.lgi, rel=1e-3)


def train_on_a_rank(rank, graphed, wrap, sizes, options):
    """Weights and brakes of a few steps on this rank's part of each batch; of one process: sizes is None."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2)).double().cuda()
    inner = torch.nn.parallel.DistributedDataParallel(model) if wrap else model
    optimizer = sadam.SAdam(inner, lr=1e-2, probes=4, radius=0.3, damping=20.0, **options)
    step = sadam.GraphedStep(optimizer, lambda x, y: F.l1_loss(inner(x), y), inner)
    brakes = []
    for number in range(6):
        x = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(number)).cuda()
        y = x.abs()[:, :2]
        if sizes is not None:
            x, y = x.split(sizes)[rank], y.split(sizes)[rank]
        if graphed:
            step(x, y)
        else:
            optimizer.step(lambda: F.l1_loss(inner(x), y), examples=len(x))
        brakes.append(optimizer.summary.brake)
    assert not graphed or step.is_captured == (sizes is None), step.why_not
    assert not graphed or sizes is None or step.why_not == "several processes take the step together"
    return [parameter.detach().cpu() for parameter in model.parameters()] + [torch.tensor(brakes).double()]


@pytest.mark.parametrize("graphed, wrap", [(False, False), (False, True), (True, False)])
def test_ranks_over_nccl_take_the_steps_of_one_process(tmp_path, graphed, wrap):
    if not torch.distributed.is_nccl_available():
        pytest.skip("this torch has no NCCL")
    alone = train_on_a_rank(0, graphed, False, None, {})
    ranks = Ranks(tmp_path, backend="nccl")
    try:
        first, second = ranks(train_on_a_rank, graphed, wrap, [5, 3], {} if wrap else {"process_group": True})
    finally:
        ranks.end()
    assert same_bits(first, second)
    for got, wanted in zip(first, alone):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)
    assert alone[-1][-1] < 0.95  # a brake that could have been another
