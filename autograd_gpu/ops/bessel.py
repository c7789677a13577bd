"""Bessel functions of orders 0 and 1, and exponential integrals, for real numbers.

The values are scipy.special's, on a GPU cupyx.scipy.special's.  f(x) / x is a half at 0 for j1 and
i1, whose derivatives there are taken as that.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive


def _less_quotient(xp: Namespace, f: Any, y: Any, x: Any) -> Any:
    """f - y / x, and a half at 0."""
    zero = x == 0
    return xp.where(zero, 0.5, f - y / xp.where(zero, 1, x))


@primitive(x=lambda xp, g, x: g * -call(xp, j1, x))
def j0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind of order 0."""
    return xp.special.j0(x)


@primitive(x=lambda xp, g, x, y: g * _less_quotient(xp, call(xp, j0, x), y, x))
def j1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind of order 1."""
    return xp.special.j1(x)


@primitive(x=lambda xp, g, x: g * -call(xp, y1, x))
def y0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind of order 0, for x > 0."""
    return xp.special.y0(x)


@primitive(x=lambda xp, g, x, y: g * (call(xp, y0, x) - y / x))
def y1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind of order 1, for x > 0."""
    return xp.special.y1(x)


@primitive(x=lambda xp, g, x: g * call(xp, i1, x))
def i0(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return xp.special.i0(x)


@primitive(x=lambda xp, g, x, y: g * _less_quotient(xp, call(xp, i0, x), y, x))
def i1(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind of order 1."""
    return xp.special.i1(x)


@primitive(x=lambda xp, g, x, y: g * (call(xp, i1e, x) - xp.sign(x) * y))
def i0e(xp: Namespace, x: Array) -> Array:
    """exp(-|x|) * i0(x); the gradient at 0 is 0."""
    return xp.special.i0e(x)


@primitive(x=lambda xp, g, x, y: g * _less_quotient(xp, call(xp, i0e, x) - xp.sign(x) * y, y, x))
def i1e(xp: Namespace, x: Array) -> Array:
    """exp(-|x|) * i1(x)."""
    return xp.special.i1e(x)


@primitive(x=lambda xp, g, x: g * -call(xp, k1, x))
def k0(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the second kind of order 0, for x > 0."""
    return xp.special.k0(x)


@primitive(x=lambda xp, g, x, y: g * -(call(xp, k0, x) + y / x))
def k1(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the second kind of order 1, for x > 0."""
    return xp.special.k1(x)


@primitive(x=lambda xp, g, x: g * -(xp.exp(-x) / x))
def exp1(xp: Namespace, x: Array) -> Array:
    """The exponential integral E1, for x > 0."""
    return xp.special.exp1(x)


@primitive(x=lambda xp, g, x: g * (xp.exp(x) / x))
def expi(xp: Namespace, x: Array) -> Array:
    """The exponential integral Ei."""
    return xp.special.expi(x)
