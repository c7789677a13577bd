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
