"""Values and gradients at the ends of domains, and arguments that a function is not for."""

import numpy as np
import pytest
import scipy.special as scipy

import autograd_gpu as ag
from autograd_gpu.grad_check import grad_check


@pytest.mark.parametrize("lmbda", [0.3, 1.0, 2.5, 0.0, -1.0, np.array([0.5, 2.0, 3.0])])
def test_boxcox_at_the_edge(lmbda):
    x = np.array([0.0, 0.5, 2.0])
    y = ag.special.boxcox(ag.Variable(x), lmbda)
    np.testing.assert_allclose(y.value, scipy.boxcox(x, lmbda), rtol=1e-14)
    y = ag.special.boxcox1p(ag.Variable(x - 1), lmbda)
    np.testing.assert_allclose(y.value, scipy.boxcox1p(x - 1, lmbda), rtol=1e-14)


def test_gradients_of_boxcox_at_the_edge():
    x = ag.Variable(np.array([0.0, 0.0, 0.5]), requires_grad=True)
    lmbda = ag.Variable(np.array([1.0, 2.5, 0.5]), requires_grad=True)
    ag.sum(ag.special.boxcox(x, lmbda)).backward()
    np.testing.assert_allclose(x.grad, [1, 0, 0.5**-0.5])
    np.testing.assert_allclose(lmbda.grad[:2], [1, 1 / 2.5**2])
    assert grad_check(lambda v: ag.special.boxcox(np.zeros(2), v), [np.array([0.5, 2.0])], order=2)


def test_poch_below_zero():
    x, m = np.array([0.3, -0.7, -1.5, -2.5, 2.5]), np.array([-0.7, 1.0, 2.25, 0.75, -4.0])
    np.testing.assert_allclose(ag.special.poch(x, m).value, scipy.poch(x, m), rtol=1e-13)
    assert grad_check(ag.special.poch, [x, m], order=2)


ORDERS = {
    "expn": lambda n, x: ag.special.expn(n, x),
    "polygamma": lambda n, x: ag.polygamma(n, x),
    "eval_legendre": lambda n, x: ag.special.eval_legendre(n, x),
    "spherical_jn": lambda n, x: ag.special.spherical_jn(n, x),
    "multigammaln": lambda n, x: ag.special.multigammaln(x, n),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_single_whole_numbers(name):
    f, x = ORDERS[name], ag.Variable(np.array([2.0, 3.0]), requires_grad=True)
    for n in (1.5, -1, np.array(2.5)):
        with pytest.raises(ValueError, match=rf"{name}: [nd] is a whole number from [01] on, not"):
            f(n, x)
    with pytest.raises(ValueError, match=rf"{name}: [nd] is one whole number .* shape \(2,\)"):
        f(np.array([1, 2]), x)
    for n in (2.0, np.int64(2), np.array(2.0), ag.Variable(np.array(2))):
        np.testing.assert_array_equal(f(n, x).value, f(2, x).value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("other", ["int8", "uint8", "bool", "float16"])
def test_logaddexp2_keeps_the_wider_float(dtype, other):
    a, b = np.array([1, 2, 3]).astype(dtype), np.array([2, 1, 3]).astype(other)
    for operands in ((a, b), (b, a)):
        y = np.logaddexp2(*map(ag.Variable, operands))
        expected = np.logaddexp2(*operands)
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y.value, expected, rtol=2e-3)


@pytest.mark.parametrize("name", ["fabs", "rint", "modf"])
def test_integers_become_floats(name):
    x = np.array([-3, 0, 5])
    y, expected = getattr(np, name)(ag.Variable(x)), getattr(np, name)(x)
    pairs = zip(y, expected, strict=True) if name == "modf" else [(y, expected)]
    for part, wanted in pairs:
        assert part.dtype == wanted.dtype
        np.testing.assert_array_equal(part.value, wanted)


def test_fabs_is_for_real_numbers():
    with pytest.raises(TypeError, match="real numbers"):
        np.fabs(ag.Variable([1.0 + 2.0j]))


def test_modf_of_infinities():
    x = np.array([np.inf, -np.inf, np.nan, 2.5, -3.0])
    for part, expected in zip(ag.modf(ag.Variable(x)), np.modf(x), strict=True):
        np.testing.assert_array_equal(part.value, expected)
    v = ag.Variable(x, requires_grad=True)
    ag.sum(ag.modf(v)[0]).backward()
    np.testing.assert_array_equal(v.grad, [0, 0, 1, 1, 1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_polynomials_of_small_integers_do_not_overflow(dtype):
    x = np.array([4, 5, 11, 3, 7]).astype(dtype)
    np.testing.assert_array_equal(np.vander(ag.Variable(x)).value, np.vander(x))
    np.testing.assert_allclose(np.poly(ag.Variable(x)).value, np.poly(x))
    assert np.vander(ag.Variable(x)).dtype == np.vander(x).dtype


def test_the_characteristic_polynomial_of_a_real_matrix_is_real():
    x = np.array([[1.0, 2.0, 0.5], [-3.0, 0.25, 1.0], [0.5, -1.0, 2.0]])
    y = np.poly(ag.Variable(x))
    assert y.dtype == np.float64
    np.testing.assert_allclose(y.value, np.poly(x))
    assert grad_check(ag.poly, [x], order=2, rtol=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (1, 4), (3, 0), (3, 1)])
@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_covariances_of_few_observations(name, shape):
    x = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    y, expected = getattr(np, name)(ag.Variable(x)), getattr(np, name)(x)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.value, expected)
