"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.callers import named
from autograd_gpu.ops.arguments import axes_of, variables
from autograd_gpu.ops.elementwise import multiply
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.shape import moveaxis, permute_dims, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@kernel
def times_adjoint(xp: Namespace, g: Any, b: Any) -> Any:
    """`g` times the conjugate transposes of `b`."""
    return xp.matmul(g, xp.conj(b).swapaxes(-1, -2))


@kernel
def adjoint_times(xp: Namespace, a: Any, g: Any) -> Any:
    """The conjugate transposes of `a` times `g`."""
    return xp.matmul(xp.conj(a).swapaxes(-1, -2), g)


def _matmul_a(xp: Namespace, g: Any, a_shape: tuple[int, ...], b: Any) -> Any:
    if b.dtype.kind == "c":
        if b.ndim > 1 and len(a_shape) > 1 and (len(a_shape) > 2 or b.ndim == 2):
            return times_adjoint(xp, g, b)
        b = xp.conj(b)
    if b.ndim == 1:  # [..., M, K] @ [K]
        return g[..., None] * b
    if len(a_shape) == 1:  # [K] @ [..., K, N]
        return xp.matmul(b, g) if g.ndim == 1 else xp.matmul(b, g[..., None])[..., 0]
    if len(a_shape) == 2 and b.ndim > 2:  # [M, K] @ [..., K, N]
        m, k = a_shape
        columns = xp.matmul(g, b.swapaxes(-1, -2))  # [..., M, K]
        return xp.sum(columns.reshape((prod(columns.shape[:-2]), m, k)), axis=0)
    return xp.matmul(g, b.T if b.ndim == 2 else b.swapaxes(-1, -2))


def _matmul_b(xp: Namespace, g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if a.dtype.kind == "c":
        if a.ndim > 1 and len(b_shape) > 1:
            if len(b_shape) > 2 or a.ndim == 2:
                return adjoint_times(xp, a, g)
            (k, n), m = b_shape, prod(a.shape[:-1])
            return adjoint_times(xp, a.reshape((m, k)), g.reshape((m, n)))
        a = xp.conj(a)
    if a.ndim == 1:
        if len(b_shape) == 1:
            return g * a
        return a[:, None] * g[..., None, :]  # [K] @ [..., K, N]
    if len(b_shape) == 1:  # [..., M, K] @ [K]: one product over all rows
        if a.ndim == 2:
            return xp.matmul(g, a)
        m = prod(a.shape[:-1])
        return xp.matmul(g.reshape((m,)), a.reshape((m, *b_shape)))
    if len(b_shape) == 2 and a.ndim > 2:  # [..., M, K] @ [K, N]: one product over all rows
        k, n = b_shape
        m = prod(a.shape[:-1])
        return xp.matmul(a.reshape((m, k)).T, g.reshape((m, n)))
    return xp.matmul(a.T if a.ndim == 2 else a.swapaxes(-1, -2), g)


@primitive(cast="narrowed", a=_matmul_a, b=_matmul_b, tangent="linear")
def matmul(xp: Namespace, a: Array, b: Array) -> Array:
    """The matrix product [..., M, K] @ [..., K, N], batch axes broadcasting.

    A 1-D operand is a row on the left and a column on the right, and its axis is not in the result.
    Raises ValueError for shapes that do not fit.

    >>> matmul(Variable([[1.0, 2.0]]), Variable([3.0, 4.0]))
    Variable(array([11.], dtype=float32))
    """
    return xp.matmul(a, b)


def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> Variable:
    """The sum of `conj(x1) * x2` over `axis`, broadcasting.

    >>> vecdot(Variable([1.0, 2.0]), Variable([3.0, 4.0]))
    Variable(array(11., dtype=float32))
    """
    x1, x2 = variables(x1, x2)
    if axis != -1:
        x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    n1, n2 = x1.shape[-1], x2.shape[-1]
    if n1 != n2:
        raise ValueError(f"vecdot: {_kind(x1)} and {_kind(x2)} differ along axis {axis}")
    rows = reshape(_conj(x1), (*x1.shape[:-1], 1, n1))
    return reshape_last(matmul(rows, reshape(x2, (*x2.shape, 1))), 2)


def reshape_last(x: Variable, n: int) -> Variable:
    """`x` without its last `n` axes, which have size 1."""
    return reshape(x, x.shape[: x.ndim - n])


def tensordot(x1: Any, x2: Any, /, axes: int | Sequence[Any] = 2) -> Variable:
    """The sum of products over axes of both: the last `axes` of `x1` with the first of `x2`, or the
    pairs that two sequences of axes name.

    >>> tensordot(Variable([[1.0, 2.0]]), Variable([[3.0], [4.0]]), 1)
    Variable(array([[11.]], dtype=float32))
    """
    x1, x2 = variables(x1, x2)
    if not isinstance(axes, Iterable):
        if axes < 0 or axes > min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: axes={axes} for {_kind(x1)} and {_kind(x2)}")
        first: Sequence[int] = range(x1.ndim - axes, x1.ndim)
        second: Sequence[int] = range(axes)
    else:
        first, second = [axes_of(a) for a in axes]
    for sums, x in ((first, x1), (second, x2)):
        for axis in sums:
            if not -x.ndim <= axis < x.ndim:
                raise IndexError(f"tensordot: axis {axis} is out of range for {_kind(x)}")
    first = [axis % x1.ndim for axis in first]
    second = [axis % x2.ndim for axis in second]
    if [x1.shape[i] for i in first] != [x2.shape[i] for i in second]:
        message = f"{_kind(x1)} and {_kind(x2)} differ along axes={axes}"
        raise ValueError(named("tensordot", message))
    rows = [i for i in range(x1.ndim) if i not in first]
    columns = [i for i in range(x2.ndim) if i not in second]
    k = prod([x1.shape[i] for i in first])
    m = [x1.shape[i] for i in rows]
    n = [x2.shape[i] for i in columns]
    a = reshape(_permuted(x1, [*rows, *first]), (prod(m), k))
    b = reshape(_permuted(x2, [*second, *columns]), (k, prod(n)))
    return reshape(matmul(a, b), (*m, *n))


def outer(x1: Any, x2: Any) -> Variable:
    """All products of an element of `x1` with one of `x2`, both taken flat: [M], [N] to [M, N].

    >>> outer(Variable([1.0, 2.0]), Variable([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    x1, x2 = variables(x1, x2)
    return multiply(reshape(x1, (-1, 1)), reshape(x2, (1, -1)))


def dot(a: Any, b: Any) -> Variable:
    """NumPy's dot: `matmul` for vectors and matrices, a plain product for a number, and a sum over
    the last axis of `a` and the last but one of `b` for more axes."""
    a, b = variables(a, b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    if b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, ((-1,), (-2,)))


def inner(a: Any, b: Any) -> Variable:
    """The sum of products over the last axis of both, for all pairs of the other axes."""
    a, b = variables(a, b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    return tensordot(a, b, ((-1,), (-1,)))


def kron(a: Any, b: Any) -> Variable:
    """The Kronecker product: copies of `b`, scaled by the elements of `a`.

    >>> kron(Variable([1.0, 2.0]), Variable([1.0, 1.0])).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    a, b = variables(a, b)
    n = max(a.ndim, b.ndim)
    p = (1,) * (n - a.ndim) + tuple(a.shape)
    q = (1,) * (n - b.ndim) + tuple(b.shape)
    left = reshape(a, tuple([size for i in p for size in (i, 1)]))
    right = reshape(b, tuple([size for i in q for size in (1, i)]))
    return reshape(multiply(left, right), tuple([i * j for i, j in zip(p, q, strict=True)]))


def _conj(x: Variable) -> Variable:
    return x.conj() if x.dtype.kind == "c" else x


def _permuted(x: Variable, order: list[int]) -> Variable:
    return x if order == sorted(order) else permute_dims(x, order)


def _kind(x: Variable) -> str:
    return f"{x.dtype}{list(x.shape)}"
