"""Products and powers of matrices, and their diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import variables
from autograd_gpu.ops.linalg.common import check_square, eye, variable
from autograd_gpu.ops.linalg.solving import inv
from autograd_gpu.ops.matmul import matmul
from autograd_gpu.ops.nested import call
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@primitive(
    a=lambda xp, g, b, axis: xp.linalg.cross(xp.conj(b), g, axis=axis),
    b=lambda xp, g, a, axis: xp.linalg.cross(g, xp.conj(a), axis=axis),
    tangent="linear",
)
def cross(xp: Namespace, a: Array, b: Array, *, axis: int = -1) -> Array:
    """The vector products of vectors of three elements along `axis`, broadcasting.

    >>> cross(Variable([1.0, 0.0, 0.0]), Variable([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    for x in (a, b):
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"axis {axis} is out of range")
        if x.shape[axis] != 3:
            raise ValueError(f"three elements are needed along axis {axis}")
    return xp.linalg.cross(a, b, axis=axis)


# Diagonals ------------------------------------------------------------------------------------


def _spread(xp: Namespace, g: Any, x_shape: tuple[int, ...], offset: int) -> Any:
    return call(xp, diagonal_matrix, g, shape=x_shape[-2:], offset=offset)


@primitive(x=_spread, tangent="linear")
def diagonal(xp: Namespace, x: Array, *, offset: int = 0) -> Array:
    """The diagonals of matrices, the last two axes, `offset` above the main one.

    >>> diagonal(Variable([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    return xp.linalg.diagonal(x, offset=offset)


@primitive(
    v=lambda xp, g, offset: xp.linalg.diagonal(g, offset=offset),
    tangent=lambda xp, t, offset, y_shape: call(
        xp, diagonal_matrix, t, shape=y_shape[-2:], offset=offset
    ),
)
def diagonal_matrix(xp: Namespace, v: Array, *, shape: tuple[int, int], offset: int = 0) -> Array:
    """Matrices of `shape` with `v` on the diagonal and zeros elsewhere."""
    rows, columns = shape
    start = offset if offset >= 0 else -offset * columns
    flat = xp.zeros((*v.shape[:-1], rows * columns), dtype=v.dtype)
    flat[..., start : start + v.shape[-1] * (columns + 1) : columns + 1][..., : v.shape[-1]] = v
    return xp.reshape(flat, (*v.shape[:-1], rows, columns))


def trace(x: Any, offset: int = 0, dtype: Any = None) -> Variable:
    """The sums of the diagonals of matrices, the last two axes.

    >>> trace(Variable([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    return sum_(diagonal(x, offset), -1, dtype)


# Powers and chains ----------------------------------------------------------------------------


def matrix_power(x: Any, n: int) -> Variable:
    """The n-th power of matrices [..., N, N] by repeated squaring; that of the inverse for n < 0.

    >>> matrix_power(Variable([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
    [[1.0, 5.0], [0.0, 1.0]]
    """
    x = variable(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: square matrices are needed, got {x.dtype}{list(x.shape)}")
    if n == 0:
        return where(False, x, eye(x, x.shape[-1]))
    if n < 0:
        x, n = inv(x), -n
    y = None
    while True:
        if n & 1:
            y = x if y is None else matmul(y, x)
        n >>= 1
        if not n:
            return y  # type: ignore[return-value]
        x = matmul(x, x)


def multi_dot(arrays: Sequence[Any]) -> Variable:
    """The product of two or more matrices in the order that takes the fewest operations.

    The first may be a row [N] and the last a column [N].
    """
    xs = variables(*arrays)
    if len(xs) < 2:
        raise ValueError(f"multi_dot: at least two arrays are needed, got {len(xs)}")
    ndims = [x.ndim for x in xs]
    if any(n != 2 for n in ndims[1:-1]) or not {ndims[0], ndims[-1]} <= {1, 2}:
        raise ValueError(f"multi_dot: matrices are needed, got arrays of {ndims} axes")
    row, column = ndims[0] == 1, ndims[-1] == 1
    if row:
        xs[0] = reshape(xs[0], (1, -1))
    if column:
        xs[-1] = reshape(xs[-1], (-1, 1))
    sizes = (*[x.shape[0] for x in xs], xs[-1].shape[1])

    @cache
    def best(i: int, j: int) -> tuple[int, int]:
        """The operations for factors i to j, and after which of them to split."""
        if i == j:
            return 0, i
        return min(
            (best(i, k)[0] + best(k + 1, j)[0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
            for k in range(i, j)
        )

    def product(i: int, j: int) -> Variable:
        k = best(i, j)[1]
        return xs[i] if i == j else matmul(product(i, k), product(k + 1, j))

    y = product(0, len(xs) - 1)
    return reshape(y, y.shape[row : 2 - column]) if row or column else y


# The exponential ------------------------------------------------------------------------------

# The coefficients of the Padé approximant of order 13, good to 2^-53 for norms up to 5.37 (Higham).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_LIMIT = 5.371920351148152


def _expm(xp: Namespace, g: Any, x: Any) -> Any:
    # exp of [[a, e], [0, a]] has the derivative of exp(a) along e in its corner.
    n = x.shape[-1]
    a = xp.conj(xp.matrix_transpose(x))
    upper = xp.concat([a + xp.zeros_like(g), g], axis=-1)
    lower = xp.concat([xp.zeros_like(g), a + xp.zeros_like(g)], axis=-1)
    return call(xp, expm, xp.concat([upper, lower], axis=-2))[..., :n, n:]


@primitive(x=_expm)
def expm(xp: Namespace, x: Array) -> Array:
    """The exponentials of matrices [..., N, N], by scaling and squaring.

    How often to square is read from the device, which is waited for.

    >>> expm(Variable([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    check_square(xp, "expm", x)
    if x.dtype.kind not in "fc":
        x = xp.astype(x, xp.float64)
    if not x.size:
        return xp.zeros_like(x)
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    norms = xp.max(xp.sum(xp.abs(x), axis=-2), axis=-1)
    often = xp.ceil(xp.log2(xp.clip(norms / _LIMIT, 1, None)))
    x = x / (2**often)[..., None, None]
    b = [c / _PADE[0] for c in _PADE]
    x2 = xp.matmul(x, x)
    x4 = xp.matmul(x2, x2)
    x6 = xp.matmul(x4, x2)
    odd = xp.matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2)
    odd = xp.matmul(x, odd + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = xp.matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2)
    even = even + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    y = xp.linalg.solve(even - odd, even + odd)
    for i in range(int(xp.max(often))):
        y = xp.where((often > i)[..., None, None], xp.matmul(y, y), y)
    return y
