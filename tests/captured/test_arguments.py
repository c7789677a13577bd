"""Arguments and results of captured steps."""

from __future__ import annotations

import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn

F = nn.functional


def test_other_shapes_and_dtypes_are_recorded_anew(cp):
    function = ag.compile(lambda x: x * 2 + 1)
    for _ in range(2):
        for shape, dtype in (((3,), "float32"), ((4,), "float32"), ((3,), "float64")):
            for i in range(4):
                y = function(ag.Variable(cp.full(shape, i, dtype)))
                assert y.dtype == dtype
                np.testing.assert_array_equal(y.value.get(), np.full(shape, 2 * i + 1))
    assert (function.calls, function.replays) == (24, 18)
    strided = function(ag.Variable(cp.arange(6.0, dtype="float32")[::2]))
    assert strided.value.get().tolist() == [1.0, 5.0, 9.0]


def test_results_are_the_callers_own(cp):
    function = ag.compile(lambda x: x * 2)
    results = [function(ag.Variable(cp.full(3, float(i)))) for i in range(5)]
    assert [float(y.value[0]) for y in results] == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_arguments_are_changed_as_by_the_step(cp):
    def step(x):
        x += 1.0
        return (x * x).detach()

    function = ag.compile(step)
    for i in range(5):
        array = cp.full(3, float(i), "float32")
        x = ag.Variable(array)
        y = function(x)
        assert y.value.get().tolist() == [(i + 1.0) ** 2] * 3
        assert x.value.get().tolist() == [i + 1.0] * 3
        assert array.get().tolist() == [float(i)] * 3  # what the caller holds is not
    assert function.replays == 3


def test_gradients_of_arguments(cp):
    def step(x):
        (x * x).sum().backward()

    function = ag.compile(step)
    kept = []
    for i in range(5):
        x = ag.Variable(cp.full(3, float(i), "float32"), requires_grad=True)
        function(x)
        kept.append(x.grad)
    assert [float(g[0]) for g in kept] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert function.replays == 3
    function(x)  # which has a gradient already
    assert x.grad.get().tolist() == [16.0] * 3


def test_compiled_functions_within_another_one(cp):
    """They are parts of its recording, and have their own for calls from elsewhere."""
    inner = ag.compile(lambda x: x * 2)
    outer = ag.compile(lambda x: inner(x) + inner(x * 3))
    for i in range(6):
        x = ag.Variable(cp.full(3, float(i)))
        assert outer(x).tolist() == [8.0 * i] * 3
        assert inner(x).tolist() == [2.0 * i] * 3
    assert (outer.replays, outer.reason, inner.reason) == (4, None, None)
    assert inner.replays >= 6
