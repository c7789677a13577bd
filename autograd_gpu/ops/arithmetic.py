"""NumPy's elementwise functions beyond the array API's."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import beside, namespace_of, variable
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.comparisons import isinf, isnan
from autograd_gpu.ops.elementwise import abs_, copysign, nextafter, trunc
from autograd_gpu.ops.exponentials import logaddexp
from autograd_gpu.ops.nested import narrow
from autograd_gpu.ops.powers import power
from autograd_gpu.ops.selection import maximum, minimum, where
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable


@elementwise(
    a=lambda g: g,
    b=lambda xp, g, a, b: -g * xp.trunc(a / b),
)
def fmod(xp: Namespace, a: Array, b: Array) -> Array:
    """What is left of a / b rounded towards 0, with the sign of a.

    >>> fmod(Variable([-5.0]), 3.0).tolist()
    [-2.0]
    """
    return xp.fmod(a, b)


@elementwise(
    a=lambda xp, g: xp.zeros_like(g),
    b=lambda g, a: g * (a == 0),
)
def heaviside(xp: Namespace, a: Array, b: Array) -> Array:
    """0 where a < 0, 1 where a > 0 and b where a is 0; the gradient for a is 0."""
    return xp.heaviside(a, b)


def pair(a: Any, b: Any) -> tuple[Variable, Variable]:
    """Both as Variables, a number in the dtype of the other."""
    if not hasattr(a, "dtype") and hasattr(b, "dtype"):
        b = variable(b)
        return beside(b, a), b
    a = variable(a)
    return a, beside(a, b)


def fmax(a: Any, b: Any, /) -> Variable:
    """The larger of a and b; beside a NaN the other one."""
    a, b = pair(a, b)
    return where(isnan(a), b, where(isnan(b), a, maximum(a, b)))


def fmin(a: Any, b: Any, /) -> Variable:
    """The smaller of a and b; beside a NaN the other one."""
    a, b = pair(a, b)
    return where(isnan(a), b, where(isnan(b), a, minimum(a, b)))


def float_power(a: Any, b: Any, /) -> Variable:
    """a to the power b in float64, or in complex128."""
    a, b = pair(a, b)
    kind = "complex128" if "c" in (a.dtype.kind, b.dtype.kind) else "float64"
    return power(astype(a, kind), astype(b, kind))


def logaddexp2(a: Any, b: Any, /) -> Variable:
    """log2(2 ** a + 2 ** b) without overflow."""
    a, b = pair(a, b)
    dtype = namespace_of(a).result_type(a.dtype, b.dtype)
    if dtype.kind == "f":  # a number would make float64 of integers
        a, b = [x if x.dtype == dtype else astype(x, dtype) for x in (a, b)]
    ln2 = math.log(2)
    return logaddexp(a * ln2, b * ln2) / ln2


def modf(x: Any, /) -> tuple[Variable, Variable]:
    """The fraction and the whole part of x, both with its sign; that of an infinity is 0."""
    x = floating(x)
    whole = trunc(x)
    infinite = isinf(x)
    return where(infinite, 0, x - where(infinite, 0, whole)), whole


def floating(x: Any) -> Variable:
    """`x` as a Variable, integers and bools in float64."""
    x = variable(x)
    return x if x.dtype.kind in "fcV" else astype(x, "float64")


@elementwise(x=lambda xp, g, i: xp.ldexp(g, i))
def ldexp_(xp: Namespace, x: Array, i: Array) -> Array:
    """`ldexp` with an array of exponents."""
    return narrow(xp, xp.ldexp(x, i), x)


def ldexp(x: Any, i: Any, /) -> Variable:
    """x * 2 ** i for integers i, exactly.

    >>> ldexp(Variable([0.75]), 3).tolist()
    [6.0]
    """
    # As an array a number stays an integer beside x.
    return ldexp_(x, i if hasattr(i, "dtype") else namespace_of(variable(x)).asarray(i))


@primitive()
def binary_exponent(xp: Namespace, x: Array) -> Array:
    """The exponents of `frexp`, integers."""
    return xp.frexp(x)[1]


def frexp(x: Any, /) -> tuple[Variable, Variable]:
    """The mantissa m, 0.5 <= |m| < 1, and the exponent e with x = m * 2 ** e.

    The gradient goes through the mantissa, the exponent being constant almost everywhere.

    >>> [part.tolist() for part in frexp(Variable([6.0]))]
    [[0.75], [3]]
    """
    e = binary_exponent(x)
    return ldexp(x, -e), e


def spacing(x: Any, /) -> Variable:
    """The distance from x to the next larger number in size, with its sign; no gradient."""
    x = variable(x).detach()
    size = abs_(x)
    return copysign(nextafter(size, math.inf) - size, x)


@primitive()
def gcd(xp: Namespace, a: Array, b: Array) -> Array:
    """The greatest common divisor of integers."""
    return xp.gcd(a, b)


@primitive()
def lcm(xp: Namespace, a: Array, b: Array) -> Array:
    """The least common multiple of integers."""
    return xp.lcm(a, b)


def real_if_close(x: Any, /, tol: float = 100) -> Variable:
    """The real part of complex x if all imaginary parts are tiny; that is read on the host."""
    x = variable(x)
    if x.dtype.kind != "c":
        return variable(x)
    limit = tol * float(namespace_of(x).finfo(x.dtype).eps) if tol > 1 else tol
    return variable(x.real if bool((abs(x.detach().imag) <= limit).all()) else x)
