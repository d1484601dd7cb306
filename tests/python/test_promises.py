"""The promises of the README, from Python."""

import gc
import threading
import warnings
import weakref

import pytest
import torch

import sadam
from conftest import Task, same_bits


def test_base_and_probes_see_the_same_dropout_masks_and_the_next_step_new_ones(task):
    optimizer = sadam.SAdam(task.model, probes=3)
    optimizer.step(task.loss)  # the first is checked, with evaluations of its own
    steps = []
    for _ in range(2):
        task.model.masks.clear()
        optimizer.step(task.loss)
        assert len(task.model.masks) == 4
        steps.append(list(task.model.masks))
    # Weights that moved may switch ReLUs, so the masks are compared where nearly all must agree.
    for masks in steps:
        for mask in masks[1:]:
            assert (mask != masks[0]).float().mean() < 0.05
    assert (steps[0][0] != steps[1][0]).float().mean() > 0.2


def test_fresh_noise_draws_anew(task):
    optimizer = sadam.SAdam(task.model, probes=2, noise="fresh")
    optimizer.step(task.loss)
    task.model.masks.clear()
    optimizer.step(task.loss)
    assert (task.model.masks[0] != task.model.masks[1]).float().mean() > 0.2


def test_batch_norm_is_updated_once_a_step(task):
    optimizer = sadam.SAdam(task.model, probes=5)
    for _ in range(3):
        optimizer.step(task.loss)
    assert task.model.norm.num_batches_tracked.item() == 3


def test_a_step_leaves_the_generator_where_one_forward_pass_would(task):
    optimizer = sadam.SAdam(task.model, probes=4)
    torch.manual_seed(5)
    task.model(task.x)
    expected = torch.get_rng_state()
    torch.manual_seed(5)
    optimizer.step(task.loss)
    assert torch.equal(expected, torch.get_rng_state())


def test_without_a_brake_it_is_adamw_bit_for_bit():
    def trained(make):
        task = Task()
        optimizer = make(task.model)
        torch.manual_seed(8)
        for _ in range(5):
            optimizer.step(task.loss)
        return task.tensors()

    adamw = trained(lambda model: sadam.AdamW(model, lr=0.01))
    assert same_bits(adamw, trained(lambda model: sadam.SAdam(model, lr=0.01, damping=0.0, monitor=True)))
    assert not same_bits(adamw, trained(lambda model: sadam.SAdam(model, lr=0.01)))


def moments_of(optimizer):
    states = optimizer.state_dict()["state"].values()
    return [torch.as_tensor(value).clone() for state in states for value in state.values()]


@pytest.mark.parametrize("call", range(1, 8))
def test_an_exception_in_any_evaluation_puts_everything_back(call):
    class Interrupted(Exception):
        pass

    task = Task()
    optimizer = sadam.SAdam(task.model, probes=2)
    if call >= 5:
        optimizer.step(task.loss)  # then the first step, with its checks, is over
    before, moments = task.tensors(), moments_of(optimizer)
    generator = torch.get_rng_state()
    calls = 0

    def closure():
        nonlocal calls
        loss = task.loss()
        calls += 1
        if calls == (call if call < 5 else call - 4):
            raise Interrupted("now")
        return loss

    with pytest.raises(Interrupted, match="now"):
        optimizer.step(closure)
    assert same_bits(before, task.tensors())
    # Before the first step there are none, or zeros.
    after = moments_of(optimizer)
    assert same_bits(moments or [torch.zeros_like(moment) for moment in after], after)
    assert torch.equal(generator, torch.get_rng_state())
    assert all(parameter.grad is None for parameter in task.model.parameters())
    optimizer.step(task.loss)  # and the next step works


def test_an_exception_in_backward_puts_everything_back(task):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            raise KeyError("in backward")

    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    with pytest.raises(KeyError, match="in backward"):
        optimizer.step(lambda: Fails.apply(task.loss()))
    assert same_bits(before, task.tensors())
    assert optimizer.totals.steps == 0


def test_keyboard_interrupts_pass_through(task):
    def closure():
        raise KeyboardInterrupt

    before = task.tensors()
    with pytest.raises(KeyboardInterrupt):
        sadam.SAdam(task.model).step(closure)
    assert same_bits(before, task.tensors())


def test_a_loss_that_is_not_finite_skips_the_step_and_warns(task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    with pytest.warns(UserWarning, match="1 step was skipped"):
        optimizer.step(lambda: task.loss() * float("nan"))
    assert same_bits(before, task.tensors())
    assert optimizer.summary.skipped and optimizer.summary.non_finite_loss == 1
    assert optimizer.totals == sadam.Totals(steps=0, skipped=1)


def test_a_closure_that_is_not_one_function_warns(task):
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        return task.loss() * calls

    with pytest.warns(UserWarning, match="sadam"):
        sadam.SAdam(task.model).step(closure)


def test_warnings_may_be_errors(task):
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        return task.loss() * calls

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = sadam.SAdam(task.model)
        closure().backward()
        with pytest.raises(UserWarning, match="evaluated twice"):
            optimizer.probe(closure)
    optimizer.step(task.loss)


def test_other_threads_may_draw_while_a_model_without_dropout_trains():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x = torch.randn(16, 6)
    optimizer = sadam.SAdam(model)
    drawn, stop = [], threading.Event()

    def draw():
        while not stop.is_set():
            drawn.extend(torch.randint(2**62, (20,)).tolist())

    other = threading.Thread(target=draw)
    other.start()
    while len(drawn) < 4000:
        optimizer.step(lambda: model(x).square().mean())
    stop.set()
    other.join()
    assert len(set(drawn)) == len(drawn)


def test_two_threads_train_two_models_as_one_would():
    def train(seed, results):
        generator = torch.Generator().manual_seed(seed)
        model = torch.nn.Linear(6, 3)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        x = torch.randn(16, 6, generator=generator)
        optimizer = sadam.SAdam(model, lr=0.01)
        for _ in range(50):
            optimizer.step(lambda: model(x).abs().mean())
        results[seed] = [parameter.detach() for parameter in model.parameters()]

    alone, together = {}, {}
    for seed in (1, 2):
        train(seed, alone)
    threads = [threading.Thread(target=train, args=(seed, together)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same_bits(alone[seed], together[seed]) for seed in (1, 2))


def test_an_optimizer_that_several_threads_step_takes_one_step_at_a_time():
    model = torch.nn.Linear(4, 1)
    x = torch.ones(3, 4)
    optimizer = sadam.AdamW(model)
    refused = []

    def train():
        for _ in range(200):
            try:
                optimizer.step(lambda: model(x).square().mean())
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert optimizer.totals.steps == 800 - len(refused)
    assert all("another thread" in sentence for sentence in refused)


def moved(task):
    task.model.double()
    task.x = task.x.double()


def reassigned(task):
    task.model.norm.running_mean = task.model.norm.running_mean.clone()
    task.model.norm.num_batches_tracked = task.model.norm.num_batches_tracked.clone()


@pytest.mark.parametrize("change", [moved, reassigned])
@pytest.mark.parametrize("form", ["whole", "split", "graphed"])
def test_buffers_that_replace_others_after_construction_are_protected(change, form):
    def trained(before):
        task = Task()
        if before:
            change(task)
        optimizer = sadam.SAdam(task.model, radius=1.0, probes=3)
        other = sadam.SAdam(task.model.parameters(), radius=1.0)
        step = sadam.GraphedStep(other, lambda x: task.model(x).sum(), task.model)
        if not before:
            change(task)
        torch.manual_seed(4)
        for _ in range(2):
            if form == "whole":
                optimizer.step(task.loss)
            elif form == "graphed":
                step(task.x)
            else:
                optimizer.begin()
                optimizer.zero_grad()
                loss = task.loss()
                loss.backward()
                optimizer.probe(task.loss, loss)
                optimizer.step()
        return task.tensors()

    assert same_bits(trained(True), trained(False))


def test_a_good_step_warns_of_nothing(task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = sadam.SAdam(task.model)
        for _ in range(3):
            optimizer.step(task.loss)


def test_a_closure_is_let_go_of_after_the_step(task):
    class Closure:
        def __call__(self):
            return task.loss()

    optimizer = sadam.SAdam(task.model)
    closure = Closure()
    gone = weakref.ref(closure)
    optimizer.step(closure, before_update=lambda: None)
    del closure
    assert gone() is None


def test_an_optimizer_is_let_go_of_with_its_model(task):
    optimizer = sadam.SAdam(task.model, source=lambda request: torch.zeros_like(list(task.model.parameters())[request.parameter]))
    optimizer.step(task.loss)
    gone = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert gone() is None
