"""Powers and roots."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.nested import narrow
from autograd_gpu.primitive import PRIMITIVES, elementwise
from autograd_gpu.variable import Variable

NUMBERS = (int, float)


def _raised(xp: Namespace, x: Any, exponent: float) -> Any:
    """x ** exponent, without the slow pow where a few products or a root do.

    Recorded it is a power, since x * sqrt(x) has no derivative at 0.
    """
    if not isinstance(x, Variable) and x.dtype.kind in "fc":
        if exponent == 2:
            return xp.square(x)
        if exponent == 1:
            return x
        if exponent == 3:
            return x * x * x
        if exponent == 4:
            return xp.square(xp.square(x))
        if exponent == 0.5:
            return xp.sqrt(x)
        if exponent == 1.5:
            return x * xp.sqrt(x)
        if exponent == -1:
            return xp.reciprocal(x)
        if exponent == -2:
            return xp.reciprocal(xp.square(x))
        if exponent == -0.5:
            return xp.reciprocal(xp.sqrt(x))
    return xp.power(x, exponent)


def _raised_derivative(xp: Namespace, g: Any, x: Any, exponent: float) -> Any:
    if exponent == 2:
        if isinstance(g, Variable) or isinstance(x, Variable):
            return (2 * g) * xp.conj(x)  # 2 g is not recorded where g is given
        return g * xp.conj(x + x)  # g is often one number, stretched
    if exponent == 0:
        return xp.zeros_like(g)
    return g * (exponent * xp.conj(_raised(xp, x, exponent - 1)))


@elementwise(x=_raised_derivative)
def power_number(xp: Namespace, x: Array, *, exponent: float) -> Array:
    """x ** exponent for an exponent that is a Python number."""
    y = narrow(xp, _raised(xp, x, exponent), x)
    return xp.positive(x) if y is x else y


# a = b = 0 is taken out of the base and a = 0 out of the logarithm, rather than out of the results,
# so that the derivatives of these are finite too.
def _power_a(xp: Namespace, g: Any, a: Any, b: Any) -> Any:
    base = xp.where((a == 0) & (b == 0), 1, a)
    return g * xp.conj(b * xp.power(base, b - 1))


def _power_b(xp: Namespace, g: Any, a: Any, y: Any) -> Any:
    base = xp.where(a == 0, 1, a)
    if y.dtype.kind == "c":  # of a negative number too
        base = xp.astype(base, y.dtype)
    return g * xp.conj(y * xp.log(base))


@elementwise(a=_power_a, b=_power_b)
def power_(xp: Namespace, a: Array, b: Array) -> Array:
    """a ** b for two arrays, or a number and an array."""
    return xp.power(a, b)


def power(a: Any, b: Any, /) -> Variable:
    """a ** b, broadcasting.

    The derivatives are true at 0 as well: those of x ** 0 and of 0 ** x for x >= 0 are 0.  Where a
    is negative, that for b is NaN.

    >>> x = Variable([0.0, 3.0], requires_grad=True)
    >>> (x**2).backward(Variable([1.0, 1.0]))
    >>> x.grad
    array([0., 6.], dtype=float32)
    """
    if b.__class__ in NUMBERS:
        return power_number(a, b)
    return power_(a, b)


_operator = PRIMITIVES["power"].operator
_number_operator = PRIMITIVES["power_number"].operator


def power_operator(a: Any, b: Any, /) -> Any:
    """`power` as an operator: NotImplemented for operands of foreign types."""
    if b.__class__ in NUMBERS:
        return _number_operator(a, b)
    return _operator(a, b)


@elementwise(x=lambda xp, g, x: (2 * g) * xp.conj(x))
def square(xp: Namespace, x: Array) -> Array:
    """x * x."""
    return xp.square(x)


@elementwise(x=lambda xp, g, y: g * (0.5 / xp.conj(y)))
def sqrt(xp: Namespace, x: Array) -> Array:
    """Square root; the gradient at 0 is infinite."""
    return xp.sqrt(x)


@elementwise(x=lambda xp, g, y: g / (3 * xp.square(y)))
def cbrt(xp: Namespace, x: Array) -> Array:
    """Cube root of real x; the gradient at 0 is infinite."""
    return xp.cbrt(x)


@elementwise(x=lambda xp, g, y: g * xp.conj(y * -y))
def reciprocal(xp: Namespace, x: Array) -> Array:
    """1 / x."""
    return xp.reciprocal(x)


def _hypot(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    infinite = y == math.inf
    ratio = xp.where(infinite, 0, x) / xp.where(infinite | (y == 0), 1, y)
    return g * xp.where(infinite & (xp.abs(x) == math.inf), xp.sign(x), ratio)


@elementwise(
    a=lambda xp, g, a, y: _hypot(xp, g, a, y),
    b=lambda xp, g, b, y: _hypot(xp, g, b, y),
)
def hypot(xp: Namespace, a: Array, b: Array) -> Array:
    """sqrt(a * a + b * b) without overflow; both gradients are 0 at (0, 0)."""
    return xp.hypot(a, b)
