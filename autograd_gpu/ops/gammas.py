"""The gamma function and its relatives, for real numbers.

The values are scipy.special's, on a GPU cupyx.scipy.special's.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import call
from autograd_gpu.ops.special import xlog1py, xlogy
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable


def refuse(op: str, name: str, x: Any) -> Any:
    """`x` if no gradient would be lost: the op has no derivative for this operand."""
    if isinstance(x, Variable) and x.requires_grad:
        raise TypeError(f"{op} has no derivative for {name} here; detach it, or use a number")
    return x


@elementwise(x=lambda xp, g, x, y: g * (y * call(xp, digamma, x)))
def gamma(xp: Namespace, x: Array) -> Array:
    """The gamma function: gamma(n + 1) is n!.

    >>> gamma(Variable([5.0])).tolist()
    [24.0]
    """
    return xp.special.gamma(x)


@elementwise(x=lambda xp, g, x: g * call(xp, digamma, x))
def lgamma(xp: Namespace, x: Array) -> Array:
    """log(|gamma(x)|); scipy.special's gammaln."""
    return xp.special.gammaln(x)


@elementwise(x=lambda xp, g, x: g * call(xp, polygamma_, x, order=1))
def digamma(xp: Namespace, x: Array) -> Array:
    """The derivative of log(gamma(x)); scipy.special's psi."""
    return xp.special.digamma(x)


@elementwise(x=lambda xp, g, x, order: g * call(xp, polygamma_, x, order=order + 1))
def polygamma_(xp: Namespace, x: Array, *, order: int) -> Array:
    """`polygamma` of an order that is a Python number."""
    # CuPy's polygamma takes no numbers for the order, and waits.
    return xp.special.zeta(order + 1.0, x) * ((-1) ** (order + 1) * math.factorial(order))


def polygamma(n: int, x: Any, /) -> Variable:
    """The n-th derivative of digamma."""
    order = int(refuse("polygamma", "n", n))
    if order < 0:
        raise ValueError(f"polygamma: n is 0 or more, not {order}")
    return digamma(x) if order == 0 else polygamma_(x, order)


@elementwise(x=lambda xp, g, x, y: g * -(y * call(xp, digamma, x)))
def rgamma(xp: Namespace, x: Array) -> Array:
    """1 / gamma(x), for x that is no negative integer or 0."""
    return 1 / xp.special.gamma(x)


def _beta(xp: Namespace, a: Any, b: Any) -> Any:
    return call(xp, digamma, a) - call(xp, digamma, a + b)


@elementwise(
    a=lambda xp, g, a, b, y: g * (y * _beta(xp, a, b)),
    b=lambda xp, g, a, b, y: g * (y * _beta(xp, b, a)),
)
def beta(xp: Namespace, a: Array, b: Array) -> Array:
    """gamma(a) * gamma(b) / gamma(a + b)."""
    return xp.special.beta(a, b)


@elementwise(
    a=lambda xp, g, a, b: g * _beta(xp, a, b),
    b=lambda xp, g, a, b: g * _beta(xp, b, a),
)
def betaln(xp: Namespace, a: Array, b: Array) -> Array:
    """log(|beta(a, b)|)."""
    return xp.special.betaln(a, b)


# The derivatives for the first operand of what follows have no closed form.


def _gamma_density(xp: Namespace, a: Any, x: Any) -> Any:
    # xlogy: at 0 the density is 1 for the shape 1, where (a - 1) * log(x) would be NaN
    return xp.exp(call(xp, xlogy, a - 1, x) - x - call(xp, lgamma, a))


@elementwise(x=lambda xp, g, a, x: g * _gamma_density(xp, a, x))
def gammainc_(xp: Namespace, a: Array, x: Array) -> Array:
    """`gammainc`."""
    return xp.special.gammainc(a, x)


@elementwise(x=lambda xp, g, a, x: g * -_gamma_density(xp, a, x))
def gammaincc_(xp: Namespace, a: Array, x: Array) -> Array:
    """`gammaincc`."""
    return xp.special.gammaincc(a, x)


def gammainc(a: Any, x: Any, /) -> Variable:
    """The share of the gamma distribution of shape a below x; differentiable in x."""
    return gammainc_(refuse("gammainc", "a", a), x)


def gammaincc(a: Any, x: Any, /) -> Variable:
    """1 - gammainc(a, x); differentiable in x."""
    return gammaincc_(refuse("gammaincc", "a", a), x)


def _beta_density(xp: Namespace, a: Any, b: Any, x: Any) -> Any:
    return xp.exp(call(xp, xlogy, a - 1, x) + call(xp, xlog1py, b - 1, -x) - call(xp, betaln, a, b))


@elementwise(x=lambda xp, g, a, b, x: g * _beta_density(xp, a, b, x))
def betainc_(xp: Namespace, a: Array, b: Array, x: Array) -> Array:
    """`betainc`."""
    return xp.special.betainc(a, b, x)


def betainc(a: Any, b: Any, x: Any, /) -> Variable:
    """The share of the beta distribution with parameters a and b below x; differentiable in x."""
    return betainc_(refuse("betainc", "a", a), refuse("betainc", "b", b), x)


def _stdtr(xp: Namespace, g: Any, df: Any, t: Any) -> Any:
    normal = df + 0 * xp.sign(t) == math.inf
    df = xp.where(normal, 1, df)
    log = xp.log1p(t * t / df) * ((df + 1) * -0.5) - call(xp, betaln, df * 0.5, 0.5 + df * 0)
    density = xp.exp(t * t * -0.5) / math.sqrt(2 * math.pi)
    return g * xp.where(normal, density, xp.exp(log) / xp.sqrt(df))


@elementwise(t=_stdtr)
def stdtr_(xp: Namespace, df: Array, t: Array) -> Array:
    """`stdtr`."""
    normal = df + 0 * xp.sign(t) == math.inf
    df = xp.where(normal, 1, df)
    square = t * t
    half = 0.5 + df * 0
    tail = xp.special.betainc(df * 0.5, half, df / (square + df)) * 0.5
    near = square < df
    middle = xp.special.betainc(half, df * 0.5, xp.where(near, square, 0) / (square + df)) * 0.5
    far = xp.where(t < 0, tail, 1 - tail)
    y = xp.where(near, xp.sign(t) * middle + 0.5, far)
    return xp.where(normal, xp.special.ndtr(t), y)


def stdtr(df: Any, t: Any, /) -> Variable:
    """The share of Student's t distribution with df degrees of freedom below t."""
    return stdtr_(refuse("stdtr", "df", df), t)


@elementwise(q=lambda xp, g, x, q: g * -(x * call(xp, zeta_, x + 1, q)))
def zeta_(xp: Namespace, x: Array, q: Array) -> Array:
    """`zeta`."""
    return xp.special.zeta(x, q)


def zeta(x: Any, q: Any = 1.0, /) -> Variable:
    """Hurwitz's zeta function, the sum over k of 1 / (k + q) ** x; differentiable in q."""
    return zeta_(refuse("zeta", "x", x), q)
