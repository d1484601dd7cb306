"""What is refused, each in one sentence, with nothing changed."""

import subprocess
import sys

import pytest
import torch

import sadam
from conftest import refusal, same_bits


@pytest.mark.parametrize(
    "parameter, word",
    [
        (torch.ones(2).half(), "Half"),
        (torch.ones(2, dtype=torch.bfloat16), "BFloat16"),
        (torch.ones(2, dtype=torch.complex64), "complex"),
        (torch.eye(2).to_sparse(), "sparse"),
        (torch.ones(1).expand(3), "share memory"),
    ],
)
def test_parameters_that_do_not_fit(parameter, word):
    assert word in refusal(ValueError, lambda: sadam.SAdam([parameter.requires_grad_()]))


def test_a_parameter_of_a_module_is_refused_by_its_name():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).half())
    assert "'1.weight'" in refusal(ValueError, lambda: sadam.SAdam(model))


def test_parameters_on_two_devices():
    on_meta = torch.nn.Parameter(torch.ones(2, device="meta"))
    assert "meta" in refusal(ValueError, lambda: sadam.SAdam([torch.nn.Parameter(torch.ones(2)), on_meta]))


def test_parameters_that_are_none_or_tied_twice():
    tensor = torch.nn.Parameter(torch.ones(2))
    assert "no parameters" in refusal(ValueError, lambda: sadam.SAdam(torch.nn.ReLU()))
    with pytest.raises(ValueError):
        sadam.SAdam([])
    with pytest.raises(TypeError):
        sadam.SAdam(tensor)
    with pytest.raises(TypeError):
        sadam.SAdam([1.0])
    assert "shares memory" in refusal(
        ValueError, lambda: sadam.SAdam([tensor, torch.nn.Parameter(tensor.detach()[:1])])
    )


@pytest.mark.parametrize(
    "options, kind, word",
    [
        ({"lr": -1.0}, ValueError, "lr"),
        ({"lr": float("nan")}, ValueError, "lr"),
        ({"lr": "fast"}, TypeError, "lr"),
        ({"probes": 0}, ValueError, "probes"),
        ({"probes": 1.5}, TypeError, "probes"),
        ({"probes": 10**30}, ValueError, "probes"),
        ({"seed": -1}, ValueError, "seed"),
        ({"statistic": "mean"}, ValueError, "variance, unbiased_variance or residual"),
        ({"statistic": 3}, TypeError, "statistic"),
        ({"monitor": 1}, TypeError, "True or False"),
        ({"betas": 0.9}, TypeError, "betas"),
        ({"betas": (0.9, 1.0)}, ValueError, "beta2"),
        ({"directions": "step"}, ValueError, "residual"),
        ({"amsgrad": True}, TypeError, "no option 'amsgrad'"),
        ({"learning_rate": 1.0}, TypeError, "no option 'learning_rate'"),
    ],
)
def test_options(options, kind, word, task):
    assert word in refusal(kind, lambda: sadam.SAdam(task.model, **options))


def test_an_option_that_a_scheduler_spoils_is_refused_at_the_next_step(task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    optimizer.param_groups[0]["lr"] = float("nan")
    assert "lr" in refusal(ValueError, lambda: optimizer.step(task.loss))
    assert same_bits(before, task.tensors())
    optimizer.param_groups[0]["lr"] = 0.01
    optimizer.step(task.loss)


def differentiated(task):
    loss = task.loss()
    loss.backward()
    return loss


@pytest.mark.parametrize(
    "closure, kind, word",
    [
        (differentiated, RuntimeError, "called backward itself"),
        (differentiated, RuntimeError, "loss_fn"),
        (lambda task: task.loss().item(), TypeError, "'float'"),
        (lambda task: None, TypeError, "'NoneType'"),
        (lambda task: task.model(task.x), RuntimeError, "scalar loss"),
        (lambda task: torch.tensor(1.0), RuntimeError, "does not need gradients"),
        (lambda task: torch.tensor(1), RuntimeError, "real loss"),
        (lambda task: torch.ones(1, requires_grad=True).sum(), RuntimeError, "no parameter of the optimizer"),
    ],
)
def test_closures(closure, kind, word, task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    assert word in refusal(kind, lambda: optimizer.step(lambda: closure(task)))
    assert same_bits(before, task.tensors())
    assert optimizer.totals.steps == 0


def test_closures_that_touch_the_gradients_at_a_probe(task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()

    def closure():
        task.model.zero_grad()
        return task.loss()

    assert "changed the gradients" in refusal(RuntimeError, lambda: optimizer.step(closure))
    assert same_bits(before, task.tensors())


def test_steps_without_a_closure_and_with_something_else(task):
    optimizer = sadam.SAdam(task.model)
    assert "no closure" in refusal(ValueError, optimizer.step)
    assert "'str'" in refusal(TypeError, lambda: optimizer.step("fast"))
    assert "brake" in refusal(ValueError, lambda: optimizer.step(-1.0))
    assert "no parts" in refusal(ValueError, lambda: optimizer.step([]))
    assert "'int'" in refusal(TypeError, lambda: optimizer.step([3]))
    assert "no loss function" in refusal(ValueError, lambda: optimizer.probe([]))
    assert "'float'" in refusal(TypeError, lambda: optimizer.probe(task.loss, 1.0))
    assert "2 brakes for 1 groups" in refusal(ValueError, lambda: optimizer.step(sadam.Brakes(0.0, (1.0, 1.0))))


def test_arguments_that_do_not_go_together(task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    assert "twice" in refusal(ValueError, lambda: optimizer.step(task.loss, loss_fn=task.loss, brake=0.25))
    assert "twice" in refusal(ValueError, lambda: optimizer.step(0.5, brake=0.25))
    for call in (
        lambda: optimizer.step(task.loss, loss_fn=task.loss, probe_parts=[task.loss]),
        lambda: optimizer.step(0.5, probe_parts=[task.loss]),
        lambda: optimizer.step(probe_parts=[task.loss]),
    ):
        assert "probe_parts" in refusal(ValueError, call)
    assert same_bits(before, task.tensors())


def test_arguments_of_another_type(task):
    optimizer = sadam.SAdam(task.model)
    before = task.tensors()
    graphed = lambda **options: sadam.GraphedStep(optimizer, lambda x: task.model(x).sum(), **options)
    probed = lambda **options: sadam.probe_model(task.model, task.loss, **options)
    for call, name in [
        (lambda: optimizer.step(task.loss, brake="x"), "brake"),
        (lambda: optimizer.step(task.loss, before_update=3), "before_update"),
        (lambda: optimizer.step(before_update=3), "before_update"),
        (lambda: optimizer.step(task.loss, loss_fn=3), "'int'"),
        (lambda: optimizer.step(0.5, loss_fn=task.loss), "closure"),
        (lambda: optimizer.protect([3]), "protect"),
        (lambda: sadam.AdamW(task.model).step(task.loss, before_update=3), "before_update"),
        (lambda: sadam.SAdam(task.model, source=3), "source"),
        (lambda: sadam.SAdam(task.model, k=2), "the authors' k is probes"),
        (lambda: graphed(module=3), "module"),
        (lambda: graphed(streams="a"), "streams"),
        (lambda: graphed(replica_memory=0.5), "replica_memory"),
        (lambda: graphed(capture=3), "capture"),
        (lambda: graphed(probe_loss_fn=3), "probe_loss_fn"),
        (lambda: graphed()(task.x, brake="a"), "brake"),
        (lambda: sadam.probe_model(task.model, None), "loss_fn"),
        (lambda: probed(probes="a"), "probes"),
        (lambda: probed(radius="a"), "radius"),
        (lambda: probed(radii=3), "radii"),
        (lambda: probed(radii=["a"]), "radii"),
        (lambda: probed(seed=0.5), "seed"),
        (lambda: probed(layers=3), "layers"),
    ]:
        assert name in refusal(TypeError, call)
    assert "seed" in refusal(ValueError, lambda: probed(seed=-1))
    assert "'params'" in refusal(ValueError, lambda: sadam.SAdam([{"lr": 0.1}]))
    assert same_bits(before, task.tensors())


def test_an_option_of_the_optimizer_that_is_written_to_a_group(task):
    optimizer = sadam.SAdam(task.model)
    optimizer.param_groups[0]["probes"] = 7
    assert "probes belongs to the optimizer" in refusal(ValueError, lambda: optimizer.step(task.loss))
    optimizer.defaults["probes"] = 7
    optimizer.step(task.loss)
    assert len(optimizer.summary.differences) == 7


def test_parameters_of_which_none_is_trained():
    optimizer = sadam.SAdam([torch.ones(2)])
    loss = torch.ones(1, requires_grad=True)
    assert "requires a gradient" in refusal(RuntimeError, lambda: optimizer.step(lambda: loss.sum()))


@pytest.mark.parametrize("make", [sadam.SAdam, sadam.AdamW])
def test_calls_in_a_closure_of_the_same_optimizer(make, task):
    optimizer = make(task.model, lr=0.01)
    optimizer.step(task.loss)
    saved, before = optimizer.state_dict(), task.tensors()
    calls = [
        lambda: optimizer.step(task.loss),
        lambda: optimizer.step(),
        lambda: optimizer.load_state_dict(saved),
        lambda: optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]}),
        lambda: optimizer.protect([torch.ones(2)]),
        lambda: optimizer.join(None),
        optimizer.average_gradients,
    ]
    if make is sadam.SAdam:
        calls[1:2] = [lambda: optimizer.step(0.5), optimizer.begin, lambda: optimizer.probe(task.loss)]
        own = lambda: optimizer.step(lambda: (task.loss().backward(), optimizer.step(0.5)), loss_fn=task.loss)
        assert "middle of a step" in refusal(RuntimeError, own)
    for call in calls:
        assert "middle of a step" in refusal(RuntimeError, lambda: optimizer.step(lambda: (call(), task.loss())[1]))
        assert same_bits(before, task.tensors())
    assert optimizer.totals.steps == 1 and len(optimizer.param_groups) == 1
    optimizer.step(task.loss)


def test_a_direction_of_another_shape(task):
    optimizer = sadam.SAdam(task.model, source=lambda request: torch.ones(1))
    before = task.tensors()
    refusal(RuntimeError, lambda: optimizer.step(task.loss))
    assert same_bits(before, task.tensors())
    optimizer = sadam.SAdam(task.model, source=lambda request: 1.0)
    assert "'float'" in refusal(TypeError, lambda: optimizer.step(task.loss))


def test_files_that_are_no_states(task, tmp_path):
    optimizer = sadam.SAdam(task.model)
    with pytest.raises(FileNotFoundError):
        optimizer.load_from_cpp(tmp_path / "missing.pt")
    sadam.AdamW(task.model).save_for_cpp(tmp_path / "adamw.pt")
    assert "AdamW" in refusal(ValueError, lambda: optimizer.load_from_cpp(tmp_path / "adamw.pt"))
    (tmp_path / "text.pt").write_text("no archive")
    assert "torch::save" in refusal(ValueError, lambda: optimizer.load_from_cpp(tmp_path / "text.pt"))
    assert "written" in refusal(ValueError, lambda: optimizer.save_for_cpp(tmp_path / "missing" / "file.pt"))
    optimizer.step(task.loss)


def test_gradients_that_are_sparse():
    model = torch.nn.Embedding(5, 3, sparse=True)
    optimizer = sadam.SAdam(model)
    before = model.weight.detach().clone()
    assert "sparse" in refusal(RuntimeError, lambda: optimizer.step(lambda: model(torch.tensor([1, 2])).sum()))
    assert torch.equal(before, model.weight)


def test_a_torch_of_another_version_is_refused_at_import():
    program = "import torch; torch.__version__ = '0.4.1'; import sadam"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode != 0
    last = found.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: this sadam was built for torch") and "0.4.1" in last and "pip install" in last
