"""Parts of matrices and matrices from parts; quarter turns; cross products."""

from __future__ import annotations

from typing import Any

from autograd_gpu.ops.arguments import axis_of, namespace_of, variable, variables
from autograd_gpu.ops.indexing import (
    getitem,
    scatter_add,
)
from autograd_gpu.ops.joining import stack
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.shape import flip, moveaxis, ravel, reshape, swapaxes
from autograd_gpu.variable import Variable


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The elements on a diagonal of the matrices on two axes, along a new last axis.

    >>> diagonal(Variable([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return _diagonal("diagonal", variable(x), offset, axis1, axis2)


def _diagonal(op: str, x: Variable, offset: int, axis1: int, axis2: int) -> Variable:
    if x.ndim < 2:
        raise ValueError(f"{op}: at least two axes are needed, the shape is {x.shape}")
    axis1, axis2 = axis_of(op, axis1, x.ndim), axis_of(op, axis2, x.ndim)
    if axis1 == axis2:
        raise ValueError(f"{op}: axis1 and axis2 are both {axis1}")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    first, second = max(-offset, 0), max(offset, 0)
    n = max(0, min(rows - first, columns - second))
    i = namespace_of(x).arange(n)
    return getitem(x, (..., i + first, i + second))


def trace(
    x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
) -> Variable:
    """The sum of a diagonal."""
    return sum_(_diagonal("trace", variable(x), offset, axis1, axis2), -1, dtype)


def diag(v: Any, /, k: int = 0) -> Variable:
    """Diagonal k of a matrix, or the matrix with a vector on its diagonal k.

    >>> diag(Variable([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    v = variable(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag: a vector or a matrix is needed, the shape is {v.shape}")
    n = v.shape[0] + abs(k)
    i = namespace_of(v).arange(v.shape[0])
    return scatter_add(v, (i + max(-k, 0), i + max(k, 0)), (n, n))


def diagflat(v: Any, /, k: int = 0) -> Variable:
    """The matrix with all elements of `v` on its diagonal k."""
    return diag(ravel(variable(v)), k)


def fliplr(x: Any, /) -> Variable:
    """The order reversed along axis 1."""
    x = variable(x)
    if x.ndim < 2:
        raise ValueError(f"fliplr: at least two axes are needed, the shape is {x.shape}")
    return flip(x, 1)


def flipud(x: Any, /) -> Variable:
    """The order reversed along axis 0."""
    x = variable(x)
    if x.ndim < 1:
        raise ValueError("flipud: a 0-d array has no axis")
    return flip(x, 0)


def rot90(x: Any, /, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Variable:
    """`x` turned by k quarters, from the first of two axes towards the second.

    >>> rot90(Variable([[1.0, 2.0]])).tolist()
    [[2.0], [1.0]]
    """
    x = variable(x)
    first, second = [axis_of("rot90", a, x.ndim) for a in axes]
    if first == second:
        raise ValueError(f"rot90: both axes are {first}")
    k %= 4
    if k == 2:
        return flip(x, (first, second))
    if k == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if k else x


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Variable:
    """The cross product of vectors with 3 elements (or 2, for which the third is 0).

    Of two vectors with 2 elements it is the third element alone.
    """
    a, b = variables(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a = moveaxis(a, axis_of("cross", axisa, a.ndim), -1)
    b = moveaxis(b, axis_of("cross", axisb, b.ndim), -1)
    n, m = a.shape[-1], b.shape[-1]
    if n not in (2, 3) or m not in (2, 3):
        raise ValueError(f"cross: vectors have 2 or 3 elements, not {n} and {m}")
    a0, a1, b0, b1 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    third = a0 * b1 - a1 * b0
    if n == m == 2:
        return variable(third)
    zero = 0 * third
    a2 = a[..., 2] if n == 3 else zero
    b2 = b[..., 2] if m == 3 else zero
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, third]
    return moveaxis(stack(parts, axis=-1), -1, axisc)


def vdot(a: Any, b: Any, /) -> Variable:
    """The sum of `conj(a) * b` over all elements, both taken flat."""
    a, b = variables(a, b)
    if a.size != b.size:
        raise ValueError(f"vdot: {a.size} and {b.size} elements")
    a = a.conj() if a.dtype.kind == "c" else a
    return sum_(reshape(a, (-1,)) * reshape(b, (-1,)))
