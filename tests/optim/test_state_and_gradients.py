"""What optimisers keep, save and refuse, and gradients before a step."""

import numpy as np
import pytest
from optimisers import CASES, MORE, loss, parameters, train

import autograd_gpu as ag
from autograd_gpu import nn, optim


@pytest.mark.parametrize("name", CASES | MORE)
def test_state_goes_on_where_it_was_saved(name):
    kind, options = (CASES | MORE)[name]
    params = parameters()
    optimizer = kind(params, **options)
    train(params, optimizer, 3)
    state = optimizer.state_dict()
    others = [ag.Variable(x.value.copy(), True) for x in params]
    more = {"maximize": True} if options.get("maximize") else {}
    other = kind(others, lr=7.0, **more)
    other.load_state_dict(state)
    train(params, optimizer, 2)
    train(others, other, 2)
    for x, y in zip(params, others, strict=True):
        np.testing.assert_array_equal(x.value, y.value)
    with pytest.raises(ValueError, match=r"groups of \[3\] parameters, here are \[1\]"):
        kind(others[:1], lr=1.0).load_state_dict(state)


def test_the_state_of_another_optimiser_or_of_other_shapes_is_refused():
    params = parameters()
    adam, sgd = optim.Adam(params), optim.SGD(params, lr=0.1, momentum=0.9)
    train(params, adam, 1)
    train(params, sgd, 1)
    before = sgd.state_dict()
    with pytest.raises(
        ValueError, match=r"SGD: .* another optimiser, with options \['amsgrad', 'be"
    ):
        sgd.load_state_dict(adam.state_dict())
    state = adam.state_dict()
    state["param_groups"] = before["param_groups"]
    with pytest.raises(ValueError, match="SGD: .* has an array 'm', and here 'momentum_buffer'"):
        sgd.load_state_dict(state)
    state = adam.state_dict()
    state["state"][1]["m"] = np.ones(3)
    with pytest.raises(
        ValueError, match=r"'m' of parameter 1 has shape \[3\], the parameter \[4\]"
    ):
        adam.load_state_dict(state)
    state["state"] = {7: {"m": np.ones(3)}}
    with pytest.raises(ValueError, match="of a parameter 7, 3 are"):
        adam.load_state_dict(state)
    for number, entry in sgd.state_dict()["state"].items():
        np.testing.assert_array_equal(
            entry["momentum_buffer"], before["state"][number]["momentum_buffer"]
        )
    optim.AdamW(params).load_state_dict(adam.state_dict())  # the same state, other steps


@pytest.mark.parametrize("way", ["parameter", "list", "group"])
@pytest.mark.parametrize("name", ["adam", "momentum"])
def test_what_left_its_group_is_not_saved(name, way):
    kind, options = CASES[name]
    params = parameters()
    optimizer = kind([{"params": params[:2]}, {"params": params[2:]}], **options)
    train(params, optimizer, 2)
    first, *_ = optimizer.state_dict()["state"].values()
    if way == "parameter":
        optimizer.param_groups[0]["params"].pop(1)
    elif way == "list":
        optimizer.param_groups[0]["params"] = params[:1]
    else:
        del optimizer.param_groups[1]
    left = list(optimizer.parameters())
    state = optimizer.state_dict()
    assert list(state["state"]) == list(range(len(left)))
    for key, value in first.items():
        np.testing.assert_array_equal(state["state"][0][key], value)
    others = [ag.Variable(x.value.copy(), True) for x in left]
    groups = [{"params": others[:1]}, {"params": others[1:]}] if way != "group" else others
    other = kind(groups, **options)
    other.load_state_dict(state)
    for x, y in zip(left, others, strict=True):
        x.grad, y.grad = np.ones_like(x.value), np.ones_like(x.value)
    optimizer.step()
    other.step()
    for x, y in zip(left, others, strict=True):
        np.testing.assert_array_equal(x.value, y.value)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.state.keys() == set(left)


def test_what_comes_back_has_its_state_still():
    params = parameters()
    optimizer = optim.Adam(params)
    train(params, optimizer, 2)
    taken = optimizer.param_groups[0]["params"].pop(0)
    optimizer.state_dict()
    optimizer.param_groups[0]["params"].append(taken)
    assert optimizer.state_dict()["state"][2]["step"] == 2


@pytest.mark.parametrize("group", [{"lr": 0.1}, [ag.Variable([1.0])], ag.Variable([1.0])], ids=str)
def test_a_group_without_parameters(group):
    with pytest.raises(TypeError, match="SGD: a group of parameters is a dict with 'params' and"):
        optim.SGD([ag.Variable([1.0])], lr=0.1).add_param_group(group)


def test_groups_that_come_after_a_schedule():
    x, y = ag.Variable([1.0]), ag.Variable([1.0])
    for make in (lambda o: optim.StepLR(o, 1), lambda o: optim.ReduceLROnPlateau(o, patience=0)):
        optimizer = optim.SGD([x], lr=0.1)
        schedule = make(optimizer)
        step = [1.0] if isinstance(schedule, optim.ReduceLROnPlateau) else []
        schedule.step(*step)
        optimizer.add_param_group({"params": [y]})
        before = schedule.get_last_lr()
        with pytest.raises(ValueError, match="had 1 groups of parameters .* and has 2 now"):
            schedule.step(*step)
        assert schedule.get_last_lr() == before


def things_with_state():
    x = ag.Variable([1.0, 2.0])
    optimizer = optim.SGD([x], lr=0.1)
    step = optim.StepLR(optimizer, 1)
    return [
        optimizer,
        optim.Adam([x]),
        step,
        optim.SequentialLR(optimizer, [step, optim.ConstantLR(optimizer)], [1]),
        optim.ReduceLROnPlateau(optimizer),
        optim.GradScaler(),
        ag.data.Batches(np.ones(4), batch_size=2),
        ag.Generator(0),
    ]


@pytest.mark.parametrize("thing", things_with_state(), ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("state", [{}, {"weight": np.ones(2)}], ids=["nothing", "a module's"])
def test_the_state_of_something_else(thing, state):
    name = type(thing).__name__
    with pytest.raises(ValueError, match=f"^{name}: the state is of something else: it has"):
        thing.load_state_dict(state)


def test_groups():
    a, b, c = parameters()
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": [b, c]}], lr=0.0)
    before = [x.value.copy() for x in (a, b, c)]
    train([a, b, c], optimizer, 1)
    assert (a.value != before[0]).any()
    np.testing.assert_array_equal(b.value, before[1])
    assert "group 1: 2 parameters" in repr(optimizer)


def test_what_is_refused():
    a, b, _ = parameters()
    for wrong, error, message in [
        ([], ValueError, "no parameters"),
        ([a, a], ValueError, "twice"),
        ([a * 1.0], ValueError, "leaf"),
        ([np.ones(3)], TypeError, "Variable"),
        (a, TypeError, "sequence"),
        ([{"params": [a], "rate": 1}], TypeError, "rate"),
    ]:
        with pytest.raises(error, match=message):
            optim.SGD(wrong)
    with pytest.raises(ValueError, match="lr"):
        optim.SGD([a], lr=-1)
    with pytest.raises(ValueError, match="Adam: eps=nan is NaN"):
        optim.Adam([a], eps=float("nan"))
    for momentum in ("0.9", None, 1j):
        with pytest.raises(TypeError, match="SGD: momentum is a number, not"):
            optim.SGD([a], momentum=momentum)
    with pytest.raises(TypeError, match="SGD: lr is a number, not str"):
        optim.SGD([a], lr="0.1")
    with pytest.raises(ValueError, match="nesterov"):
        optim.SGD([a], nesterov=True)
    with pytest.raises(ValueError, match="betas"):
        optim.Adam([b], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="NAdam: momentum_decay=-1 is negative"):
        optim.NAdam([b], momentum_decay=-1)
    with pytest.raises(ValueError, match="Adadelta: rho=2"):
        optim.Adadelta([b], rho=2)
    with pytest.raises(ValueError, match="Rprop: etas"):
        optim.Rprop([b], etas=(1.2, 0.5))
    for option in ("differentiable", "foreach", "fused", "capturable"):
        with pytest.raises(TypeError, match=option):
            optim.Adam([b], **{option: True})


def test_gradients_as_zeros(backend):
    a, b, _ = parameters(backend)
    a.grad = a.value + 1
    optimizer = optim.SGD([a, b])
    optimizer.zero_grad(set_to_none=False)
    assert not ag.Variable(a.grad).numpy().any()
    assert b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


def test_clipping(backend):
    a, b, c = parameters(backend)
    loss([a, b, c]).backward()
    grads = [ag.Variable(x.grad).numpy() for x in (a, b, c)]
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    assert float(optim.clip_grad_norm_([a, b, c], norm * 2)) == pytest.approx(norm)
    np.testing.assert_allclose(ag.Variable(a.grad).numpy(), grads[0])
    optim.clip_grad_norm_([a, b, c], norm / 2)
    np.testing.assert_allclose(ag.Variable(b.grad).numpy(), grads[1] / 2, rtol=1e-5)
    optim.clip_grad_value_([a, b, c], 0.01)
    assert np.abs(ag.Variable(a.grad).numpy()).max() <= 0.01


@pytest.mark.parametrize(
    ("grad", "error", "message"),
    [
        (np.ones((2, 1)), ValueError, r"shape \[2, 1\], its parameter \[2\]"),
        (np.ones(1), ValueError, r"shape \[1\], its parameter \[2\]"),
        (np.ones(2) * 1j, TypeError, "complex128, its parameter float"),
        (ag.Variable([1.0, 2.0]), TypeError, "not Variable; assign its value"),
        ([1.0, 2.0], TypeError, "like the parameter, not list"),
    ],
)
@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_an_assigned_gradient_that_does_not_fit_is_refused(kind, grad, error, message):
    weight = nn.Parameter(np.ones(2))
    weight.grad = grad
    with pytest.raises(error, match=message):
        kind([weight], lr=0.1).step()
    assert weight.tolist() == [1.0, 1.0]
