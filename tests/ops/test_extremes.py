"""Derivatives far from 1 and at infinity, where terms overflow, underflow or cancel.

The expected numbers were computed in 60 digits by mpmath.
"""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import special

INF = np.inf


def slopes(f, *operands):
    """The gradients of the sum of f."""
    xs = [ag.Variable(np.array(x), requires_grad=True) for x in operands]
    with np.errstate(over="ignore"):
        y = f(*xs)
        y.backward(np.ones(y.shape, y.dtype))
    return [x.grad for x in xs]


UNARY = [
    (
        special.erfcx,
        [5.0, 10, 29, 31, 100, 1e4, 1e8, 1e100, INF],
        [
            -0.02133278976482631, -0.0055593122190608565, -0.0006696626385877042,
            -0.0005861719430369728, -5.6410497625993184e-05, -5.641895750849127e-09,
            -5.641895835477563e-17, -5.641895835477563e-201, 0,
        ],
    ),
    (
        special.log_ndtr,
        [-1e160, -1e8, -1000, -100, -10, -1, 1, 10, 1e160],
        [
            1e160, 1e8, 1000.000999998, 100.00999800099926, 10.098093233962512, 1.525135276160981,
            0.2875999709391784, 7.694598626706419e-23, 0,
        ],
    ),
    (
        special.i0e,
        [20.0, 499, 501, -3000, 1e100],
        [
            -0.0022740897015373564, -1.7908372417438297e-05, -1.7801190182730053e-05,
            1.214094490938151e-06, -1.9947114020071635e-151,
        ],
    ),
    (
        special.i1e,
        [20.0, 499, 501, -3000, 1e100],
        [
            -0.002101221407627077, -1.7854512582868012e-05, -1.7747866530871158e-05,
            -1.2134873930801e-06, -1.9947114020071635e-151,
        ],
    ),
    (special.i1, [800.0, -800], [INF, INF]),
    (ag.asinh, [1e160, -1e300, 1e-300], [1e-160, 1e-300, 1]),
    (lambda x: ag.gelu(x, "tanh"), [1e160, -1e160, 300], [1, 0, 1]),
    (ag.silu, [-800.0, -1e300, 1e300], [0, 0, 1]),
    (ag.mish, [-800.0, -1e300, 1e300], [0, 0, 1]),
    (lambda x: special.gammainc(2.0, x), [0.0, 1e300, INF], [0, 0, 0]),
    (lambda t: special.stdtr(3.0, t), [INF, -INF, 1e200], [0, 0, 0]),
    (lambda t: special.stdtr(INF, t), [0.0, 1], [0.3989422804014327, 0.24197072451914337]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "expected"), UNARY)
def test_functions_of_one_number(f, x, expected):
    np.testing.assert_allclose(slopes(f, x)[0], expected, rtol=2e-11)


@pytest.mark.parametrize(("f", "x", "expected"), UNARY)
def test_single_precision(f, x, expected):
    x, expected = np.array(x), np.array(expected, float)
    fits = (np.abs(x) < 1e38) & ((expected == 0) | (np.abs(expected) > 1e-37)) & (abs(x) != 1e8)
    found = slopes(f, x[fits].astype("float32"))[0]
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, expected[fits], rtol=5e-5)


BINARY = [
    (ag.atan2, 1e200, 1e200, 5e-201, -5e-201),
    (ag.atan2, 1e-200, 1e-200, 5e199, -5e199),
    (ag.atan2, 3e300, -4e300, -4 / 25e300, -3 / 25e300),
    (ag.atan2, INF, 1.0, 0, 0),
    (ag.atan2, 1.0, -INF, 0, 0),
    (ag.atan2, 0.0, 0.0, 0, 0),
    (ag.hypot, 3e300, 4e300, 0.6, 0.8),
    (ag.hypot, -3e-300, 4e-300, -0.6, 0.8),
    (ag.hypot, -INF, 1.0, -1, 0),
    (special.pseudo_huber, 0.0, 1.0, 0, 0),
    (special.pseudo_huber, 0.0, 0.0, 0, 0),
    (special.pseudo_huber, 1.0, 1e200, 1e200, 1),
    (special.pseudo_huber, 1.0, 1e-200, 0, 1e-200),
]


def test_logarithms_of_sums_of_large_terms():
    for size in (1e160, 1e10, -1e300):
        assert [g.item() for g in slopes(ag.logaddexp, size, size)] == [0.5, 0.5]
        np.testing.assert_array_equal(slopes(ag.logsumexp, [size] * 4)[0], [0.25] * 4)
    assert [g.item() for g in slopes(ag.logaddexp, INF, 1.0)] == [1, 0]
    assert [g.item() for g in slopes(ag.logaddexp, -INF, -INF)] == [0, 0]
    x = np.float32(1e4) + np.arange(4, dtype="float32")
    weights = np.exp(x.astype(float) - x.max())
    found = slopes(ag.logsumexp, x)[0]
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-6)


@pytest.mark.parametrize("f", [special.xlogy, special.rel_entr])
def test_mixed_second_derivatives_where_the_factor_is_0(f):
    a, b = (ag.Variable(np.array([v]), requires_grad=True) for v in (0.0, 8.0))
    sign = 1 if f is special.xlogy else -1
    (by_b,) = ag.gradients(f(a, b).sum(), [b], create_graph=True)
    assert ag.gradients(by_b.sum(), [a])[0].tolist() == [sign / 8]


@pytest.mark.parametrize(("f", "a", "b", "da", "db"), BINARY)
def test_functions_of_two_numbers(f, a, b, da, db):
    np.testing.assert_allclose(slopes(f, a, b), [da, db], rtol=1e-12)


@pytest.mark.parametrize("f", [special.erfcx, special.log_ndtr, special.i0e, special.i1e])
def test_second_derivatives_on_both_sides_of_where_the_formula_changes(f):
    x = np.array([-3000.0, -501, -40, -8, -1, 0.5, 8, 29, 31, 499, 501, 3000])
    x = x[(x > -5)] if f is special.erfcx else x
    if f is special.log_ndtr:
        x = x[x < 9]
    first = ag.grad(lambda x: ag.sum(f(x)))
    second = ag.grad(lambda x: ag.sum(first(x)))(x)
    h = 1e-4 * abs(x)
    np.testing.assert_allclose(
        second, (first(x + h) - first(x - h)) / (2 * h), rtol=1e-6, atol=1e-12
    )


def test_half_types_are_not_cut_off():
    x = ag.Variable(np.array([-1000.0, -20, 300], "float16"), requires_grad=True)
    np.testing.assert_array_equal(ag.silu(x).numpy(), np.array([0, 0, 300], "float16"))
    ag.sum(ag.gelu(x, "tanh")).backward()
    np.testing.assert_array_equal(x.grad, np.array([0, 0, 1], "float16"))
    second = ag.grad(lambda x: ag.sum(ag.grad(lambda x: ag.sum(ag.gelu(x, "tanh")))(x)))
    x = np.array([-6e4, -45, -20, -2, 0, 2, 20, 45, 6e4], "float16")
    np.testing.assert_allclose(second(x), second(x.astype("f8")), atol=1e-3)


def test_nothing_to_sum():
    x = ag.Variable(np.zeros((2, 0)), requires_grad=True)
    for f in (ag.softmax, ag.log_softmax):
        assert f(x).shape == (2, 0)
        assert slopes(f, np.zeros((2, 0)))[0].shape == (2, 0)
        with pytest.raises(IndexError, match="axis 2"):
            f(x, axis=2)
    assert ag.logsumexp(x, axis=1).tolist() == [-INF, -INF]
    assert ag.logsumexp(x, axis=1, keepdims=True).shape == (2, 1)
    assert ag.logsumexp(x).item() == -INF
    assert slopes(lambda x: ag.logsumexp(x, axis=1), np.zeros((2, 0)))[0].shape == (2, 0)
