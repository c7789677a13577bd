"""Bessel functions of orders 0 and 1, and exponential integrals, for real numbers.

The values are scipy.special's, on a GPU cupyx.scipy.special's.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import call, narrow
from autograd_gpu.primitive import elementwise

TERMS = 24
NEAR = 3.0


def _quotient(xp: Namespace, x: Array, first: Array, second: Array, order: int, sign: int) -> Array:
    """f(x) / x ** order for the Bessel function f of that order, which f0 and f1 start.

    By its series near 0, by the recurrence elsewhere; `sign` is -1 for J and 1 for I.
    """
    near = xp.abs(x) < NEAR + order
    v = xp.where(near, x, 0)
    square = v * v
    series = xp.zeros_like(v)
    for k in range(TERMS - 1, -1, -1):
        factor = sign**k / (math.factorial(k) * math.factorial(k + order) * 2 ** (2 * k + order))
        series = series * square + factor
    w = xp.where(near, 1, x)
    a, b = first, second / w
    for n in range(1, order):  # f[n + 1] = sign * (f[n - 1] - 2 n f[n] / x), divided
        a, b = b, (a - 2 * n * b) * sign / (w * w)
    return narrow(xp, xp.where(near, series, b), x)


def _j_slope(xp: Namespace, g: Any, x: Any, order: int) -> Any:
    return g * -(x * call(xp, j_quotient, x, order=order + 1))


@elementwise(x=_j_slope)
def j_quotient(xp: Namespace, x: Array, *, order: int) -> Array:
    """J(x) / x ** order for the Bessel function J of the first kind of that order, from 1 on."""
    return _quotient(xp, x, xp.special.j0(x), xp.special.j1(x), order, -1)


def _i_slope(xp: Namespace, g: Any, x: Any, order: int) -> Any:
    return g * (x * call(xp, i_quotient, x, order=order + 1))


@elementwise(x=_i_slope)
def i_quotient(xp: Namespace, x: Array, *, order: int) -> Array:
    """I(x) / x ** order for the modified Bessel function I of that order, from 1 on."""
    return _quotient(xp, x, xp.special.i0(x), xp.special.i1(x), order, 1)


@elementwise(x=lambda xp, g, x: g * -call(xp, j1, x))
def j0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind of order 0."""
    return xp.special.j0(x)


@elementwise(x=lambda xp, g, x: g * (call(xp, j0, x) - call(xp, j_quotient, x, order=1)))
def j1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the first kind of order 1."""
    return xp.special.j1(x)


@elementwise(x=lambda xp, g, x: g * -call(xp, y1, x))
def y0(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind of order 0, for x > 0."""
    return xp.special.y0(x)


@elementwise(x=lambda xp, g, x, y: g * (call(xp, y0, x) - y / x))
def y1(xp: Namespace, x: Array) -> Array:
    """The Bessel function of the second kind of order 1, for x > 0."""
    return xp.special.y1(x)


@elementwise(x=lambda xp, g, x: g * call(xp, i1, x))
def i0(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return xp.special.i0(x)


def _i1(xp: Namespace, g: Any, x: Any) -> Any:
    y = call(xp, i0, x)
    # Where y overflows, so does the quotient, which is less.
    return g * (y - call(xp, i_quotient, xp.where(y == math.inf, 0, x), order=1))


@elementwise(x=_i1)
def i1(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the first kind of order 1."""
    return xp.special.i1(x)


def _far_terms(order: int) -> list[float]:
    """The coefficients of 1 / x in the asymptotic series of exp(-x) I(x) sqrt(2 π x), which are but
    for signs those of exp(x) K(x) sqrt(2 x / π)."""
    terms = [1.0]
    for k in range(1, 8):
        terms.append(terms[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))
    return terms


GAPS = [a - b for a, b in zip(_far_terms(0), _far_terms(1), strict=True)]


def _gap(xp: Namespace, x: Any, near: Any, sign: int, scale: float) -> Any:
    """`near`, the difference of functions of orders 0 and 1, or where they cancel its series."""
    size = xp.abs(x)
    far = size > (500 if x.dtype.itemsize >= 8 else 50)
    z = 1 / xp.where(far, size, 1)
    series: Any = 0
    for term in reversed(GAPS):
        series = series * (sign * z) + term
    return xp.where(far, xp.sqrt(z * scale) * series, near)


def _i_gap(xp: Namespace, x: Any, y0: Any, y1: Any) -> Any:
    """i0e(x) - |i1e(x)| of these two."""
    return _gap(xp, x, y0 - xp.sign(x) * y1, 1, 0.5 / math.pi)


def _k_gap(xp: Namespace, x: Any, y0: Any, y1: Any) -> Any:
    """k0e(x) - k1e(x) of these two."""
    return _gap(xp, x, y0 - y1, -1, 0.5 * math.pi)


@elementwise(x=lambda xp, g, x, y: g * (-xp.sign(x) * _i_gap(xp, x, y, call(xp, i1e, x))))
def i0e(xp: Namespace, x: Array) -> Array:
    """exp(-|x|) * i0(x); the gradient at 0 is 0."""
    return xp.special.i0e(x)


def _i1e(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    # y / x cancels near 0, and I(x) / x overflows far from it.
    near = xp.abs(x) < NEAR
    small = xp.where(near, x, 0)
    quotient = xp.exp(-xp.abs(small)) * call(xp, i_quotient, small, order=1)
    quotient = xp.where(near, quotient, y / xp.where(near, 1, x))
    return g * (_i_gap(xp, x, call(xp, i0e, x), y) - quotient)


@elementwise(x=_i1e)
def i1e(xp: Namespace, x: Array) -> Array:
    """exp(-|x|) * i1(x)."""
    return xp.special.i1e(x)


@elementwise(x=lambda xp, g, x: g * -call(xp, k1, x))
def k0(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the second kind of order 0, for x > 0."""
    return xp.special.k0(x)


@elementwise(x=lambda xp, g, x, y: g * -(call(xp, k0, x) + y / x))
def k1(xp: Namespace, x: Array) -> Array:
    """The modified Bessel function of the second kind of order 1, for x > 0."""
    return xp.special.k1(x)


@elementwise(x=lambda xp, g, x, y: g * _k_gap(xp, x, y, call(xp, k1e, x)))
def k0e(xp: Namespace, x: Array) -> Array:
    """exp(x) * k0(x), for x > 0."""
    return xp.special.k0e(x)


@elementwise(x=lambda xp, g, x, y: g * -(_k_gap(xp, x, call(xp, k0e, x), y) + y / x))
def k1e(xp: Namespace, x: Array) -> Array:
    """exp(x) * k1(x), for x > 0."""
    return xp.special.k1e(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(-(xp.exp(-x) / x)))
def exp1(xp: Namespace, x: Array) -> Array:
    """The exponential integral E1, for x > 0."""
    return xp.special.exp1(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.exp(x) / x))
def expi(xp: Namespace, x: Array) -> Array:
    """The exponential integral Ei."""
    return xp.special.expi(x)
