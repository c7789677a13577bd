"""Functions of Hermitian matrices, differentiable to every order also at equal eigenvalues.

The derivative of V f(w) Vᴴ along E multiplies the elements of Vᴴ E V with the divided differences
f[wᵢ, wⱼ] (Daleckii and Krein), and the k-th one has the k-th divided differences.  These have their
limits where eigenvalues coincide, the derivatives of f.  All orders make one family, `spectral`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.engine import gradients
from autograd_gpu.modes import enable_grad
from autograd_gpu.ops.complexes import imag, real
from autograd_gpu.ops.linalg.common import adjoint, check_square, hermitian
from autograd_gpu.ops.linalg.equal_values import rounding
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

Elementwise = Callable[[Any], Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _derivative(xp: Namespace, f: Elementwise, p: Array, order: int) -> Array:
    """The derivative of `f` of that order at the points `p`."""
    with enable_grad():
        point = Variable(p, requires_grad=order > 0)
        y = f(point)
        if getattr(y, "shape", None) != p.shape:
            raise ValueError(f"f has to work element by element; of {p.shape} it made {y!r:.60}")
        if order == 0:
            if getattr(y, "requires_grad", False):
                raise TypeError("f depends on a Variable that requires a gradient, which gets none")
            return y.value if isinstance(y, Variable) else y
        if y.dtype.kind == "c":
            parts = [_nested(xp, part, point, order) for part in (real(y), imag(y))]
            return parts[0] + 1j * parts[1]
        return _nested(xp, y, point, order)


def _nested(xp: Namespace, y: Any, point: Variable, order: int) -> Array:
    for k in range(order):
        if not y.requires_grad:
            return xp.zeros_like(point.value)
        one = xp.ones_like(point.value)
        last = k == order - 1
        y = gradients(y, point, one, create_graph=not last, retain_graph=True, allow_unused=True)
        if y is None:
            return xp.zeros_like(point.value)
    return y.value


def _differences(xp: Namespace, f: Elementwise, points: Sequence[Array], rounding: Array) -> Array:
    """The divided differences of f over points of one shape, ascending from the first to the last.

    Points that are close count as one, their mean.  How close is where this error, and that of a
    quotient of small differences, are about the same.
    """
    k = len(points) - 1
    if k == 0:
        return _derivative(xp, f, points[0], 0)
    first, last = points[0], points[-1]
    limit = float(xp.finfo(first.dtype).eps) ** (1 / (k + 2))
    size = xp.maximum(xp.abs(first), xp.abs(last))
    near = last - first <= xp.maximum(limit * size, rounding)
    mean = xp.where(near, sum(points) / (k + 1), first)
    right = _differences(xp, f, points[1:], rounding)
    left = _differences(xp, f, points[:-1], rounding)
    slope = _derivative(xp, f, mean, k) * (1 / math.factorial(k))
    return xp.where(near, slope, (right - left) / xp.where(near, 1, last - first))


def _spectral(xp: Namespace, g: Any, xs: Any, f: Elementwise, needs: Sequence[bool]) -> list[Any]:
    x, *es = xs
    # In the trace of gᴴ times the result, every factor can come last; what goes before it, in that
    # order, is the adjoint of its gradient.
    ring = [adjoint(xp, g), *es]
    found: list[Any] = [None]
    for i in range(1, len(xs)):
        turned = [*ring[i + 1 :], *ring[:i]]
        found.append(adjoint(xp, _along(xp, x, turned, f)) if needs[i] else None)
    if needs[0]:
        total = 0
        for i in range(len(xs)):
            total = total + _along(xp, x, [*ring[i + 1 :], *ring[: i + 1]], f)
        found[0] = hermitian(xp, total)
    return found


def _along(xp: Namespace, x: Any, es: Sequence[Any], f: Elementwise) -> Any:
    if isinstance(x, Variable) or any(isinstance(e, Variable) for e in es):
        return spectral((x, *es), f)
    return _spectral_value(xp, x, *es, f=f)


def _spectral_value(xp: Namespace, *xs: Array, f: Elementwise) -> Array:
    x, *es = xs
    check_square(xp, "matrix_function", x)
    w, v = xp.linalg.eigh(hermitian(xp, x))
    vh = adjoint(xp, v)
    if not es:
        return xp.matmul(v * _derivative(xp, f, w, 0)[..., None, :], vh)
    axes = len(xs)

    def spread(values: Array, axis: int) -> Array:
        shape = [1] * axes
        shape[axis] = -1
        return xp.reshape(values, (*values.shape[:-1], *shape))

    grid = xp.broadcast_arrays(*[spread(w, axis) for axis in range(axes)])
    points = xp.sort(xp.stack(grid, axis=-1), axis=-1)
    inner = _differences(xp, f, [points[..., i] for i in range(axes)], spread(rounding(xp, w), 0))
    index = LETTERS[:axes]
    pairs = ",".join(f"...{a}{b}" for a, b in pairwise(index))
    turned = [xp.matmul(xp.matmul(vh, e), v) for e in es]
    inner = xp.einsum(f"...{index},{pairs}->...{index[0]}{index[-1]}", inner, *turned)
    return xp.matmul(xp.matmul(v, inner), vh)


@primitive(xs=_spectral)
def spectral(xp: Namespace, *xs: Array, f: Elementwise) -> Array:
    """f of a Hermitian matrix x, the first of `xs`, or the part of its k-th derivative along the
    k matrices after it that has them in this order."""
    return _spectral_value(xp, *xs, f=f)


def matrix_function(x: Any, f: Elementwise) -> Variable:
    """V f(w) Vᴴ for Hermitian matrices [..., N, N] with eigenvalues w and eigenvectors V.

    `f` takes a Variable of real numbers to one of real or complex numbers, each by itself: `exp`,
    `sqrt`, `lambda w: 1 / (1 + w)`.  Of a matrix that is not Hermitian the Hermitian part is taken.

    Derivatives of every order are right, also at equal eigenvalues, where those of what is made of
    `eigh` in general are not.  That of order k takes memory for N^(k+1) numbers.

    Raises TypeError if f depends on a Variable that requires a gradient, which would be lost, and
    ValueError if it changes the shape.

    >>> matrix_function(Variable([[2.0, 0.0], [0.0, 8.0]]), lambda w: 1 / w).tolist()
    [[0.5, 0.0], [0.0, 0.125]]
    """
    return spectral((x,), f)
