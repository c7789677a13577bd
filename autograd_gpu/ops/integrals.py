"""Integrals of elementary functions: exponential, sine and Fresnel integrals, the dilogarithm."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.gammas import whole
from autograd_gpu.ops.nested import call, narrow
from autograd_gpu.ops.special import SLOPE, far_limit, far_series, sinc
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable

TERMS = 24
NEAR = 1.5


def _expn(xp: Namespace, g: Any, x: Any, y: Any, n: int) -> Any:
    return g * xp.conj(-(call(xp, expn_, x, n=n - 1) if n else y + y / x))


@elementwise(x=_expn)
def expn_(xp: Namespace, x: Array, *, n: int) -> Array:
    """`expn`."""
    if n == 0:
        return xp.exp(-x) / x
    y = xp.special.expn(n, x)
    # SciPy makes float64 of float32 beside a whole number.
    return xp.astype(y, x.dtype) if x.dtype.kind == "f" else y


def expn(n: int, x: Any, /) -> Variable:
    """The integral of exp(-x t) / t ** n from t = 1 on, for n from 0 on and x > 0.

    >>> ag.special.expn(2, Variable([1.0]))
    Variable(array([0.14849551], dtype=float32))
    """
    return expn_(x, whole("expn", "n", n))


@elementwise(x=lambda xp, g, x, order: g * xp.conj(call(xp, exp_moment, x, order=order + 1)))
def exp_moment(xp: Namespace, x: Array, *, order: int) -> Array:
    """The integral of t ** order * exp(x t) from 0 to 1: the derivatives of `exprel`.

    By its series near 0, by partial integration elsewhere.
    """
    near = xp.abs(x) < NEAR + order
    v = xp.where(near, x, 0)
    series = xp.zeros_like(v)
    for k in range(TERMS + 2 * order, -1, -1):
        series = series * v + 1 / (math.factorial(k) * (k + order + 1))
    w = xp.where(near, 1, x)
    e = xp.exp(w)
    far = xp.expm1(w) / w
    for k in range(1, order + 1):
        far = (e - k * far) / w
    return narrow(xp, xp.where(near, series, far), x)


def exprel(x: Any, /) -> Variable:
    """(exp(x) - 1) / x, and 1 at 0.

    >>> ag.special.exprel(Variable([0.0])).tolist()
    [1.0]
    """
    return exp_moment(x, 0)


@elementwise(x=lambda xp, g, x: g * xp.conj(call(xp, sinc, x / math.pi)))
def sine_integral(xp: Namespace, x: Array) -> Array:
    """The integral of sin(t) / t from 0 to x."""
    return xp.special.sici(x)[0]


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.cos(x) / x))
def cosine_integral(xp: Namespace, x: Array) -> Array:
    """Euler's constant, log(x), and the integral of (cos(t) - 1) / t from 0 to x."""
    return xp.special.sici(x)[1]


def sici(x: Any, /) -> tuple[Variable, Variable]:
    """The sine integral of real x, and the cosine integral of x > 0."""
    return sine_integral(x), cosine_integral(x)


def _sinhc(xp: Namespace, x: Any) -> Any:
    """sinh(x) / x."""
    return (call(xp, exp_moment, x, order=0) + call(xp, exp_moment, -x, order=0)) * 0.5


@elementwise(x=lambda xp, g, x: g * xp.conj(_sinhc(xp, x)))
def sinh_integral(xp: Namespace, x: Array) -> Array:
    """The integral of sinh(t) / t from 0 to x."""
    return xp.special.shichi(x)[0]


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.cosh(x) / x))
def cosh_integral(xp: Namespace, x: Array) -> Array:
    """Euler's constant, log(x), and the integral of (cosh(t) - 1) / t from 0 to x."""
    return xp.special.shichi(x)[1]


def shichi(x: Any, /) -> tuple[Variable, Variable]:
    """The hyperbolic sine integral of real x, and the hyperbolic cosine integral of x > 0."""
    return sinh_integral(x), cosh_integral(x)


def log_ratio(xp: Namespace, u: Any) -> Any:
    """log(1 + u) / u, and 1 at 0; smooth there to every order."""
    near = xp.abs(u) < 0.1
    v = xp.where(near, u, 0)
    series: Any = 0
    for k in range(TERMS, 0, -1):
        series = 1 / k - v * series
    w = xp.where(near, 1, u)
    return xp.where(near, series, xp.log1p(w) / w)


@elementwise(x=lambda xp, g, x: g * xp.conj(-log_ratio(xp, x - 1)))
def spence(xp: Namespace, x: Array) -> Array:
    """The dilogarithm as SciPy has it: the integral of log(t) / (1 - t) from 1 to x, x >= 0."""
    return xp.special.spence(x)


def _fresnel(xp: Namespace, g: Any, x: Any) -> Any:
    phase = x * x * (0.5 * math.pi)
    return g[0] * xp.conj(xp.sin(phase)) + g[1] * xp.conj(xp.cos(phase))


@primitive(x=_fresnel, outputs=True)
def fresnel(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """The integrals of sin(π t² / 2) and cos(π t² / 2) from 0 to real x."""
    return tuple(xp.special.fresnel(x))


def _dawsn(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    far = xp.abs(x) > far_limit(x)
    if x.dtype.kind == "c":  # the series is for the neighbourhood of the real axis
        far = far & (xp.abs(xp.imag(x)) < 1)
    near = 1 - 2 * xp.where(far, 0, x) * y
    return g * xp.conj(xp.where(far, far_series(xp, x, far, 1) * -0.5, near))


@elementwise(x=_dawsn)
def dawsn(xp: Namespace, x: Array) -> Array:
    """Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to real x."""
    return xp.special.dawsn(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(SLOPE * xp.exp(x * x)))
def erfi(xp: Namespace, x: Array) -> Array:
    """-1j * erf(1j * x) for real x."""
    return xp.special.erfi(x)
