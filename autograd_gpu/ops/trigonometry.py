"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.elementwise import multiply
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.cos(x)))
def sin(xp: Namespace, x: Array) -> Array:
    """Sine.

    >>> x = Variable(0.0, requires_grad=True)
    >>> sin(x).backward()
    >>> x.grad
    array(1., dtype=float32)
    """
    return xp.sin(x)


@elementwise(x=lambda xp, g, x: g * -xp.conj(xp.sin(x)))
def cos(xp: Namespace, x: Array) -> Array:
    """Cosine."""
    return xp.cos(x)


@elementwise(x=lambda xp, g, y: g * (1 + xp.conj(y * y)))
def tan(xp: Namespace, x: Array) -> Array:
    """Tangent."""
    return xp.tan(x)


@elementwise(x=lambda xp, g, x: g / xp.conj(xp.sqrt(1 - x * x)))
def asin(xp: Namespace, x: Array) -> Array:
    """Inverse sine."""
    return xp.asin(x)


@elementwise(x=lambda xp, g, x: -g / xp.conj(xp.sqrt(1 - x * x)))
def acos(xp: Namespace, x: Array) -> Array:
    """Inverse cosine."""
    return xp.acos(x)


@elementwise(x=lambda xp, g, x: g / (1 + xp.conj(x * x)))
def atan(xp: Namespace, x: Array) -> Array:
    """Inverse tangent."""
    return xp.atan(x)


def _per_square(xp: Namespace, x: Any, a: Any, b: Any) -> Any:
    """x / (a * a + b * b) without overflow, for x that is a or b; 0 at (0, 0) and at infinity."""
    r = xp.hypot(a, b)
    none = (r == 0) | (r == math.inf)
    r = xp.where(none, 1, r)
    return xp.where(none, 0, x) / r / r


@elementwise(
    a=lambda xp, g, a, b: g * _per_square(xp, b, a, b),
    b=lambda xp, g, a, b: -g * _per_square(xp, a, a, b),
)
def atan2(xp: Namespace, a: Array, b: Array) -> Array:
    """The angle of the point (b, a), in (-π, π]; both gradients are 0 at (0, 0)."""
    return xp.atan2(a, b)


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.cosh(x)))
def sinh(xp: Namespace, x: Array) -> Array:
    """Hyperbolic sine."""
    return xp.sinh(x)


@elementwise(x=lambda xp, g, x: g * xp.conj(xp.sinh(x)))
def cosh(xp: Namespace, x: Array) -> Array:
    """Hyperbolic cosine."""
    return xp.cosh(x)


@primitive(
    a=lambda xp, g, b: g - g * (b * b),
    b=lambda xp, g, a, b: xp.conj(g * b) * (-2 * a),
    tangent={"a": "elementwise", "b": lambda xp, t, a, b: xp.conj(t * b) * (-2 * a)},
)
def tanh_slope(xp: Namespace, a: Array, b: Array) -> Array:
    """a times the conjugate of 1 - b * b: the derivative of tanh, as one op."""
    return a - a * xp.conj(b * b)


# g (1 - y y), without the number, which costs small arrays as much as another product; under
# create_graph one op, since networks of tanh are what second derivatives are mostly taken of
@elementwise(
    x=lambda xp, g, y: tanh_slope(g, y) if g.__class__ is Variable else g - g * xp.conj(y * y)
)
def tanh(xp: Namespace, x: Array) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(x)


def _asinh(xp: Namespace, g: Any, x: Any) -> Any:
    # hypot does not overflow, but knows real numbers only
    return g / (xp.conj(xp.sqrt(1 + x * x)) if x.dtype.kind == "c" else xp.hypot(x, 1))


@elementwise(x=_asinh)
def asinh(xp: Namespace, x: Array) -> Array:
    """Inverse hyperbolic sine."""
    return xp.asinh(x)


# For complex x the product of two roots is on the right branch; the root of the product is not.
@elementwise(x=lambda xp, g, x: g / xp.conj(xp.sqrt(x - 1) * xp.sqrt(x + 1)))
def acosh(xp: Namespace, x: Array) -> Array:
    """Inverse hyperbolic cosine."""
    return xp.acosh(x)


@elementwise(x=lambda xp, g, x: g / (1 - xp.conj(x * x)))
def atanh(xp: Namespace, x: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return xp.atanh(x)


def deg2rad(x: Any, /) -> Variable:
    """Degrees to radians."""
    return multiply(x, math.pi / 180)


def rad2deg(x: Any, /) -> Variable:
    """Radians to degrees."""
    return multiply(x, 180 / math.pi)
