"""What a replay leaves out: results that nobody uses, and all but the first of equal ones."""

from __future__ import annotations

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backends.numpy_tape import Tape

X = np.linspace(-1, 2, 6, dtype="float32").reshape(2, 3)


def names(compiled):
    """The names of the functions that the only recording calls."""
    ((replay, _),) = [ready for p in compiled._programs.values() for ready in p.ready]
    scope = replay.program.scope
    called = [
        line.partition("(")[0].split()[-1] for line in replay.program.source.split("\n    ")[1:]
    ]
    return [getattr(scope[name], "__name__", "") for name in called if callable(scope.get(name))]


def replayed(function, *args):
    """The function compiled; replays return what it returns."""
    compiled = ag.compile(function)
    for i in range(6):
        given = [x + i if x.dtype.kind == "f" else x for x in args]
        want, got = function(*given), compiled(*given)
        for a, b in zip(want, got, strict=True):
            np.testing.assert_array_equal(a.value, b.value)
    assert compiled.replays >= 3, compiled.reason
    return compiled


def test_results_that_nobody_uses():
    def f(x):
        x = ag.asarray(x)
        unused = ag.exp(x).sum() / 3
        _ = ag.log(unused) if x.ndim else unused
        return (ag.sin(x),)

    assert names(replayed(f, X)) == ["sin"]


def test_a_result_that_is_used_through_a_view():
    def f(x):
        return (ag.asarray(ag.exp(x)).T[1] + 1,)

    assert names(replayed(f, X)) == ["exp", "add"]


def test_equal_calls():
    def f(x):
        x = ag.asarray(x)
        return (ag.exp(x) * ag.exp(x) + ag.exp(x[0]) + ag.exp(x)[0],)

    assert names(replayed(f, X)).count("exp") == 2


def test_calls_that_differ_in_the_sign_of_a_zero():
    def f(x):
        x = ag.asarray(x)
        return (ag.copysign(x, 0.0) - ag.copysign(x, -0.0),)

    assert names(replayed(f, X)).count("copysign") == 2


def test_equal_calls_whose_results_are_both_returned():
    def f(x):
        return ag.exp(x), ag.exp(x)

    compiled = replayed(f, X)
    assert names(compiled) == ["exp", "exp"]
    a, b = compiled(X)
    assert not np.shares_memory(a.value, b.value)


def test_equal_calls_one_of_which_is_changed():
    def f(x):
        a, b = ag.exp(x), ag.exp(x)
        a += 1
        b[0] = 5.0
        return (a * b,)

    assert names(replayed(f, X)).count("exp") == 2


def test_equal_calls_of_what_changes_in_between():
    v = ag.Variable(X.copy())

    def f(x):
        before = ag.exp(v)
        v.value[0] += x[0]
        return (before * ag.exp(v),)

    compiled, eager = ag.compile(f), ag.Variable(X.copy())
    for i in range(6):
        (got,) = compiled(X + i)
        want = np.exp(eager.value)
        eager.value[0] += (X + i)[0]
        np.testing.assert_array_equal(got.value, want * np.exp(eager.value))


def test_equal_calls_on_both_sides_of_an_optimisers_step():
    def make():
        w = ag.Variable(X.copy(), requires_grad=True)
        optimiser = ag.optim.SGD([w], lr=0.1)

        def step(x):
            before = ag.exp(w.detach())
            optimiser.zero_grad()
            (w * x).sum().backward()
            optimiser.step()
            return before, ag.exp(w.detach()) * ag.exp(w.detach())

        return step

    eager, compiled = make(), ag.compile(make())
    for i in range(6):
        for a, b in zip(eager(X + i), compiled(X + i), strict=True):
            np.testing.assert_array_equal(a.value, b.value)
    assert compiled.replays


def test_an_unused_result_that_may_fail_is_computed():
    def f(x, i):
        ag.take(ag.asarray(x), i, axis=1)
        return (ag.exp(x),)

    compiled = replayed(f, X, np.array([0, 2]))
    with pytest.raises(IndexError):
        compiled(X, np.array([0, 3]))


def test_random_numbers_that_nobody_uses_are_drawn():
    def make():
        generator = ag.random.Generator(3)

        def f(x):
            ag.nn.functional.dropout(ag.asarray(x), 0.5, generator=generator)
            return (ag.nn.functional.dropout(ag.asarray(x), 0.5, generator=generator),)

        return f

    eager, compiled = make(), ag.compile(make())
    for _ in range(6):
        np.testing.assert_array_equal(eager(X)[0].value, compiled(X)[0].value)
    assert compiled.replays


def test_pruning_leaves_the_tape_as_it_is():
    from autograd_gpu.backends.numpy_pruning import pruned

    tape = Tape()
    x = tape.root(X, "given", 0)
    first, second = (tape.operator(np.add, np.add, (x, 1.0)) for _ in range(2))
    y = tape.operator(np.multiply, np.multiply, (first, second))
    tape.operator(np.subtract, np.subtract, (x, 2.0))
    before = [(step, step.args, step.result) for step in tape.steps]
    left = pruned(tape.steps, [y.value])
    assert [step.function for step in left] == [np.add, np.multiply]
    assert left[1].args == (first.value, first.value)
    assert [(step, step.args, step.result) for step in tape.steps] == before
