"""What a user of torch.optim expects of an optimizer."""

import copy
import inspect
import io
import pickle

import pytest
import torch

import sadam
from conftest import Task, refusal, same_bits

F = torch.nn.functional


def make_all(model):
    return [
        sadam.SAdam(model, lr=0.01, probes=3),
        sadam.AdamW(model, lr=0.01),
        sadam.ProxSGD(model, lr=0.01),
        sadam.SAdam.reference(model, lr=0.01),
        sadam.SAdam(model, lr=0.01, directions="step", statistic="residual", brake="held", interval=2),
    ]


# ---- options ----


def test_every_option_of_cpp_is_an_argument_with_its_default():
    names = set(inspect.signature(sadam.SAdam).parameters)
    assert {"lr", "beta1", "eps", "damping", "brake", "probes", "radius", "statistic", "seed", "source"} <= names
    optimizer = sadam.SAdam(torch.nn.Linear(2, 1))
    for name, option in sadam.SAdam._options.items():
        if name in ("beta1", "beta2"):
            assert optimizer.defaults["betas"] == (0.9, 0.999)
        else:
            assert optimizer.defaults[name] == option.default
    assert "how far from the weights the probes look" in sadam.SAdam.__doc__


def test_an_option_reaches_the_engine():
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 1)
    loss = lambda: model(torch.ones(4, 2)).abs().mean()
    optimizer = sadam.SAdam(model, probes=5)
    optimizer.step(loss)
    assert len(optimizer.summary.differences) == 5
    optimizer.defaults["probes"] = 3
    optimizer.param_groups[0]["damping"] = 0.5
    optimizer.step(loss)
    summary = optimizer.summary
    assert len(summary.differences) == 3
    assert summary.brake == pytest.approx(torch.tensor(-0.5 * summary.lgi).exp().item())


def test_presets_are_those_of_cpp():
    model = torch.nn.Linear(2, 1)
    paper = sadam.SAdam.paper(model, lr=0.1, damping=1.0)
    assert paper.param_groups[0]["bias_correction"] == "none"
    assert paper.param_groups[0]["lr"] == 0.1 and paper.param_groups[0]["damping"] == 1.0
    reference = sadam.SAdam.reference(model)
    assert reference.defaults["directions"] == "per_tensor" and reference.defaults["noise"] == "fresh"
    assert reference.defaults["group_by_group"] is True and reference.param_groups[0]["lr"] == 1e-3
    bounded = sadam.AdamW.adabound(model, lr=1e-2, final_lr=0.5, beta1=0.8).param_groups[0]
    assert (bounded["lr"], bounded["final_ratio"], bounded["betas"]) == (1e-2, 50, (0.8, 0.999))
    with pytest.raises(ValueError, match="lr is 0: it must be above 0"):
        sadam.AdamW.adabound(model, lr=0)


def test_betas_may_be_given_as_a_pair_or_one_by_one():
    model = torch.nn.Linear(2, 1)
    assert sadam.AdamW(model, betas=(0.8, 0.9)).param_groups[0]["betas"] == (0.8, 0.9)
    assert sadam.AdamW(model, beta1=0.8).param_groups[0]["betas"] == (0.8, 0.999)
    groups = [{"params": [model.weight], "beta2": 0.5}, {"params": [model.bias]}]
    assert [group["betas"] for group in sadam.AdamW(groups).param_groups] == [(0.9, 0.5), (0.9, 0.999)]


# ---- groups and schedulers ----


def test_groups_have_options_of_their_own():
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = sadam.SAdam([{"params": [model.weight], "lr": 0.0}, {"params": [model.bias], "damping": 0.0}], lr=0.1)
    optimizer.step(lambda: model(torch.ones(4, 3)).abs().mean())
    assert torch.equal(model.weight, before[0]) and not torch.equal(model.bias, before[1])
    assert optimizer.summary.group_brakes[1] == 1 and optimizer.summary.group_brakes[0] < 1


def test_schedulers_write_to_the_groups():
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 2)
    optimizer = sadam.SAdam(model, lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    rates = []
    for _ in range(4):
        optimizer.step(lambda: model(torch.ones(4, 3)).square().mean())
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step()
    assert rates == sorted(rates, reverse=True) and rates[-1] < 0.02
    before = model.weight.detach().clone()
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step(lambda: model(torch.ones(4, 3)).square().mean())
    assert torch.equal(before, model.weight)


@pytest.mark.parametrize("make", [sadam.SAdam, sadam.AdamW, sadam.ProxSGD])
def test_one_cycle_moves_the_momentum_too(make):
    model = torch.nn.Linear(3, 2)
    optimizer = make(model)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=4)
    loss = lambda: model(torch.ones(4, 3)).square().mean()
    group = optimizer.param_groups[0]
    first = group.get("betas", group.get("momentum"))
    optimizer.step(loss)
    scheduler.step()
    assert group.get("betas", group.get("momentum")) != first
    optimizer.step(loss)


def test_a_group_that_is_added_is_trained():
    torch.manual_seed(1)
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)
    optimizer = sadam.SAdam(first, lr=0.1)
    loss = lambda: second(first(torch.ones(4, 3))).abs().mean()
    optimizer.step(loss)
    before = second.weight.detach().clone()
    optimizer.add_param_group({"params": second.parameters(), "lr": 0.5})
    optimizer.step(loss)
    assert not torch.equal(before, second.weight)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    assert len(optimizer.summary.group_brakes) == 2


def test_a_group_that_is_refused_is_not_added(task):
    optimizer = sadam.SAdam(task.model)
    half = torch.nn.Parameter(torch.ones(2).half())
    assert "Half" in refusal(ValueError, lambda: optimizer.add_param_group({"params": [half]}))
    assert "probes" in refusal(
        ValueError, lambda: optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "probes": 9})
    )
    assert len(optimizer.param_groups) == 1
    optimizer.step(task.loss)


def test_frozen_and_unused_parameters_are_left_alone():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 2), torch.nn.Linear(5, 5))
    model[0].weight.requires_grad_(False)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = sadam.SAdam(model, lr=0.1)
    optimizer.step(lambda: model[1](model[0](torch.ones(4, 3))).abs().mean())
    after = list(model.parameters())
    assert [torch.equal(a, b) for a, b in zip(before, after)] == [True, False, False, False, True, True]


def test_weights_in_channels_last_train():
    torch.manual_seed(1)
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    optimizer = sadam.SAdam(model)
    for _ in range(2):
        optimizer.step(lambda: model(torch.ones(2, 3, 8, 8)).square().mean())
    assert optimizer.state[model.weight]["exp_avg"].is_contiguous(memory_format=torch.channels_last)


def test_zero_grad_lets_go_of_the_gradients(task):
    optimizer = sadam.AdamW(task.model)
    task.loss().backward()
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in task.model.parameters())
    task.loss().backward()
    optimizer.zero_grad(set_to_none=False)
    assert all((parameter.grad == 0).all() for parameter in task.model.parameters())


def test_zero_grad_in_a_closure_does_no_harm():
    def trained(clears):
        task = Task()
        optimizer = sadam.SAdam(task.model, lr=0.01)

        def closure():
            if clears:
                optimizer.zero_grad()
            return task.loss()

        for _ in range(3):
            optimizer.step(closure)
        return task.tensors()

    assert same_bits(trained(True), trained(False))


@pytest.mark.skipif(not hasattr(torch.optim.Optimizer, "register_step_post_hook"), reason="torch before 2.0 has no hooks")
def test_hooks_are_called(task):
    optimizer = sadam.SAdam(task.model)
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    optimizer.step(task.loss)
    assert calls == ["before", "after"]


def test_the_closure_of_the_authors_works():
    def trained(form):
        task = Task()
        optimizer = sadam.SAdam(task.model, lr=0.01)

        def closure(backward=True):
            if backward:
                optimizer.zero_grad()
            loss = task.loss()
            if backward:
                loss.backward()
            return loss

        for _ in range(3):
            optimizer.step({"plain": closure, "decorated": torch.enable_grad()(closure)}.get(form, task.loss))
        return task.tensors()

    assert same_bits(trained("plain"), trained("none"))
    assert same_bits(trained("decorated"), trained("none"))


# ---- states ----


def is_plain(value):
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(entry) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str, torch.Tensor)


def loads_with_weights_only(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@pytest.mark.parametrize("kind", range(5))
def test_a_state_loaded_mid_run_continues_as_if_it_had_not_stopped(kind):
    whole, resumed = Task(), Task()
    a = make_all(whole.model)[kind]
    for _ in range(7):
        a.step(whole.loss)
    saved = a.state_dict()
    assert is_plain(saved)
    buffer = io.BytesIO()
    torch.save([saved, whole.model.state_dict(), torch.get_rng_state()], buffer)
    for _ in range(5):
        a.step(whole.loss)
    buffer.seek(0)
    saved, weights, generator = torch.load(buffer)
    resumed.model.load_state_dict(weights)
    b = make_all(resumed.model)[kind]
    b.param_groups[0]["lr"] = 0.7
    b.step(resumed.loss)
    resumed.model.load_state_dict(weights)
    b.load_state_dict(saved)
    torch.set_rng_state(generator)
    assert b.totals.steps == 7 and b.param_groups[0]["lr"] == 0.01
    for _ in range(5):
        b.step(resumed.loss)
    assert same_bits(whole.tensors(), resumed.tensors())
    assert a.summary.lgi == b.summary.lgi and a.summary.brake == b.summary.brake


def test_a_state_loads_with_weights_only(task):
    try:
        loads_with_weights_only({"lr": 0.1})
    except pickle.UnpicklingError:
        pytest.skip(f"torch {torch.__version__} loads no float with weights_only: not even the state of its own AdamW.")
    optimizer = sadam.SAdam(task.model)
    optimizer.step(task.loss)
    optimizer.load_state_dict(loads_with_weights_only(optimizer.state_dict()))


def test_a_state_of_float64_loads_into_float32(task):
    double = Task()
    double.model.double()
    double.x = double.x.double()
    a = sadam.SAdam(double.model)
    a.step(double.loss)
    b = sadam.SAdam(task.model)
    b.load_state_dict(a.state_dict())
    b.step(task.loss)
    assert b.totals.steps == 2
    assert all(state["exp_avg"].dtype == torch.float32 for state in b.state.values())


def with_value(state, value, *path):
    changed = copy.deepcopy(state)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def without(state, *path):
    changed = with_value(state, None, *path)
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return changed


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(task):
    optimizer = sadam.SAdam(task.model, lr=0.01)
    optimizer.step(task.loss)
    before = copy.deepcopy(optimizer.state_dict())
    other = Task()
    other_shape = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4))
    shaped = sadam.SAdam(other_shape)
    shaped.step(lambda: other_shape(task.x).square().mean())
    torchs = torch.optim.AdamW(other.model.parameters())
    adamw = sadam.AdamW(other.model)
    bad_option = copy.deepcopy(before)
    bad_option["param_groups"][0]["lr"] = -1.0
    lacking = copy.deepcopy(before)
    del lacking["state"][0]["exp_avg"]
    for state, word in [
        (torchs.state_dict(), "not saved by sadam"),
        (adamw.state_dict(), "sadam.AdamW"),
        (shaped.state_dict(), "shape"),
        (bad_option, "lr"),
        (lacking, "exp_avg"),
        ({}, "not saved by sadam"),
        *((without(before, entry), "damaged") for entry in ("state", "param_groups")),
        *((without(before, "sadam", entry), "damaged") for entry in before["sadam"] if entry != "optimizer"),
        (without(before, "sadam", "totals", "steps"), "damaged"),
        (without(before, "param_groups", 0, "lr"), "damaged"),
        (with_value(before, -5, "state", 0, "step"), "step -5"),
        (with_value(before, -5, "sadam", "totals", "steps"), "damaged"),
        (with_value(before, ["a"], "sadam", "last_lgi"), "damaged"),
        (with_value(before, 99, "sadam", "format"), "newer sadam"),
    ]:
        assert word in refusal(ValueError, lambda: optimizer.load_state_dict(state))
        now = optimizer.state_dict()
        assert now["param_groups"] == before["param_groups"] and now["sadam"] == before["sadam"]
        for a, b in zip(now["state"].values(), before["state"].values()):
            assert a["step"] == b["step"] and torch.equal(a["exp_avg"], b["exp_avg"])
    optimizer.step(task.loss)


def test_optimizers_do_not_share_the_state_that_went_from_one_to_the_other(task):
    a = sadam.SAdam(task.model)
    a.step(task.loss)
    other = Task()
    b = sadam.SAdam(other.model)
    b.load_state_dict(a.state_dict())
    before = [state["exp_avg"].clone() for state in a.state.values()]
    b.step(other.loss)
    assert same_bits(before, [state["exp_avg"] for state in a.state.values()])


def test_clearing_the_state_starts_afresh(task):
    optimizer = sadam.AdamW(task.model, lr=0.01)
    for _ in range(3):
        optimizer.step(task.loss)
    optimizer.state.clear()
    assert optimizer.state_dict()["state"] == {}
    optimizer.step(task.loss)
    assert {state["step"] for state in optimizer.state.values()} == {1}


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))], ids=["deepcopy", "pickle"])
def test_a_copy_of_model_and_optimizer_trains_by_itself(kind, duplicate):
    task = Task()
    optimizer = make_all(task.model)[kind]
    for _ in range(3):
        optimizer.step(task.loss)
    twin = Task()
    twin.x, twin.y = task.x, task.y
    task.model.masks.clear()
    twin.model, other = duplicate((task.model, optimizer))
    assert type(other) is type(optimizer) and other.totals == optimizer.totals
    assert other.param_groups[0]["params"][0] is next(twin.model.parameters())
    before = task.tensors()
    torch.manual_seed(9)
    for _ in range(3):
        other.step(twin.loss)
    assert same_bits(before, task.tensors())
    torch.manual_seed(9)
    for _ in range(3):
        optimizer.step(task.loss)
    assert same_bits(task.tensors(), twin.tensors())


# ---- what happened ----


def test_the_summary_has_every_number(task):
    optimizer = sadam.SAdam(task.model, probes=3, statistic="residual")
    loss = optimizer.step(task.loss)
    summary = optimizer.summary
    assert summary.loss == loss.item() and summary.step == 0 and summary.probed
    assert len(summary.differences) == 3 and len(summary.slopes) == 3
    assert summary.brake == pytest.approx(torch.tensor(-2 * summary.lgi, dtype=torch.float64).exp().item())
    assert optimizer.totals == sadam.Totals(steps=1)
    optimizer.step(task.loss)
    assert [summary.step for summary in optimizer.take_summaries()] == [0, 1]
    assert optimizer.take_summaries() == []


def test_the_loss_that_a_step_returns_needs_no_gradient(task):
    loss = sadam.SAdam(task.model).step(task.loss)
    assert loss.shape == () and not loss.requires_grad


def test_weights_that_were_moved_elsewhere_are_trained_there(task):
    optimizer = sadam.SAdam(task.model, lr=0.01)
    optimizer.step(task.loss)
    task.model.double()
    task.x = task.x.double()
    optimizer.step(task.loss)
    assert optimizer.totals.steps == 2
    assert all(state["exp_avg"].dtype == torch.float64 for state in optimizer.state.values())


def test_a_gradient_taken_uphill_is_an_option_of_adamw(task):
    optimizer = sadam.AdamW(task.model, gradient_at="ascent", gradient_radius=0.1)
    optimizer.step(task.loss)
    task.model.masks.clear()
    optimizer.step(task.loss)
    assert len(task.model.masks) == 2  # here and uphill
