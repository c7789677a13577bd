"""Distribution functions and their inverses, as scipy.special has them.

They are differentiable in their argument, and in parameters that only scale it.  For the shapes of
a gamma, beta or t distribution there is no derivative in closed form, and a gradient is refused.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arithmetic import pair
from autograd_gpu.ops.elementwise import floor
from autograd_gpu.ops.gammas import betaln, lgamma, refuse
from autograd_gpu.ops.nested import call, narrow
from autograd_gpu.ops.special import ROOT_2PI, xlog1py, xlogy
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable

ROOT_HALF = math.sqrt(0.5)


def gamma_density(xp: Namespace, a: Any, x: Any) -> Any:
    # xlogy: at 0 the density is 1 for the shape 1, where (a - 1) * log(x) would be NaN
    end = x == math.inf
    x = xp.where(end, 1, x)
    return xp.where(end, 0, xp.exp(call(xp, xlogy, a - 1, x) - x - call(xp, lgamma, a)))


@elementwise(x=lambda xp, g, a, x: g * gamma_density(xp, a, x))
def gammainc_(xp: Namespace, a: Array, x: Array) -> Array:
    """`gammainc`."""
    return xp.special.gammainc(a, x)


@elementwise(x=lambda xp, g, a, x: g * -gamma_density(xp, a, x))
def gammaincc_(xp: Namespace, a: Array, x: Array) -> Array:
    """`gammaincc`."""
    return xp.special.gammaincc(a, x)


def gammainc(a: Any, x: Any, /) -> Variable:
    """The share of the gamma distribution of shape a below x; differentiable in x."""
    return gammainc_(refuse("gammainc", "a", a), x)


def gammaincc(a: Any, x: Any, /) -> Variable:
    """1 - gammainc(a, x); differentiable in x."""
    return gammaincc_(refuse("gammaincc", "a", a), x)


def beta_density(xp: Namespace, a: Any, b: Any, x: Any) -> Any:
    return xp.exp(call(xp, xlogy, a - 1, x) + call(xp, xlog1py, b - 1, -x) - call(xp, betaln, a, b))


@elementwise(x=lambda xp, g, a, b, x: g * beta_density(xp, a, b, x))
def betainc_(xp: Namespace, a: Array, b: Array, x: Array) -> Array:
    """`betainc`."""
    return xp.special.betainc(a, b, x)


def betainc(a: Any, b: Any, x: Any, /) -> Variable:
    """The share of the beta distribution with parameters a and b below x; differentiable in x."""
    return betainc_(refuse("betainc", "a", a), refuse("betainc", "b", b), x)


def t_density(xp: Namespace, df: Any, t: Any) -> Any:
    normal = df + 0 * xp.sign(t) == math.inf
    df = xp.where(normal, 1, df)
    log = xp.log1p(t * t / df) * ((df + 1) * -0.5) - call(xp, betaln, df * 0.5, 0.5 + df * 0)
    return xp.where(normal, xp.exp(t * t * -0.5) / ROOT_2PI, xp.exp(log) / xp.sqrt(df))


@elementwise(t=lambda xp, g, df, t: g * t_density(xp, df, t))
def stdtr_(xp: Namespace, df: Array, t: Array) -> Array:
    """`stdtr`."""
    df = df + 0 * xp.sign(t)
    normal = df == math.inf
    df = xp.where(normal, 1, df)
    square = t * t
    half = 0.5 + df * 0
    tail = xp.special.betainc(df * 0.5, half, df / (square + df)) * 0.5
    near = square < df
    middle = xp.special.betainc(half, df * 0.5, xp.where(near, square, 0) / (square + df)) * 0.5
    far = xp.where(t < 0, tail, 1 - tail)
    y = xp.where(near, xp.sign(t) * middle + 0.5, far)
    return narrow(xp, xp.where(normal, xp.special.ndtr(t), y), t)


def stdtr(df: Any, t: Any, /) -> Variable:
    """The share of Student's t distribution with df degrees of freedom below t."""
    return stdtr_(*pair(refuse("stdtr", "df", df), t))


# Inverses: the derivative is one over the density where they arrive.


@elementwise(p=lambda xp, g, a, y: g / gamma_density(xp, a, y))
def gammaincinv_(xp: Namespace, a: Array, p: Array) -> Array:
    """`gammaincinv`."""
    return xp.special.gammaincinv(a, p)


@elementwise(p=lambda xp, g, a, y: -g / gamma_density(xp, a, y))
def gammainccinv_(xp: Namespace, a: Array, p: Array) -> Array:
    """`gammainccinv`."""
    return xp.special.gammainccinv(a, p)


@elementwise(p=lambda xp, g, a, b, y: g / beta_density(xp, a, b, y))
def betaincinv_(xp: Namespace, a: Array, b: Array, p: Array) -> Array:
    """`betaincinv`."""
    return xp.special.betaincinv(a, b, p)


@elementwise(p=lambda xp, g, df, y: g / t_density(xp, df, y))
def stdtrit_(xp: Namespace, df: Array, p: Array) -> Array:
    """`stdtrit`."""
    return xp.special.stdtrit(df, p)


def gammaincinv(a: Any, y: Any, /) -> Variable:
    """The x with gammainc(a, x) = y; differentiable in y."""
    return gammaincinv_(refuse("gammaincinv", "a", a), y)


def gammainccinv(a: Any, y: Any, /) -> Variable:
    """The x with gammaincc(a, x) = y; differentiable in y."""
    return gammainccinv_(refuse("gammainccinv", "a", a), y)


def betaincinv(a: Any, b: Any, y: Any, /) -> Variable:
    """The x with betainc(a, b, x) = y; differentiable in y."""
    return betaincinv_(refuse("betaincinv", "a", a), refuse("betaincinv", "b", b), y)


def stdtrit(df: Any, p: Any, /) -> Variable:
    """The t with stdtr(df, t) = p; differentiable in p.  CuPy has none."""
    return stdtrit_(refuse("stdtrit", "df", df), p)


# Others, in terms of these -----------------------------------------------------------------------


def betaincc(a: Any, b: Any, x: Any, /) -> Variable:
    """1 - betainc(a, b, x), accurate where it is tiny."""
    return betainc_(refuse("betaincc", "b", b), refuse("betaincc", "a", a), 1 - x)


def chdtr(v: Any, x: Any, /) -> Variable:
    """The share of the chi-squared distribution with v degrees of freedom below x."""
    return gammainc_(refuse("chdtr", "v", v) / 2, x / 2)


def chdtrc(v: Any, x: Any, /) -> Variable:
    """1 - chdtr(v, x)."""
    return gammaincc_(refuse("chdtrc", "v", v) / 2, x / 2)


def chdtri(v: Any, p: Any, /) -> Variable:
    """The x with chdtrc(v, x) = p."""
    return 2 * gammainccinv_(refuse("chdtri", "v", v) / 2, p)


def fdtr(dfn: Any, dfd: Any, x: Any, /) -> Variable:
    """The share of the F distribution with dfn and dfd degrees of freedom below x."""
    dfn, dfd = refuse("fdtr", "dfn", dfn), refuse("fdtr", "dfd", dfd)
    return betainc_(dfn / 2, dfd / 2, dfn * x / (dfd + dfn * x))


def fdtrc(dfn: Any, dfd: Any, x: Any, /) -> Variable:
    """1 - fdtr(dfn, dfd, x)."""
    dfn, dfd = refuse("fdtrc", "dfn", dfn), refuse("fdtrc", "dfd", dfd)
    return betainc_(dfd / 2, dfn / 2, dfd / (dfd + dfn * x))


def gdtr(a: Any, b: Any, x: Any, /) -> Variable:
    """The share of the gamma distribution of shape b and rate a below x; not for b alone."""
    return gammainc_(refuse("gdtr", "b", b), a * x)


def gdtrc(a: Any, b: Any, x: Any, /) -> Variable:
    """1 - gdtr(a, b, x)."""
    return gammaincc_(refuse("gdtrc", "b", b), a * x)


def pdtr(k: Any, m: Any, /) -> Variable:
    """The share of the Poisson distribution of mean m up to k."""
    return gammaincc_(_whole("pdtr", "k", k) + 1, m)


def pdtrc(k: Any, m: Any, /) -> Variable:
    """1 - pdtr(k, m)."""
    return gammainc_(_whole("pdtrc", "k", k) + 1, m)


def bdtr(k: Any, n: Any, p: Any, /) -> Variable:
    """The share of the binomial distribution of n trials and probability p up to k < n."""
    k = _whole("bdtr", "k", k)
    return betainc_(_whole("bdtr", "n", n) - k, k + 1, 1 - p)


def bdtrc(k: Any, n: Any, p: Any, /) -> Variable:
    """1 - bdtr(k, n, p)."""
    k = _whole("bdtrc", "k", k)
    return betainc_(k + 1, _whole("bdtrc", "n", n) - k, p)


def nbdtr(k: Any, n: Any, p: Any, /) -> Variable:
    """The probability of at most k failures before n successes of probability p."""
    return betainc_(_whole("nbdtr", "n", n), _whole("nbdtr", "k", k) + 1, p)


def nbdtrc(k: Any, n: Any, p: Any, /) -> Variable:
    """1 - nbdtr(k, n, p)."""
    return betainc_(_whole("nbdtrc", "k", k) + 1, _whole("nbdtrc", "n", n), 1 - p)


def _whole(op: str, name: str, k: Any) -> Any:
    k = refuse(op, name, k)
    return math.floor(k) + 0.0 if isinstance(k, (int, float)) else floor(k)


@elementwise(
    h=lambda xp, g, h, a: g * (xp.exp(h * h * -0.5) * xp.erf(a * h * ROOT_HALF) / (-2 * ROOT_2PI)),
    a=lambda xp, g, h, a: g * (xp.exp(h * h * (1 + a * a) * -0.5) / ((1 + a * a) * (2 * math.pi))),
)
def owens_t(xp: Namespace, h: Array, a: Array) -> Array:
    """The probability of X > h and 0 < Y < a X for independent standard normal X and Y.  CuPy has
    none."""
    return xp.special.owens_t(h, a)


@elementwise(p=lambda xp, g, p, y: g * (ROOT_2PI * xp.exp(p + y * y * 0.5)))
def ndtri_exp(xp: Namespace, p: Array) -> Array:
    """ndtri(exp(p)), without underflow.  CuPy has none."""
    return xp.special.ndtri_exp(p)
