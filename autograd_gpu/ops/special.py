"""Error functions, the normal distribution, and entropies.

The values are scipy.special's, on a GPU cupyx.scipy.special's.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import call, narrow
from autograd_gpu.primitive import elementwise

SLOPE = 2 / math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)


@elementwise(x=lambda xp, g, x: g * (SLOPE * xp.exp(-(x * x))))
def erf(xp: Namespace, x: Array) -> Array:
    """The error function, for real x.

    >>> erf(Variable([0.0, 1.0]))
    Variable(array([0.       , 0.8427008], dtype=float32))
    """
    return xp.erf(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(-SLOPE * xp.exp(-(x * x))))
def erfc(xp: Namespace, x: Array) -> Array:
    """1 - erf(x), accurate where it is tiny."""
    return xp.special.erfc(x)


# 1, 1 * 3, 1 * 3 * 5, ...
ODD_FACTORIALS = [math.prod(range(1, 2 * k + 2, 2)) for k in range(6)]


def far_limit(x: Any) -> float:
    """From where on `far_series` is exact, and formulas that cancel are not."""
    return 30.0 if x.dtype.itemsize >= 8 else 8.0


def far_series(xp: Namespace, x: Any, far: Any, sign: float) -> Any:
    """1 / x² times the sum over k of (2k + 1)!! (sign / 2x²)^k, where `far` holds."""
    z = xp.square(1 / xp.where(far, x, 1))
    series: Any = 0
    for factor in reversed(ODD_FACTORIALS):
        series = series * (z * (0.5 * sign)) + factor
    return z * series


def _erfcx(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    far = x > far_limit(x)
    near = 2 * xp.where(far, 0, x) * y - SLOPE
    return g * xp.conj(xp.where(far, far_series(xp, x, far, -1) * (-0.5 * SLOPE), near))


@elementwise(x=_erfcx)
def erfcx(xp: Namespace, x: Array) -> Array:
    """exp(x ** 2) * erfc(x)."""
    return xp.special.erfcx(x)


@elementwise(x=lambda xp, g, y: g * (xp.exp(y * y) / SLOPE))
def erfinv(xp: Namespace, x: Array) -> Array:
    """The inverse of erf."""
    return xp.special.erfinv(x)


@elementwise(x=lambda xp, g, y: g * (xp.exp(y * y) / -SLOPE))
def erfcinv(xp: Namespace, x: Array) -> Array:
    """The inverse of erfc."""
    return xp.special.erfcinv(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.exp(x * x * -0.5) / ROOT_2PI))
def ndtr(xp: Namespace, x: Array) -> Array:
    """The share of the standard normal distribution below x."""
    return xp.special.ndtr(x)


def _log_ndtr(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    # The quotient of the density and ndtr, below 0 without the factor that both have.
    left = x < 0
    below = call(xp, erfcx, xp.where(left, x, 0) * -(0.5**0.5))
    above = xp.exp(xp.square(xp.where(left, 0, x)) * -0.5 - xp.where(left, 0, y))
    return g * xp.conj(xp.where(left, 2 / (ROOT_2PI * below), above / ROOT_2PI))


@elementwise(x=_log_ndtr)
def log_ndtr(xp: Namespace, x: Array) -> Array:
    """log(ndtr(x)), accurate far below 0."""
    return xp.special.log_ndtr(x)


@elementwise(x=lambda xp, g, y: g * (ROOT_2PI * xp.exp(y * y * 0.5)))
def ndtri(xp: Namespace, x: Array) -> Array:
    """The inverse of ndtr."""
    return xp.special.ndtri(x)


@elementwise(x=lambda g, x: g / (x * (1 - x)))
def logit(xp: Namespace, x: Array) -> Array:
    """log(x / (1 - x)), the inverse of sigmoid."""
    return xp.special.logit(x)


# x log y and the like: 0 where x is 0, whatever y is; there the derivatives for y are 0 too.


def _ratio(xp: Namespace, x: Any, y: Any) -> Any:
    """x / y, and 0 where both are 0."""
    return x / xp.where((x == 0) & (y == 0), 1, y)


@elementwise(
    a=lambda xp, g, b: g * xp.conj(xp.log(b)),
    b=lambda xp, g, a, b: g * xp.conj(_ratio(xp, a, b)),
)
def xlogy(xp: Namespace, a: Array, b: Array) -> Array:
    """a * log(b), and 0 where a is 0.

    >>> xlogy(Variable([0.0, 2.0]), Variable([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    return xp.special.xlogy(a, b)


@elementwise(
    a=lambda xp, g, b: g * xp.conj(xp.log1p(b)),
    b=lambda xp, g, a, b: g * xp.conj(_ratio(xp, a, 1 + b)),
)
def xlog1py(xp: Namespace, a: Array, b: Array) -> Array:
    """a * log(1 + b), and 0 where a is 0."""
    return xp.special.xlog1py(a, b)


@elementwise(x=lambda xp, g, x: g * (-1 - xp.log(x)))
def entr(xp: Namespace, x: Array) -> Array:
    """-x * log(x), 0 at 0 and -inf below."""
    return xp.special.entr(x)


@elementwise(
    a=lambda xp, g, a, b: g * (xp.log(a / b) + 1),
    b=lambda xp, g, a, b: g * -_ratio(xp, a, b),
)
def rel_entr(xp: Namespace, a: Array, b: Array) -> Array:
    """a * log(a / b), and 0 where a is 0."""
    return xp.special.rel_entr(a, b)


@elementwise(
    a=lambda xp, g, a, b: g * xp.log(a / b),
    b=lambda xp, g, a, b: g * (1 - _ratio(xp, a, b)),
)
def kl_div(xp: Namespace, a: Array, b: Array) -> Array:
    """a * log(a / b) - a + b, and b where a is 0."""
    return xp.special.kl_div(a, b)


# sinc -------------------------------------------------------------------------------------------

TERMS = 20
NEAR = 3.0


def _sinc_slope(xp: Namespace, g: Any, x: Any, order: int) -> Any:
    return g * xp.conj(call(xp, sinc_slope, x, order=order + 1))


@elementwise(x=_sinc_slope)
def sinc_slope(xp: Namespace, x: Array, *, order: int) -> Array:
    """The derivative of sinc of that order: by its series near 0, by a recurrence elsewhere."""
    u = math.pi * x
    near = xp.abs(u) < NEAR + order
    # The sum over k of (-1)^k u^(2k) / (2k + 1)!, differentiated.
    v = xp.where(near, u, 0)
    first = (order + 1) // 2
    series = xp.zeros_like(v)
    for k in range(first + TERMS, first - 1, -1):
        factor = (-1) ** k * math.perm(2 * k, order) / math.factorial(2 * k + 1)
        series = series * (v * v) + factor
    if 2 * first - order:
        series = series * v
    w = xp.where(near, 1, u)
    far = xp.sin(w) / w
    for n in range(1, order + 1):
        far = (xp.sin(w + n * (math.pi / 2)) - n * far) / w
    return narrow(xp, xp.where(near, series, far) * math.pi**order, x)


@elementwise(x=lambda xp, g, x: g * xp.conj(call(xp, sinc_slope, x, order=1)))
def sinc(xp: Namespace, x: Array) -> Array:
    """sin(pi x) / (pi x), and 1 at 0."""
    return narrow(xp, xp.sinc(x), x)
