"""Keywords of NumPy's functions that change the result: none is left out silently."""

import numpy as np
import pytest

import autograd_gpu as ag

V = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
A = np.array([[1.5, -1.0, 0.5], [2.0, 0.25, -3.0]])
MASK = np.array([[True, False, True], [False, True, False]])
PAIRS = ((1, 2), (3, 4))

CALLS = {
    "pad constant_values": lambda x: np.pad(x, 1, constant_values=2.5),
    "pad constant_values of axes": lambda x: np.pad(x, PAIRS, constant_values=PAIRS),
    "pad end_values": lambda x: np.pad(x, 2, "linear_ramp", end_values=(1, 2)),
    "pad stat_length": lambda x: np.pad(x, 2, "mean", stat_length=((1, 2), (3, 1))),
    "pad reflect_type": lambda x: np.pad(x, 1, "reflect", reflect_type="odd"),
    "pad some axes": lambda x: np.pad(x, {0: 1, -1: (2, 1)}),
    "pad one axis": lambda x: np.pad(x, {1: 2}, "edge"),
    "angle deg": lambda x: np.angle(x + 1j, deg=True),
    "angle deg by position": lambda x: np.angle(x + 1j, True),
    "logaddexp.reduce initial": lambda x: np.logaddexp.reduce(x, initial=2.0),
    "logaddexp.reduce where": lambda x: np.logaddexp.reduce(x, where=MASK, initial=1.0),
    "logaddexp.reduce where alone": lambda x: np.logaddexp.reduce(x, axis=1, where=MASK),
}


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradient(name):
    f = CALLS[name]
    y = f(ag.Variable(V, requires_grad=True))
    assert y.requires_grad
    np.testing.assert_allclose(y.value, f(V), rtol=1e-14)
    assert ag.grad_check(f, [V], order=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(x, dtype="float64"),
        lambda x: np.add(x, x[0], dtype="float64"),
        lambda x: np.multiply(x, 0.1, dtype="float64"),
        lambda x: np.exp(x, dtype="float16"),
        lambda x: np.ldexp(x, [1, 2, 3], dtype="float64"),
        lambda x: np.abs(x + 1j, dtype="float32"),
        lambda x: np.less(x, 2, dtype=bool),
        lambda x: np.maximum.reduce(x, dtype="float64"),
        lambda x: np.maximum.accumulate(x, dtype="float64"),
    ],
)
def test_a_ufunc_computes_in_the_dtype_that_it_is_given(f):
    x = (V / 3).astype("float32")
    y, expected = f(ag.Variable(x, requires_grad=True)), f(x)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y.value, expected)


def test_integers_do_not_overflow_in_the_dtype_that_was_not_asked_for():
    x = np.array([100, 100], "int8")
    y = np.multiply(ag.Variable(x), x, dtype="int32")
    np.testing.assert_array_equal(y.value, [10000, 10000])
    with pytest.raises(TypeError, match=r"float64, which is not cast to int32"):
        np.multiply(ag.Variable(V), V, dtype="int32")


@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.add, np.maximum])
@pytest.mark.parametrize("indices", [[0, 1, 0], [1, 0], [1, 1]])
def test_stretches_of_one_element_are_reduced_too(ufunc, indices):
    y = ufunc.reduceat(ag.Variable(V), indices, axis=1)
    expected = ufunc.reduceat(V, indices, axis=1)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y.value, expected)


def test_stretches_begin_within_the_array():
    for indices in ([0, 3], [-1]):
        with pytest.raises(IndexError, match="out of range for 3 elements"):
            np.add.reduceat(ag.Variable(V), indices, axis=1)


def test_nan_to_num_in_place():
    x = ag.Variable(V, requires_grad=True)
    y = ag.where(MASK, x, np.nan)
    assert np.nan_to_num(y, copy=False, nan=7.0) is y
    np.testing.assert_array_equal(y.value, np.where(MASK, V, 7.0))
    ag.sum(y).backward()
    np.testing.assert_array_equal(x.grad, MASK)
    np.testing.assert_array_equal(np.nan_to_num(ag.Variable(MASK)).value, MASK)


def test_copyto_where():
    x, v = ag.Variable(V, requires_grad=True), ag.Variable(A, requires_grad=True)
    y = x * 1
    np.copyto(y, v, where=MASK)
    np.testing.assert_array_equal(y.value, np.where(MASK, A, V))
    ag.sum(y).backward()
    np.testing.assert_array_equal(x.grad, ~MASK)
    np.testing.assert_array_equal(v.grad, MASK)


def test_copyto_casts_as_it_is_told():
    x = ag.Variable(np.zeros((2, 3), "int64"))
    for source in (ag.Variable(A), A, 2.5):
        with pytest.raises(TypeError, match="not cast to int64 by 'same_kind'"):
            np.copyto(x, source)
    np.copyto(x, ag.Variable(A), casting="unsafe")
    np.testing.assert_array_equal(x.value, A.astype("int64"))
    np.copyto(x, 2)
    assert x.value[0, 0] == 2


def test_bincount_counts_no_negative_numbers():
    for x in ([-1, -1], [3, -2]):
        with pytest.raises(ValueError, match="bincount: .* one is -"):
            np.bincount(ag.Variable(np.array(x)))
