"""Steps that the compiled core prepares for all parameters at once are those of the long way."""

from __future__ import annotations

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import optim
from autograd_gpu.core import core
from autograd_gpu.optim import optimizer as module

needs_core = pytest.mark.skipif(core is None, reason="there is no compiled core here")

OPTIMISERS = {
    "SGD": optim.SGD,
    "momentum": lambda p: optim.SGD(p, momentum=0.9, nesterov=True),
    "decay": lambda p: optim.SGD(p, weight_decay=0.1),
    "Adam": optim.Adam,
    "amsgrad": lambda p: optim.Adam(p, amsgrad=True),
    "AdamW": optim.AdamW,
    "Adagrad": optim.Adagrad,
    "Adamax": optim.Adamax,
    "NAdam": optim.NAdam,
    "RAdam": optim.RAdam,
    "LAMB": optim.LAMB,
}


def numbers(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def leaves(dtype="float32"):
    shapes = [(3, 4), (4,), (), (70, 80)]
    return [
        ag.Variable(numbers(*shape, seed=i, dtype=dtype), requires_grad=True)
        for i, shape in enumerate(shapes)
    ]


def set_gradients(params, seed):
    for i, x in enumerate(params):
        x.grad = numbers(*x.shape, seed=seed + i, dtype=x.dtype)


@pytest.fixture
def taken(monkeypatch):
    """How often the short way was asked for, and taken."""
    found = []

    def spy(*args):
        found.append(original(*args))
        return found[-1]

    original = module.taken
    monkeypatch.setattr(module, "taken", spy)
    return found


@needs_core
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_both_ways(monkeypatch, taken, name, dtype):
    results = []
    for is_short in (True, False):
        if not is_short:
            monkeypatch.setattr(module, "taken", lambda *args: False)
        params = leaves(dtype)
        optimiser = OPTIMISERS[name](params)
        for i in range(4):
            set_gradients(params, 10 * i)
            params[1].grad = None if i == 2 else params[1].grad
            optimiser.step()
        states = [list(optimiser.state[x].values()) for x in params]
        results.append([x.value for x in params] + [y for state in states for y in state])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
    is_counted = name not in ("SGD", "momentum", "decay")
    # counts differ after the third step, which one parameter has no part in
    assert taken[1:] == [True, True, not is_counted]


@needs_core
def test_what_others_hold_is_copied(taken):
    params = leaves()
    optimiser = optim.SGD(params)
    set_gradients(params, 0)
    optimiser.step()
    held, before = params[0].value, params[0].value.copy()
    view = params[3].value[0]
    optimiser.step()
    np.testing.assert_array_equal(held, before)
    assert not np.shares_memory(view, params[3].value)
    del held, view
    optimiser.step()
    assert taken == [False, False, True]


@needs_core
@pytest.mark.parametrize(
    ("value", "grad"),
    [
        (np.ones((2, 3), "float32")[0], np.ones(3, "float32")),
        (np.broadcast_to(np.float32(1), 3), np.ones(3, "float32")),
    ],
)
def test_values_of_other_kinds(taken, value, grad):
    x = ag.Variable(np.ones(3, value.dtype), requires_grad=True)
    optimiser = optim.SGD([x], lr=0.5)
    for i in range(3):
        x.value, x.grad = value, grad
        optimiser.step()
        np.testing.assert_array_equal(x.value, np.full(3, 0.5, value.dtype), err_msg=str(i))
    assert not any(taken)


@needs_core
def test_half_types_take_the_long_way(taken):
    x = ag.Variable(np.ones(3, "float16"), requires_grad=True)
    optimiser = optim.SGD([x], lr=0.25)
    for i in range(1, 4):
        x.grad = np.ones(3, "float16")
        optimiser.step()
        np.testing.assert_array_equal(x.value, np.full(3, 1 - i / 4, "float16"))
    assert taken == [False, False, False]


@needs_core
@pytest.mark.parametrize(
    ("grad", "error"),
    [
        (np.ones(4, "float32"), ValueError),
        (np.ones(3, "complex64"), TypeError),
        ([1.0, 2.0, 3.0], TypeError),
        (np.float32(1.0), TypeError),
    ],
)
def test_gradients_that_are_refused(grad, error):
    x = ag.Variable(numbers(3), requires_grad=True)
    optimiser = optim.SGD([x])
    set_gradients([x], 0)
    optimiser.step()
    before, x.grad = x.value.copy(), grad
    with pytest.raises(error, match="SGD: "):
        optimiser.step()
    np.testing.assert_array_equal(x.value, before)


def test_a_subclass_has_its_own_steps():
    class Signs(optim.SGD):
        def update(self, x, grad, state, group):
            x.value = x.value - group["lr"] * np.sign(grad)

    class Doubled(optim.Adam):
        def update_all(self, targets, group):
            for t in targets:
                t.x.value = t.x.value + 2

    for kind, want in ((Signs, -0.5), (Doubled, 2)):
        x = ag.Variable(np.zeros(3, "float32"), requires_grad=True)
        optimiser = kind([x], lr=0.5)
        for i in range(1, 4):
            x.grad = np.full(3, 7.0, "float32")
            optimiser.step()
            np.testing.assert_array_equal(x.value, np.full(3, i * want, "float32"))


@needs_core
def test_gather():
    params = leaves()
    set_gradients(params, 0)
    states = {x: {"m": numbers(*x.shape), "step": i} for i, x in enumerate(params)}
    params[1].grad = None
    del params[2].grad  # as in a Variable of which it was never set
    rows, own = core.gather(params, states, ("m", ""))
    kept = [x for x in params if x.grad is not None]
    assert [state["step"] for state in own] == [0, 3]
    for row, x in zip(rows, kept, strict=True):
        assert row[0] is x.value
        assert row[1] is x.grad
        assert row[2] is states[x]["m"]
        assert row[3] is None
    del rows, row
    assert core.gather([], {}, ()) == ([], [])
    assert core.gather(params, states, ("v",)) is None
    assert core.gather(params, {}, ("m",)) is None
    assert core.gather([*params, 3], states, ("m",)) is None
    states[params[0]]["m"] = 3.0
    assert core.gather(params, states, ("m",)) is None
    with pytest.raises(TypeError, match="gather takes a list"):
        core.gather(tuple(params), states, ("m",))
