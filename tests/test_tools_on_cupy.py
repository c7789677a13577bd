"""What is written for any backend, on CuPy: protocols, Function, transforms, gradient checks."""

import numpy as np
import pytest

import autograd_gpu as ag

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="CuPy or a CUDA device is missing"
)


@pytest.fixture
def cp():
    return pytest.importorskip("cupy")


@pytest.fixture
def v(cp):
    return ag.Variable(cp.asarray([2.0, 3.0, 4.0]), requires_grad=True)


def test_operators_with_an_array_on_the_left(cp, v):
    a = cp.asarray(np.arange(3.0))
    y = a * v
    assert isinstance(y, ag.Variable)
    y.backward(cp.ones(3))
    np.testing.assert_array_equal(cp.asnumpy(v.grad), [0.0, 1.0, 2.0])
    for z in (a - v, a / v, a @ v, a**v, a < v):
        assert isinstance(z, ag.Variable)
        assert isinstance(z.value, cp.ndarray)


def test_ufuncs_of_both_libraries(cp, v):
    for y in (cp.exp(v), np.exp(v), np.sum(v), cp.add(v, 1.0), np.concatenate([v, v])):
        assert isinstance(y, ag.Variable)
        assert isinstance(y.value, cp.ndarray)
    with pytest.raises(TypeError, match="add: an array can't hold a Variable's gradient"):
        cp.add(v, 1.0, cp.zeros(3))
    array, target = cp.zeros(3), ag.Variable(cp.zeros(3))
    assert cp.add(v.detach(), 1.0, array) is array
    assert cp.add(v, 1.0, target) is target
    assert target.requires_grad
    np.testing.assert_array_equal(cp.asnumpy(array), target.numpy())


def test_nothing_moves_silently(v):
    with pytest.raises(TypeError, match="different backends"):
        np.ones(3) * v
    with pytest.raises(TypeError, match=r"use \.numpy\(\)"):
        np.asarray(v.detach())


def test_gradient_checks_run_on_the_host(cp, v):
    def f(x):
        assert isinstance(x.value, np.ndarray)
        return x * x

    assert ag.grad_check(f, v.value, order=2)
    value = v.value
    assert ag.grad_check_variables(lambda: f(v), v, fast=True)
    assert v.value is value


def test_transforms_return_device_arrays(cp, v):
    x = v.value
    for result in (
        ag.grad(lambda x: ag.sum(x**3))(x),
        ag.jacobian(lambda x: x**2)(x),
        ag.hessian(lambda x: ag.sum(x**3))(x),
        ag.jvp(lambda x: x**2, x, x)[1],
        ag.vjp(lambda x: x**2, x)[1](x)[0],
    ):
        assert isinstance(result, cp.ndarray)
    ag.sum(ag.checkpoint(lambda x: ag.tanh(x * v), x)).backward()
    assert isinstance(v.grad, cp.ndarray)


def test_a_function(cp, v):
    class Total(ag.Function):
        def forward(self, x):
            assert isinstance(x, cp.ndarray)
            self.save(x)
            return (x * x).sum()

        def backward(self, g):
            return 2.0 * g * self.saved[0]

    y = Total.apply(v)
    assert isinstance(y.value, cp.ndarray)
    dx = ag.gradients(y, v, create_graph=True)
    ddx = ag.gradients(dx, v, cp.ones(3))
    np.testing.assert_array_equal(cp.asnumpy(ddx.value), [2.0, 2.0, 2.0])
    with pytest.raises(TypeError, match="backends"):
        Total.apply(v, np.ones(3))


def test_second_derivatives_beside_numbers(v):
    for f in (lambda x: 3.0 * x**3 * 2, lambda x: (x / 2.0) ** 2.5, lambda x: 2.0**x - x * 1.5):
        dx = ag.gradients(ag.sum(f(v)), v, create_graph=True)
        ddx = ag.gradients(ag.sum(dx), v)
        w = ag.Variable(v.numpy(), requires_grad=True)
        dw = ag.gradients(ag.sum(f(w)), w, create_graph=True)
        np.testing.assert_allclose(ddx.numpy(), ag.gradients(ag.sum(dw), w).numpy(), rtol=1e-12)
