"""begin, probe and step: loops that own the backward pass."""

import warnings

import pytest
import torch

import sadam
from conftest import Task, refusal, same_bits, steps_with_scaler


def trained(loop, steps=4, **options):
    task = Task()
    optimizer = sadam.SAdam(task.model, lr=0.01, **options)
    torch.manual_seed(6)
    for _ in range(steps):
        loop(task, optimizer)
    return task.tensors() + [torch.tensor(optimizer.summary.lgi), torch.get_rng_state()]


def whole(task, optimizer):
    optimizer.step(task.loss)


def split(task, optimizer):
    optimizer.begin()
    optimizer.zero_grad()
    loss = task.loss()
    loss.backward()
    brakes = optimizer.probe(task.loss, loss)
    optimizer.step(brakes)


@pytest.mark.parametrize("options", [{}, {"statistic": "residual"}, {"directions": "step", "statistic": "residual"}])
def test_the_split_form_takes_the_same_step(options):
    assert same_bits(trained(whole, **options), trained(split, **options))


def test_step_without_arguments_takes_what_probe_found():
    def without(task, optimizer):
        optimizer.begin()
        optimizer.zero_grad()
        loss = task.loss()
        loss.backward()
        optimizer.probe(task.loss, loss)
        optimizer.step()

    assert same_bits(trained(whole), trained(without))


def test_a_loop_whose_closure_calls_backward_takes_the_same_step():
    def loop(task, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = task.loss()
            loss.backward()
            return loss

        optimizer.step(closure, loss_fn=task.loss)

    assert same_bits(trained(whole), trained(loop))


def test_a_loop_that_passes_no_closure_takes_the_same_step_without_dropout():
    def loop(task, optimizer):
        optimizer.zero_grad()
        task.loss().backward()
        optimizer.step(loss_fn=task.loss)

    def undisturbed(loop):
        def run(task, optimizer):
            task.model.dropout.p = 0.0
            task.model.norm.eval()
            loop(task, optimizer)

        return trained(run)

    assert same_bits(undisturbed(whole), undisturbed(loop))


@pytest.mark.parametrize("fails", ["in the closure", "by its type", "in the probe", "before the update"])
def test_a_loop_whose_closure_calls_backward_is_put_back_if_it_fails(fails, task):
    optimizer = sadam.SAdam(task.model)
    optimizer.step(task.loss)
    before, generator = task.tensors(), torch.get_rng_state()

    def closure():
        optimizer.zero_grad()
        loss = task.loss()
        loss.backward()
        return {"in the closure": lambda: 1 / 0, "by its type": loss.item}.get(fails, lambda: loss)()

    def clip():
        if fails == "before the update":
            raise ZeroDivisionError

    loss_fn = task.loss if fails != "in the probe" else lambda: task.loss() / 0 + 1 / 0
    with pytest.raises(TypeError if fails == "by its type" else ZeroDivisionError):
        optimizer.step(closure, loss_fn=loss_fn, before_update=clip)
    assert same_bits(before, task.tensors()) and torch.equal(generator, torch.get_rng_state())
    assert optimizer.totals.steps == 1
    optimizer.step(task.loss)


def test_a_probe_serves_one_step(task):
    optimizer = sadam.SAdam(task.model)
    split(task, optimizer)
    assert "no closure" in refusal(ValueError, optimizer.step)


def test_parts_add_up_to_the_whole_loss_with_accumulation():
    def accumulated(task, optimizer):
        halves = [(task.x[:8], task.y[:8]), (task.x[8:], task.y[8:])]
        optimizer.step([lambda x=x, y=y: torch.nn.functional.cross_entropy(task.model(x), y) / 2 for x, y in halves])

    def by_hand(task, optimizer):
        halves = [(task.x[:8], task.y[:8]), (task.x[8:], task.y[8:])]
        parts = [lambda x=x, y=y: torch.nn.functional.cross_entropy(task.model(x), y) / 2 for x, y in halves]
        optimizer.begin()
        optimizer.zero_grad()
        total = 0
        for part in parts:
            loss = part()
            loss.backward()
            total = total + loss.detach()
        optimizer.probe(parts, total)
        optimizer.step()

    assert same_bits(trained(accumulated), trained(by_hand))


def test_before_update_clips_what_the_update_sees():
    def clipped(task, optimizer):
        optimizer.step(
            task.loss, before_update=lambda: torch.nn.utils.clip_grad_norm_(task.model.parameters(), 0.01)
        )

    def by_hand(task, optimizer):
        optimizer.begin()
        optimizer.zero_grad()
        loss = task.loss()
        loss.backward()
        brakes = optimizer.probe(task.loss, loss)
        torch.nn.utils.clip_grad_norm_(task.model.parameters(), 0.01)
        optimizer.step(brakes)

    assert same_bits(trained(clipped), trained(by_hand))
    assert not same_bits(trained(clipped), trained(whole))


def test_probe_parts_are_what_probes_evaluate(task):
    optimizer = sadam.SAdam(task.model, probes=2)
    sizes = []

    def part():
        sizes.append(4)
        return torch.nn.functional.cross_entropy(task.model(task.x[:4]), task.y[:4])

    def full():
        sizes.append(16)
        return task.loss()

    optimizer.step(full, probe_parts=[part])
    optimizer.step(full, probe_parts=[part])
    assert sizes[-4:] == [16, 4, 4, 4]


def test_a_brake_of_ones_own_shortens_the_step():
    def change(brake):
        torch.manual_seed(1)
        model = torch.nn.Linear(3, 2).double()
        before = model.weight.detach().clone()
        optimizer = sadam.SAdam(model, lr=0.1, weight_decay=0.0)
        optimizer.step(lambda: model(torch.ones(4, 3).double()).abs().mean(), brake=brake)
        assert optimizer.summary.brake == brake and not optimizer.summary.probed
        return model.weight.detach() - before

    assert torch.allclose(change(0.25), 0.25 * change(1.0), rtol=1e-9)


def test_brakes_are_a_number_where_they_agree(task):
    groups = [{"params": task.model.first.parameters()}, {"params": task.model.last.parameters(), "damping": 0.0}]
    optimizer = sadam.SAdam(groups)
    task.loss().backward()
    brakes = optimizer.probe(task.loss)
    assert len(brakes.per_group) == 2 and brakes.per_group[1] == 1
    assert "different brakes" in refusal(ValueError, lambda: float(brakes))
    optimizer.step(brakes)
    assert float(sadam.Brakes(0.1, (0.5, 0.5))) == 0.5


BFLOAT16 = torch.autocast("cpu", dtype=torch.bfloat16)


def scaled(task, optimizer):
    """On the CPU the scaler is off, so that it passes everything through; test_gpu.py has the real one."""
    steps_with_scaler(optimizer, torch.cuda.amp.GradScaler(enabled=False), BFLOAT16, task.loss, 1)


def test_a_loss_that_was_computed_under_autocast_is_not_compared_with_probes_in_full_precision():
    def whole_under_autocast(task, optimizer):
        with BFLOAT16:
            optimizer.step(task.loss)

    def detached(task, optimizer):
        optimizer.begin()
        optimizer.zero_grad()
        with BFLOAT16:
            loss = task.loss()
        loss.backward()
        optimizer.probe(task.loss, loss.detach())
        optimizer.step()

    def of_a_closure_that_calls_backward(task, optimizer):
        def closure():
            optimizer.zero_grad()
            with BFLOAT16:
                loss = task.loss()
            loss.backward()
            return loss

        optimizer.step(closure, loss_fn=task.loss)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*torch.cuda.amp.GradScaler.*", FutureWarning)
        for loop in (scaled, detached, of_a_closure_that_calls_backward):
            assert same_bits(trained(whole_under_autocast), trained(loop))


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch before 2.0 does not compile")
def test_the_loss_of_compiled_code_under_autocast_is_not_compared_with_probes_either():
    def loop(task, optimizer):
        compiled = torch.compile(task.loss, backend="aot_eager")
        steps_with_scaler(optimizer, torch.amp.GradScaler(enabled=False), BFLOAT16, compiled, 1)

    assert same_bits(trained(scaled), trained(loop))


def test_without_autocast_the_loss_that_is_passed_saves_a_forward_pass(task):
    optimizer = sadam.SAdam(task.model)
    split(task, optimizer)
    task.model.masks.clear()
    split(task, optimizer)
    assert len(task.model.masks) == 3


def test_autocast_inside_a_closure_holds_for_the_probes_too(task):
    optimizer = sadam.SAdam(task.model)
    types = []
    task.model.last.register_forward_hook(lambda module, inputs, output: types.append(output.dtype))

    def loss_fn():
        with BFLOAT16:
            return task.loss()

    optimizer.step(loss_fn)
    assert set(types) == {torch.bfloat16}


def test_autocast_outside_a_closure_is_probed_in_full_precision(task):
    optimizer = sadam.SAdam(task.model, lr=0.01)
    types = []
    task.model.last.register_forward_hook(lambda module, inputs, output: types.append(output.dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            types.clear()
            optimizer.step(task.loss)
    assert types == [torch.bfloat16, torch.float32, torch.float32, torch.float32]


def test_adamw_updates_from_gradients_as_they_are(task):
    optimizer = sadam.AdamW(task.model)
    task.loss().backward()
    assert optimizer.step() is None
    assert optimizer.totals.steps == 1
