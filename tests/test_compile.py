"""compile: functions of arrays are replayed, and which calls share a recording."""

from __future__ import annotations

import threading
from collections import namedtuple
from itertools import pairwise

import numpy as np
import pytest
from compiled_steps import CALLS, X, bits, compare, numbers

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

# Functions of arrays ------------------------------------------------------------------------------

W = numbers(9, 5, 3)


def scalar(x):
    return ag.sum(ag.tanh(x @ W) ** 2)


@pytest.mark.parametrize(
    "function",
    [
        ag.grad(scalar),
        ag.value_and_grad(scalar),
        lambda x: ag.hvp(scalar)(x, x[::-1]),
        lambda x: ag.hessian(lambda z: ag.sum(ag.sin(z) * z))(x[0]),
        lambda x: ag.jacobian(lambda z: ag.tanh(z @ W))(x[0]),
        lambda x: ag.jvp(lambda z: ag.tanh(z @ W), (x,), (x * x,)),
        lambda x: ag.vjp(lambda z: ag.tanh(z @ W), x)[1](x[:, :3]),
        ag.grad(lambda x: ag.sum(ag.checkpoint(lambda z: ag.exp(ag.sin(z)), x))),
        ag.grad(lambda x: ag.sum(ag.fuse(lambda z: ag.exp(ag.sin(z)) * z)(x))),
    ],
)
def test_derivatives_are_replayed(function):
    assert compare(function).replays == CALLS - 3


def test_variables_among_the_arguments_get_their_gradients():
    def step(x, y):
        loss = (x * y).sum()
        loss.backward()
        return loss

    compiled = ag.compile(step)
    for x in X:
        a, b = (ag.Variable(x.copy(), requires_grad=True) for _ in range(2))
        y = ag.Variable(x * 2)
        expected = step(a, y)
        assert bits(compiled(b, y)) == bits(expected)
        assert bits(b.grad) == bits(a.grad)
        assert y.grad is None
    assert compiled.replays == CALLS - 3


def test_arguments_and_results_nest_and_may_be_passed_through():
    pair = namedtuple("pair", "a b")

    def step(tree, *, scale):
        x = tree["x"][0]
        doubled = x * scale
        return {"same": x, "row": x[0], "pair": pair(doubled, doubled), "rest": [None, "name", 3]}

    compiled = ag.compile(step)
    for x in X:
        result = compiled({"x": (x, 1)}, scale=2.0)
    assert compiled.replays == CALLS - 3
    assert result["same"] is X[-1]
    assert result["row"].base is X[-1]
    assert result["pair"].a is result["pair"].b
    assert result["rest"] == [None, "name", 3]
    np.testing.assert_array_equal(result["pair"].a, X[-1] * 2)


def test_results_are_the_callers_own():
    constant = np.ones(3)
    w = ag.Variable([1.0, 2.0])

    def step(x):
        y = ag.Variable(x) + 1
        return y, y[0], ag.zeros(3), constant, w, w.value, w.value[1:]

    compiled = ag.compile(step)
    results = [compiled(x) for x in X]
    assert compiled.replays == CALLS - 3
    for one, other in pairwise(results):
        for a, b in list(zip(one, other, strict=True))[:3]:
            assert not np.shares_memory(a.value, b.value)
    y, first, zeros, same, variable, array, view = results[-1]
    assert np.shares_memory(y.value, first.value)  # as a step's own results do
    zeros.value[0] = 7
    assert compiled(X[0])[2].tolist() == [0, 0, 0]
    assert same is constant
    assert variable is w
    assert array is w.value
    assert view.base is w.value


def test_nothing_is_added_into_arrays_from_outside():
    """A gradient that begins with one is summed in other memory."""

    def cubes(x):
        y = x - ag.mean(x)
        return ag.sum(y * y * y)

    v = np.random.default_rng(0).standard_normal((3, 3))
    before = v.copy()
    compiled = ag.compile(lambda x: ag.hvp(cubes)(x, v))
    given = ag.compile(lambda x, v: ag.hvp(cubes)(x, v))
    for i in range(CALLS):
        x = np.random.default_rng(i).uniform(-1, 1, (3, 3))
        expected = ag.hvp(cubes)(x, before.copy()).tobytes()
        assert compiled(x).tobytes() == given(x, v).tobytes() == expected
        assert v.tobytes() == before.tobytes()
    assert compiled.replays == given.replays == CALLS - 3


@pytest.mark.parametrize("when", [0, 1, 5])
def test_a_gradient_that_somebody_has_taken_is_left_alone(when):
    """Recordings add as eager calls do: in place only where nobody else holds the gradient."""
    w = ag.Variable([1.0, 2.0], requires_grad=True)
    add = ag.compile(lambda x: ag.sum(w * x).backward())
    for i in range(9):
        add(np.ones(2, "float32"))
        if i == when:
            taken = w.grad
    assert taken.tolist() == [when + 1.0] * 2
    assert w.grad.tolist() == [9.0] * 2
    assert add.replays > 0


def test_a_gradient_of_two_variables_is_added_to_once():
    a, b = (ag.Variable([1.0, 2.0], requires_grad=True) for _ in range(2))
    add = ag.compile(lambda x: ag.sum((a + b) * x).backward())
    for i in range(9):
        add(np.ones(2, "float32"))
        if i == 5:
            a.grad = b.grad
    assert a.grad.tolist() == b.grad.tolist() == [9.0] * 2


def test_an_array_from_outside_is_read_where_it_is():
    scale = np.ones(5, np.float32)
    compiled = ag.compile(lambda x: ag.Variable(x) * scale)
    for i, x in enumerate(X):
        scale[...] = i
        np.testing.assert_array_equal(compiled(x).value, x * i)
    assert compiled.replays == CALLS - 3


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_threads_share(threads):
    x, before = numbers(0, 300, 300), ag.get_num_threads()
    ag.set_num_threads(threads)
    try:
        compiled = compare(ag.grad(lambda z: ag.sum(F.gelu(z))), [(x * i,) for i in range(6)])
    finally:
        ag.set_num_threads(before)
    assert compiled.replays == 3


def test_random_numbers_go_on():
    own = ag.Generator(5)

    def step(x):
        return F.dropout(x, 0.5), F.dropout(x, 0.3, generator=own)

    ag.manual_seed(2)
    expected = [bits(step(X[0])) for _ in range(CALLS)]
    after = own.next_key(), ag.manual_seed(2).next_key()
    own.manual_seed(5)
    ag.manual_seed(2)
    compiled = ag.compile(step)
    assert [bits(compiled(X[0])) for _ in range(CALLS)] == expected
    assert compiled.replays == CALLS - 3
    assert own.next_key() == after[0]
    ag.manual_seed(2)  # and are those of a new seed
    own.manual_seed(5)
    assert bits(compiled(X[0])) == expected[0]


# Signatures ---------------------------------------------------------------------------------------


def test_other_kinds_of_arguments_are_recorded_anew():
    compiled = ag.compile(lambda x, k=1: x * k)
    kinds = [
        (X[0],),
        (X[0][:2],),
        (X[0].T,),
        (X[0].astype("float64"),),
        (X[0], 2),
        (X[0], 2.0),
        (X[0], True),
        (X[0], 0.0),
        (X[0], -0.0),
    ]
    for _ in range(5):
        for args in kinds:
            expected = args[0] * (args[1] if len(args) > 1 else 1)
            assert bits(compiled(*args)) == bits(expected)
    assert compiled.replays == 2 * len(kinds)
    assert repr(compiled).endswith(f"{len(kinds)} recorded, 18 of 45 calls replayed>")


def test_modes_are_part_of_the_signature():
    w = ag.Variable([1.0, 2.0], requires_grad=True)

    def step(x):
        y = ag.matmul(w, x)
        return y.detach(), ag.Variable(1.0) + 1

    compiled = ag.compile(step)
    x = np.ones((2, 3), np.float32)
    dtypes = []
    for _ in range(5):
        with ag.autocast("float16"):
            dtypes.append(str(compiled(x)[0].dtype))
        dtypes.append(str(compiled(x)[0].dtype))
        ag.set_default_dtype("float64")
        try:
            dtypes.append(str(compiled(x)[1].dtype))
        finally:
            ag.set_default_dtype("float32")
    assert dtypes == ["float16", "float32", "float64"] * 5
    assert compiled.replays == 6


def test_anomaly_mode_runs_eagerly():
    compiled = compare(lambda x: x * 2)
    with ag.detect_anomaly():
        compiled(X[0])
    assert "detect_anomaly" in compiled.reason
    compiled(X[0])
    assert compiled.reason is None


def test_anomaly_mode_of_another_thread_is_its_own():
    compiled = compare(lambda x: x * 2)
    begun, done = threading.Event(), threading.Event()

    def other():
        with ag.detect_anomaly():
            begun.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    try:
        replays = compiled.replays
        compiled(X[0])
        assert compiled.replays == replays + 1
    finally:
        done.set()
        thread.join()


def test_reset_forgets_and_many_signatures_are_forgotten():
    compiled = compare(lambda x: x * 2)
    assert compiled.replays == CALLS - 3
    compiled.reset()
    compiled(X[0])
    assert compiled.replays == CALLS - 3
    counting = ag.compile(lambda x, i: x * i)
    for i in range(200):
        counting(X[0], i)
    assert len(counting._programs) <= 64


def test_a_method_is_compiled_for_each_object():
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @ag.compile
        def double(self, x):
            return x * self.factor

    for model in (Model(2), Model(3)):
        for x in X:
            np.testing.assert_array_equal(model.double(x), x * model.factor)
    assert Model.double.replays == 2 * (CALLS - 3)
    assert Model.double.__name__ == "double"
