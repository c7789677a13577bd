"""Arithmetic, elementwise and broadcasting."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.comparisons import equal
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable


def _no_gradient(xp: Namespace, g: Any) -> Any:
    return xp.zeros_like(g)


@elementwise(a=lambda g: g, b=lambda g: g)
def add(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise sum, broadcasting.

    >>> add(Variable([1.0, 2.0]), 1.0)
    Variable(array([2., 3.], dtype=float32))
    """
    return xp.add(a, b)


@elementwise(a=lambda g: g, b=lambda g: -g)
def subtract(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise difference, broadcasting."""
    return xp.subtract(a, b)


@elementwise(
    a=lambda xp, g, b: g * xp.conj(b),
    b=lambda xp, g, a: g * xp.conj(a),
)
def multiply(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise product, broadcasting."""
    return xp.multiply(a, b)


@elementwise(
    a=lambda xp, g, b: g / xp.conj(b),
    b=lambda xp, g, y, b: g * xp.conj(y / -b),
)
def divide(xp: Namespace, a: Array, b: Array) -> Array:
    """Elementwise quotient, broadcasting.

    >>> divide(Variable([1.0, 2.0]), 4.0)
    Variable(array([0.25, 0.5 ], dtype=float32))
    """
    return xp.divide(a, b)


@elementwise(
    a=lambda g: g,
    b=lambda xp, g, a, b: -g * xp.floor_divide(a, b),
)
def remainder(xp: Namespace, a: Array, b: Array) -> Array:
    """What is left of a / b rounded down: a - b * floor(a / b), with the sign of b."""
    return xp.remainder(a, b)


@primitive()
def floor_divide(xp: Namespace, a: Array, b: Array) -> Array:
    """a / b rounded down; not differentiable."""
    return xp.floor_divide(a, b)


@elementwise(x=lambda g: -g)
def negative(xp: Namespace, x: Array) -> Array:
    """-x."""
    return xp.negative(x)


@elementwise(x=lambda g: g)
def positive(xp: Namespace, x: Array) -> Array:
    """A copy of x."""
    return xp.positive(x)


def _abs(xp: Namespace, g: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return g * xp.sign(x)
    # NumPy's sign takes four times as long, and products of real and complex numbers are slower
    # than those of complex ones
    modulus = xp.abs(x)
    return xp.astype(g / (modulus + (modulus == 0)), x.dtype) * x


@elementwise(x=_abs)
def abs_(xp: Namespace, x: Array) -> Array:
    """Absolute value, of complex numbers the modulus.  The gradient at 0 is 0."""
    return xp.abs(x)


@elementwise(x=_no_gradient)
def real_sign(xp: Namespace, x: Array) -> Array:
    """-1, 0 or 1 for real x; the gradient is 0."""
    return xp.sign(x)


def sign(x: Any, /) -> Variable:
    """-1, 0 or 1 for real x, with gradient 0; x / |x| for complex x, and 0 at 0.

    >>> sign(Variable([-2.0, 0.0, 3.0]))
    Variable(array([-1.,  0.,  1.], dtype=float32))
    """
    if getattr(getattr(x, "dtype", None), "kind", "f") != "c":
        return real_sign(x)
    modulus = abs_(x)
    return divide(x, add(modulus, equal(modulus, 0)))


@elementwise(x=_no_gradient)
def floor(xp: Namespace, x: Array) -> Array:
    """The largest integer not above x; the gradient is 0."""
    return xp.floor(x)


@elementwise(x=_no_gradient)
def ceil(xp: Namespace, x: Array) -> Array:
    """The smallest integer not below x; the gradient is 0."""
    return xp.ceil(x)


@elementwise(x=_no_gradient)
def trunc(xp: Namespace, x: Array) -> Array:
    """x without its fraction; the gradient is 0."""
    return xp.trunc(x)


@elementwise(x=_no_gradient)
def round_(xp: Namespace, x: Array, *, decimals: int = 0) -> Array:
    """The nearest number with `decimals` decimals, halves to even; the gradient is 0.

    >>> round(Variable([0.5, 1.5, 2.25]))
    Variable(array([0., 2., 2.], dtype=float32))
    """
    return xp.round(x, decimals)


@elementwise(
    a=lambda xp, g, a, y: g * xp.sign(a) * xp.sign(y),
    b=_no_gradient,
)
def copysign(xp: Namespace, a: Array, b: Array) -> Array:
    """|a| with the sign of b.  The gradient for a is 0 at 0, that for b is 0."""
    return xp.copysign(a, b)


@primitive()
def nextafter(xp: Namespace, a: Array, b: Array) -> Array:
    """The next representable number after a towards b; not differentiable."""
    return xp.nextafter(a, b)
