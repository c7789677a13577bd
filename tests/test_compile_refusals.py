"""compile: what can't be replayed runs eagerly, with the reason."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from compiled_steps import CALLS, X, bits, compare, refused

import autograd_gpu as ag
from autograd_gpu.backends.traced import Traced
from autograd_gpu.nn import functional as F


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda x: ag.sum(x).item(), "item()"),
        (lambda x: float(ag.sum(x)), "float()"),
        (lambda x: x * 2 if ag.sum(x) > 0 else x, "bool()"),
        (lambda x: x[: int(ag.argmax(x[0]))], "int()"),
        (lambda x: ag.Variable(x)[ag.Variable(x) > 0], "with a mask"),
        (lambda x: ag.Variable(np.asarray(x)) * 2, "np.asarray"),
        (lambda x: ag.Variable(np.unique(x)), "numpy.unique"),
        (lambda x: ag.Variable(x).numpy(), "to the host"),
        (lambda x: str(ag.Variable(x)), "repr()"),
        (lambda x: x.tolist(), "tolist()"),
        (lambda x: ag.Variable(x, requires_grad=True) * 2, "still to be run backward"),
        (lambda x: x.sort() or x, "that it is given"),
    ],
)  # fmt: skip
def test_what_looks_at_values_runs_eagerly(step, words):
    refused(step, words, [(x.copy(),) for x in X])


def in_another_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append((ag.Variable(x) * 2).sum()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda x: np.array(ag.Variable(x)) * 2, "np.asarray"),
        (lambda x: np.array(ag.Variable(x), "float64", copy=True), "np.asarray"),
        (lambda x: pickle.loads(pickle.dumps((ag.Variable(x) * 2).value)), "pickles"),
        (lambda x: bytes((ag.Variable(x) * 2).value.data).hex(), "uses .data"),
        (in_another_thread, "another thread"),
        (lambda x: (in_another_thread(X[0]) * x).detach(), "another thread"),
    ],
    ids=["array", "cast", "pickle", "memory", "thread", "thread within"],
)
def test_what_gets_at_arrays_in_other_ways_runs_eagerly(step, words):
    refused(step, words)


def test_an_argument_with_a_graph():
    refused(lambda x: x * 2, "x.detach()", [(ag.Variable(x, requires_grad=True) * 1,) for x in X])


def test_an_unhashable_argument_and_another_kind_of_array():
    refused(lambda x, s: x * len(s), "neither an array nor hashable", [(x, {1, 2}) for x in X])
    refused(lambda x: x, "MaskedArray", [(np.ma.array(x),) for x in X])


def test_numbers_that_change_from_call_to_call():
    count = iter(range(1, 100))
    compiled = ag.compile(lambda x: x * next(count))
    for i in range(12):
        np.testing.assert_array_equal(compiled(X[0]), X[0] * (i + 1))
    assert "gets" in compiled.reason
    assert "in a later one" in compiled.reason


def test_python_values_among_the_results():
    assert compare(lambda x: (x.sum(), x[0, 0], 3, "name", None, (1, 2.5))).replays == CALLS - 3
    count = iter(range(100))
    compiled = ag.compile(lambda x: next(count))
    assert [compiled(X[0]) for _ in range(12)] == list(range(12))
    assert "it returns 8 in one call and 9 in a later one" in compiled.reason
    refused = ag.compile(lambda x: (i for i in range(3)))
    assert [list(refused(X[0])) for _ in range(5)] == [[0, 1, 2]] * 5
    assert "generator" in refused.reason


def test_numpys_random_numbers():
    rng, same = np.random.default_rng(0), np.random.default_rng(0)
    compiled = ag.compile(lambda x: ag.Variable(x) + rng.standard_normal(5))
    for _ in range(12):
        expected = X[0] + same.standard_normal(5)
        np.testing.assert_array_equal(compiled(X[0]).value, expected)
    assert "it changes rng" in compiled.reason


def test_arrays_that_only_numpy_changes():
    def before(x, total):
        total *= 0.5  # no array of the step in it
        total += x[0]
        return x

    def between(x, total):
        total += x[0]
        total *= 0.5
        total += x[1]
        return x

    def after(x, total):
        total += x[0]
        total *= 0.5
        return x

    for step in (before, between, after):
        for variable in (False, True):
            totals = np.zeros(5, np.float32), np.zeros(5, np.float32)
            held = ag.Variable(totals[0])
            used = (lambda held=held: held.value) if variable else (lambda totals=totals: totals[0])

            def run(x, step=step, used=used, total=totals[0]):
                return step(x, total) + used() * 0

            compiled = ag.compile(run)
            for x in X:
                compiled(x)
                step(x, totals[1])
                assert bits(totals[0]) == bits(totals[1])
            assert "NumPy alone" in compiled.reason


def test_arrays_from_outside_that_the_step_changes():
    totals = np.zeros(5, np.float32), np.zeros(5, np.float32)

    def step(x, total):
        np.multiply(total, 0.5 + 0 * x[0], out=total)
        total += x[1]
        total[1:3] = x[2, :2]
        return total.copy()

    compiled = ag.compile(lambda x: step(x, totals[0]))
    for x in X:
        assert bits(compiled(x)) == bits(step(x, totals[1]))
    assert compiled.reason is None or "np.asarray" in compiled.reason
    assert bits(totals[0]) == bits(totals[1])

    def in_place(x, total):
        np.multiply(total, 0.5 + 0 * x[0], out=total)
        total += x[1]
        return x

    compiled = ag.compile(lambda x: in_place(x, totals[0]))
    for x in X:
        compiled(x)
        in_place(x, totals[1])
        assert bits(totals[0]) == bits(totals[1])
    assert compiled.replays == CALLS - 3


def test_what_is_kept_outside_of_the_step():
    for make in (lambda x: ag.Variable(x) * 2, lambda x: x * 2):
        kept = []
        compiled = ag.compile(lambda x, make=make, kept=kept: kept.append(make(x)))
        for x in X:
            compiled(x)
        assert "return it" in compiled.reason
        for x, y in zip(X, kept, strict=True):
            assert not isinstance(y, Traced)
            np.testing.assert_array_equal(np.asarray(getattr(y, "value", y)), x * 2)


def test_a_graph_that_is_left_behind():
    w = ag.Variable([1.0, 2.0], requires_grad=True)
    y = ag.Variable([0.0, 0.0])

    def step(x):
        nonlocal y
        y = ag.Variable([0.0, 0.0])
        y += w * x
        return x

    compiled = ag.compile(step)
    for _ in range(4):
        compiled(np.ones(2, np.float32))
    assert compiled.replays == 0
    assert compiled.reason is not None
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_a_seed_that_is_set_within():
    def step(x):
        ag.manual_seed(1)
        return F.dropout(x, 0.5)

    refused(step, "random generator")
