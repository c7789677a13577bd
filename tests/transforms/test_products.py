"""vjp and jvp."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag

x3 = np.array([0.5, -1.0, 2.0])


def mix(a, b):
    return a * ag.sin(b), ag.sum(a * a)


def test_vjp():
    a, b = np.array([1.0, 2.0]), np.array([0.3, 0.4])
    y, pull = ag.vjp(mix, a, b)
    np.testing.assert_allclose(y[0], a * np.sin(b))
    for _ in range(2):  # as often as you like
        ga, gb = pull((np.array([1.0, 10.0]), np.array(2.0)))
        np.testing.assert_allclose(ga, np.array([1.0, 10.0]) * np.sin(b) + 4 * a)
        np.testing.assert_allclose(gb, np.array([1.0, 10.0]) * a * np.cos(b))
    with pytest.raises(ValueError, match="1 arrays were given for 2"):
        pull((np.ones(2),))
    with pytest.raises(ValueError, match=r"array 0 has shape \(3,\)"):
        pull((np.ones(3), np.array(1.0)))


def test_vjp_of_a_scalar_takes_a_number():
    _, pull = ag.vjp(lambda x: x * x, np.array(3.0))
    assert pull(1.0) == (6.0,)


def test_vjp_is_differentiable():
    x, g = leaf(x3), leaf([1.0, 2.0, 3.0])
    _, pull = ag.vjp(lambda x: x**3, x)
    (gx,) = pull(g)
    ag.sum(gx).backward()
    np.testing.assert_allclose(x.grad, 6 * x3 * g.value)
    np.testing.assert_allclose(g.grad, 3 * x3**2)


def test_jvp():
    a, b = np.array([1.0, 2.0]), np.array([0.3, 0.4])
    va, vb = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    y, dy = ag.jvp(mix, (a, b), (va, vb))
    np.testing.assert_allclose(y[1], 5.0)
    np.testing.assert_allclose(dy[0], va * np.sin(b) + vb * a * np.cos(b))
    np.testing.assert_allclose(dy[1], 2 * (a * va).sum())
    y, dy = ag.jvp(lambda x: x * x, x3, np.ones(3))
    np.testing.assert_allclose(dy, 2 * x3)


def test_jvp_of_constants_and_linear_functions():
    _, dy = ag.jvp(lambda x: np.ones(2), x3, np.ones(3))
    np.testing.assert_array_equal(dy, np.zeros(2))
    _, dy = ag.jvp(lambda x: 2.0 * x, x3, x3)
    np.testing.assert_allclose(dy, 2 * x3)


def test_jvp_is_differentiable():
    x = leaf(x3)
    _, dy = ag.jvp(lambda x: x**3, (x,), (np.ones(3),))
    ag.sum(dy).backward()
    np.testing.assert_allclose(x.grad, 6 * x3)
    # forward over forward
    _, ddy = ag.jvp(lambda x: ag.jvp(lambda t: t**3, x, np.ones(3))[1], x3, np.ones(3))
    np.testing.assert_allclose(ddy, 6 * x3)


def test_jvp_with_complex_numbers():
    z, v = np.array([1.0 + 2.0j]), np.array([0.5 - 1.0j])
    _, dy = ag.jvp(lambda z: z * z, z, v)
    np.testing.assert_allclose(dy, 2 * z * v)
    _, dy = ag.jvp(lambda z: ag.real(z * ag.conj(z)), z, v)
    np.testing.assert_allclose(dy, 2 * (np.conj(z) * v).real)
