"""Sums of many elements on NumPy, which products with ones compute where they are faster."""

import itertools

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backends import numpy_sums

EPS = {"float32": 1e-6, "float64": 2e-15, "float16": 1e-3, "complex64": 1e-6, "int32": 0}
SHAPES = [
    (2000,),
    (1025,),
    (100, 11),
    (3, 5, 100),
    (600, 2),
    (513, 3),
    (3, 513),
    (1, 5000),
    (5000, 1),
    (20, 30, 40),
    (40_000, 3),
    (8193, 2),
    (70_001,),
    (1, 66_000),
    (300, 1000),
    (257, 1021),
]


def numbers(shape, dtype):
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)


def axes_of(n):
    """Every set of axes, in the ways in which it can be written."""
    yield None
    for k in range(1, n + 1):
        for axes in itertools.combinations(range(n), k):
            yield axes
            yield tuple(i - n for i in axes)
            yield from ((axes[0], axes[0] - n) if k == 1 else (axes[::-1],))


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_means_are_those_of_numpy(shape, dtype):
    x = numbers(shape, dtype)
    precise = x.astype("c16" if dtype == "complex64" else "f8")
    for axis, keepdims in itertools.product(axes_of(x.ndim), (False, True)):
        scale = np.abs(precise).sum(axis=axis, keepdims=keepdims).max()
        for function, want in (
            (numpy_sums.sum_, np.sum(precise, axis=axis, keepdims=keepdims)),
            (numpy_sums.mean, np.mean(precise, axis=axis, keepdims=keepdims)),
        ):
            got = function(x, axis=axis, keepdims=keepdims)
            assert got.shape == want.shape
            assert got.dtype == (np.sum if function is numpy_sums.sum_ else np.mean)(x).dtype
            np.testing.assert_allclose(got, want, rtol=0, atol=EPS[dtype] * scale + 1e-300)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_of_any_layout(axis):
    x = numbers((700, 500), "float64")
    for view in (x.T, x[::2, ::3], x[:, ::-1], np.broadcast_to(x[0], (700, 500))):
        got = numpy_sums.sum_(view, axis=axis)
        np.testing.assert_allclose(got, view.sum(axis), rtol=0, atol=1e-9)


def test_what_is_not_a_number():
    x = numbers((1000, 7), "float32")
    x[3, 2], x[4, 1], x[5, 0], x[5, 6] = np.nan, np.inf, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        y = numpy_sums.sum_(x, axis=1)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(y)), [3, 5])
    assert y[4] == np.inf


def test_errors_are_those_of_numpy():
    x = numbers((300, 20), "float32")
    for axis in (2, -3, (0, 0), (1, 1), (0, 2), 1.5, "a"):
        with pytest.raises((ValueError, IndexError, TypeError)) as expected:
            np.sum(x, axis=axis)
        with pytest.raises(expected.type):
            numpy_sums.sum_(x, axis=axis)


@pytest.mark.parametrize("shape", [(3000, 3), (70_001,), (300, 1000)])
def test_a_replay_computes_the_same_bits(shape):
    x = ag.Variable(numbers(shape, "float32"))
    for axis in (None, -1, 0):

        def step(x, axis=axis):
            return ag.sum(x * 2, axis=axis), ag.mean(x, axis=axis), ag.var(x, axis=axis)

        compiled = ag.compile(step)
        want = [y.numpy().copy() for y in step(x)]
        for _ in range(3):
            for got, y in zip(compiled(x), want, strict=True):
                np.testing.assert_array_equal(got.value, y)
