"""Norms, conditions and ranks."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.elementwise import abs_, divide, multiply
from autograd_gpu.ops.linalg.common import check_matrices, raw, variable
from autograd_gpu.ops.linalg.equal_values import inverse
from autograd_gpu.ops.linalg.polar import nuclear_norm
from autograd_gpu.ops.linalg.singular_values import svdvals
from autograd_gpu.ops.linalg.solving import inv
from autograd_gpu.ops.nested import narrow
from autograd_gpu.ops.padding import pad
from autograd_gpu.ops.reductions import Axis, kept, max_, min_, sum_
from autograd_gpu.ops.shape import expand_dims, moveaxis, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

Order = float | str | None


def _vector_norm(
    xp: Namespace, g: Any, x: Any, y: Any, axis: Axis, keepdims: bool, ord: float
) -> Any:
    if ord == 0:
        return xp.zeros_like(x)
    if not keepdims:
        g, y = xp.reshape(g, kept(x.shape, axis)), xp.reshape(y, kept(x.shape, axis))
    null = raw(y) == 0
    scale = inverse(xp, y, null)
    direction = x * scale
    if ord == 2:
        return g * direction
    size = xp.abs(direction)
    zero = raw(size) == 0
    return g * direction * xp.where(zero, 0, xp.where(zero, 1, size) ** (ord - 2))


@primitive(x=_vector_norm, tangent="reduction")
def vector_norm_(
    xp: Namespace, x: Array, *, axis: Axis = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """`vector_norm` for orders that are neither infinite nor 1."""
    return narrow(xp, xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord), x)


def _or_zero(sizes: Any, axis: Axis) -> Any:
    """`sizes`, none of them negative, with a 0 for a maximum over nothing."""
    axes = range(sizes.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    empty = {a % sizes.ndim for a in axes if not sizes.shape[a]}
    return pad(sizes, [(0, int(a in empty)) for a in range(sizes.ndim)]) if empty else sizes


def vector_norm(x: Any, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Variable:
    """The norm of the elements along `axis`, or of all: (Σ |x|^ord)^(1/ord).

    `ord` inf and -inf are the largest and least |x|, between which ties share the gradient, and 0
    counts what is not 0.  The gradient at a zero vector is 0, and so is that at a zero element.

    >>> x = Variable([3.0, 4.0], requires_grad=True)
    >>> vector_norm(x).backward()
    >>> x.grad
    array([0.6, 0.8], dtype=float32)
    """
    if ord == math.inf:
        return max_(_or_zero(abs_(x), axis), axis, keepdims)
    if ord == -math.inf:
        return min_(abs_(x), axis, keepdims)
    if ord == 1:
        return sum_(abs_(x), axis, None, keepdims)
    return vector_norm_(x, axis, keepdims, ord)


def matrix_norm(x: Any, keepdims: bool = False, ord: Order = "fro") -> Variable:
    """The norms [...] of matrices [..., M, N].

    `ord` is 'fro' (of all elements), 'nuc' (the sum of singular values), 2 or -2 (the largest or
    least of them), 1 or -1 (the largest or least sum of a column's absolute values), inf or -inf
    (that of a row).  The gradient at zero matrices is 0, and ties share it.

    >>> matrix_norm(Variable([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    x = variable(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_norm: matrices are needed, got {x.dtype}{list(x.shape)}")
    if ord in ("fro", None):
        return vector_norm_(x, (-2, -1), keepdims, 2)
    if ord == "nuc":
        y = nuclear_norm(x)
    elif ord in (2, -2):
        s = svdvals(x)
        y = max_(_or_zero(s, -1), -1) if ord == 2 else min_(s, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = sum_(abs_(x), -2 if abs(float(ord)) == 1 else -1)
        y = max_(_or_zero(sums, -1), -1) if float(ord) > 0 else min_(sums, -1)
    else:
        raise ValueError(f"matrix_norm: ord={ord!r} is no order for matrices")
    return expand_dims(y, (-2, -1)) if keepdims else y


def norm(x: Any, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Variable:
    """NumPy's norm: of vectors along an `axis`, or of matrices in the two that it names.

    Without `axis`, 1-D and 2-D arrays are one vector or matrix; without `ord` too, any array is one
    vector.  See `vector_norm` and `matrix_norm` for orders and gradients.
    """
    x = variable(x)
    if axis is None:
        if ord is None or (x.ndim == 2 and ord in ("fro", "f")):
            return vector_norm_(x, None, keepdims, 2)
        if x.ndim > 2 or not x.ndim:
            raise ValueError(f"norm: ord={ord!r} without an axis is for 1-D and 2-D arrays")
        axis = tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm: ord={ord!r} is no order for vectors")
        return vector_norm(x, axes[0], keepdims, 2 if ord is None else ord)
    if len(axes) != 2 or axes[0] % x.ndim == axes[1] % x.ndim:
        raise ValueError(f"norm: axis={axis} names neither one axis nor two")
    if ord is None:
        return vector_norm_(x, axes, keepdims, 2)
    y = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return reshape(y, kept(x.shape, axes)) if keepdims else y


def cond(x: Any, p: Order = None) -> Variable:
    """The condition numbers [...] of matrices: `norm(x) * norm(inv(x))`, in the norm `p`, by
    default 2."""
    x = variable(x)
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = s[..., 0], s[..., -1]
        return divide(last, first) if p == -2 else divide(first, last)
    return multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))


@primitive()
def matrix_rank(xp: Namespace, x: Array, *, rtol: Any = None) -> Array:
    """How many singular values of matrices [..., M, N] are greater than `rtol` times the largest;
    `rtol` is max(M, N) eps by default.  Not differentiable."""
    check_matrices(xp, "matrix_rank", x)
    if not x.size:
        return xp.zeros(x.shape[:-2], dtype="int64")
    return xp.linalg.matrix_rank(x, rtol=rtol)
