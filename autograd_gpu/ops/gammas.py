"""The gamma function and its relatives.

The values are scipy.special's, on a GPU cupyx.scipy.special's.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable


def refuse(op: str, name: str, x: Any) -> Any:
    """`x` if no gradient would be lost: the op has no derivative for this operand."""
    if isinstance(x, Variable) and x.requires_grad:
        raise TypeError(f"{op} has no derivative for {name} here; detach it, or use a number")
    return x


def whole(op: str, name: str, n: Any, least: int = 0) -> int:
    """`n`, an order or a degree, as an int; ValueError for what is none."""
    n = refuse(op, name, n)
    if getattr(n, "ndim", 0):
        raise ValueError(
            f"{op}: {name} is one whole number for all elements, not an array of shape {n.shape}; "
            f"call it for each {name}"
        )
    if int(n) != n or n < least:
        raise ValueError(f"{op}: {name} is a whole number from {least} on, not {n}")
    return int(n)


@elementwise(x=lambda xp, g, x, y: g * xp.conj(y * call(xp, digamma, x)))
def gamma(xp: Namespace, x: Array) -> Array:
    """The gamma function: gamma(n + 1) is n!.

    >>> gamma(Variable([5.0])).tolist()
    [24.0]
    """
    return xp.special.gamma(x)


@elementwise(x=lambda xp, g, x: g * call(xp, digamma, x))
def lgamma(xp: Namespace, x: Array) -> Array:
    """log(|gamma(x)|) of real x; scipy.special's gammaln."""
    return xp.special.gammaln(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(call(xp, digamma, x)))
def loggamma(xp: Namespace, x: Array) -> Array:
    """The branch of log(gamma(x)) that is real for x > 0 and holomorphic elsewhere but for x <= 0,
    where it is NaN for real x."""
    return xp.special.loggamma(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(call(xp, polygamma_, x, order=1)))
def digamma(xp: Namespace, x: Array) -> Array:
    """The derivative of log(gamma(x)); scipy.special's psi."""
    return xp.special.digamma(x)


# Of Euler and Maclaurin's sum: so many terms, then B[2k] / (2k)! for k from 1 on.
SHIFT = 24
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)


def _zeta_of_complex(xp: Namespace, s: int, q: Array) -> Array:
    """The sum over k of 1 / (k + q) ** s for s > 1, where Re(q) > -12."""
    total = sum((q + k) ** -s for k in range(SHIFT))
    w = q + SHIFT
    total = total + w ** (1 - s) / (s - 1) + 0.5 * w**-s
    power = w ** (-s - 1)
    for k, b in enumerate(BERNOULLI):
        total = total + b * math.perm(s + 2 * k, 2 * k + 1) * power
        power = power / (w * w)
    return total


def _polygamma(xp: Namespace, g: Any, x: Any, order: int) -> Any:
    return g * xp.conj(call(xp, polygamma_, x, order=order + 1))


@elementwise(x=_polygamma)
def polygamma_(xp: Namespace, x: Array, *, order: int) -> Array:
    """`polygamma` of an order that is a Python number; for complex x, those with Re(x) > -12."""
    factor = (-1) ** (order + 1) * math.factorial(order)
    if x.dtype.kind == "c":
        return _zeta_of_complex(xp, order + 1, x) * factor
    # CuPy's polygamma takes no numbers for the order, and waits.
    return xp.special.zeta(order + 1.0, x) * factor


def polygamma(n: int, x: Any, /) -> Variable:
    """The n-th derivative of digamma."""
    order = whole("polygamma", "n", n)
    return digamma(x) if order == 0 else polygamma_(x, order)


@elementwise(x=lambda xp, g, x, y: g * xp.conj(-(y * call(xp, digamma, x))))
def rgamma(xp: Namespace, x: Array) -> Array:
    """1 / gamma(x), for x that is no negative integer or 0."""
    return 1 / xp.special.gamma(x)


def _binom(xp: Namespace, a: Any, b: Any) -> Any:
    return call(xp, digamma, a + 1) - call(xp, digamma, b + 1)


@elementwise(
    n=lambda xp, g, n, k, y: g * (y * _binom(xp, n, n - k)),
    k=lambda xp, g, n, k, y: g * (y * _binom(xp, n - k, k)),
)
def binom(xp: Namespace, n: Array, k: Array) -> Array:
    """The binomial coefficient gamma(n + 1) / gamma(k + 1) / gamma(n - k + 1), for 0 <= k <= n."""
    return xp.special.binom(n, k)


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


@elementwise(q=lambda xp, g, x, q: g * -(x * call(xp, zeta_, x + 1, q)))
def zeta_(xp: Namespace, x: Array, q: Array) -> Array:
    """`zeta`."""
    return xp.special.zeta(x, q)


def zeta(x: Any, q: Any = 1.0, /) -> Variable:
    """Hurwitz's zeta function, the sum over k of 1 / (k + q) ** x; differentiable in q."""
    return zeta_(refuse("zeta", "x", x), q)
