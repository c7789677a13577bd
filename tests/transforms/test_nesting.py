"""Derivatives of derivatives, taken in every order of the ways there are."""

from itertools import product

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag

x3 = np.array([0.5, -0.7, 1.1])


def direction(x):
    """Where a derivative goes: it depends on the point, so that the next one sees it."""
    return x**2 * 0.5


def product_with_gradient(f):
    return lambda x: ag.sum(ag.grad(f)(x) * direction(x))


WAYS = {
    "grad": product_with_gradient,
    "jvp": lambda f: lambda x: ag.jvp(f, (x,), (direction(x),))[1],
    "vjp": lambda f: lambda x: ag.sum(ag.vjp(f, x)[1](1.0)[0] * direction(x)),
    "rows": lambda f: lambda x: ag.sum(ag.jacobian(f, mode="reverse")(x) * direction(x)),
    "columns": lambda f: lambda x: ag.sum(ag.jacobian(f, mode="forward")(x) * direction(x)),
    "checkpoint": lambda f: lambda x: ag.checkpoint(product_with_gradient(f), x),
}


def derivative(ways, w, x=x3):
    """That of a function of `x` and `w`, by these ways from the inside out; and its gradient by
    the leaf `w`, which is outside of them all."""

    def f(x):
        return ag.sum(ag.exp(x * w) * ag.sin(x)) + ag.prod(x)

    for way in ways:
        f = WAYS[way](f)
    y = f(x)
    w.grad = None
    y.backward()
    return np.array([y.item(), *w.grad])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_all_ways_agree(order):
    expected = derivative(["grad"] * order, leaf([0.3, 0.2, -0.5]))
    for ways in product(WAYS, repeat=order):
        found = derivative(ways, leaf([0.3, 0.2, -0.5]))
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=" of ".join(ways))


class Powers(ag.Function):
    """The sum of cubes, whose backward takes a gradient of its own."""

    def forward(self, x):
        self.save(x)
        return (x**3).sum()

    def backward(self, g):
        (x,) = self.saved
        return g * ag.grad(lambda x: ag.sum(ag.pow(x, 3)))(x)


@pytest.mark.parametrize("inner", [lambda x: ag.sum(x**3), Powers.apply], ids=["op", "Function"])
@pytest.mark.parametrize("ways", [*product(WAYS, repeat=2)], ids=" ".join)
def test_what_knows_nothing_of_the_leaf_outside(inner, ways):
    def f(x):
        y = inner
        for way in ways:
            y = WAYS[way](y)
        return y(x) * ag.sum(w)

    w = leaf([0.3, 0.2, -0.5])
    ag.sum(ag.grad(f)(x3)).backward()
    second = 3 * x3**5  # the direction times the derivative of 3 x**4 / 2
    np.testing.assert_allclose(w.grad, np.full(3, (5 * second / x3).sum()), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_all_ways_agree_without_a_leaf_outside(order):
    """Where runs on raw arrays take other paths."""

    def f(x):
        return ag.sum(ag.exp(x) * ag.sin(x)) + ag.prod(x)

    def of(ways):
        g = f
        for way in ways:
            g = WAYS[way](g)
        y = g(x3)
        return getattr(y, "value", y)

    expected = of(["grad"] * order)
    for ways in product(WAYS, repeat=order):
        np.testing.assert_allclose(of(ways), expected, rtol=1e-9, err_msg=" of ".join(ways))


@pytest.mark.parametrize("ways", [*product(["grad", "jvp", "vjp"], repeat=3)], ids=" ".join)
def test_fused_functions(ways):
    def plain(x, y):
        return ag.tanh(x * y) * ag.exp(-(x**2)) + y**3

    fused = ag.fuse(plain)
    results = []
    for function in (plain, fused):
        f = lambda x, function=function: ag.sum(function(x, x**2))  # noqa: E731
        for way in ways:
            f = WAYS[way](f)
        y = f(x3)
        results.append(getattr(y, "value", y))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-9)
