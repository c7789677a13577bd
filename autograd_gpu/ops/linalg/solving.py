"""Systems of equations, and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.arguments import variables
from autograd_gpu.ops.creation import tril, triu
from autograd_gpu.ops.elementwise import abs_
from autograd_gpu.ops.linalg.common import (
    adjoint,
    broadcast_stacks,
    check_matrices,
    check_square,
    eye,
    raw,
    variable,
)
from autograd_gpu.ops.linalg.singular_values import svdvals
from autograd_gpu.ops.matmul import matmul
from autograd_gpu.ops.powers import square
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.shape import permute_dims, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class LstsqResult(NamedTuple):
    x: Any
    residuals: Any
    rank: Any
    s: Any


def _solve(
    xp: Namespace, g: Any, ab: Any, ab_shape: Any, y: Any, needs: Sequence[bool]
) -> tuple[Any, Any]:
    # Both gradients start from a⁻ᴴ g.
    vector = len(ab_shape[1]) == 1
    if vector:
        g, y = g[..., None], y[..., None]
    a = adjoint(xp, ab[0])
    b = solve(a, g) if xp is NAMESPACES[Variable] else _columns(xp, a, g)
    outer = -xp.matmul(b, adjoint(xp, y)) if needs[0] else None
    return outer, b[..., 0] if vector else b


@primitive(ab=_solve)
def solve_(xp: Namespace, *ab: Array) -> Array:
    """`solve`, of the pair a and b."""
    a, b = ab
    check_square(xp, "solve", a)
    if b.ndim < 2:
        return xp.linalg.solve(a, b) if a.ndim == 2 else _columns(xp, a, b[:, None])[..., 0]
    return _columns(xp, a, b)


def _columns(xp: Namespace, a: Array, b: Array) -> Array:
    if a.ndim == 2 and b.ndim > 2:  # one matrix, so factored once
        columns = xp.reshape(xp.moveaxis(b, -2, 0), (b.shape[-2], -1))
        shape = (b.shape[-2], *b.shape[:-2], b.shape[-1])
        return xp.moveaxis(xp.reshape(xp.linalg.solve(a, columns), shape), 0, -2)
    if a.shape[:-2] != b.shape[:-2]:
        a, b = broadcast_stacks(xp, a, b)
    return xp.linalg.solve(a, b)


def solve(a: Any, b: Any) -> Variable:
    """The x for which `a @ x = b`.

    Shapes: [..., N, N] and [..., N, K], or [N] for one vector; stacks broadcast.  Raises
    LinAlgError for a singular matrix (CuPy, which does not look, computes inf or nan) and for
    matrices that are not square.

    >>> solve(Variable([[2.0, 0.0], [0.0, 4.0]]), Variable([1.0, 1.0])).tolist()
    [0.5, 0.25]
    """
    return solve_((a, b))


def _inv(xp: Namespace, g: Any, y: Any) -> Any:
    z = adjoint(xp, y)
    return -xp.matmul(xp.matmul(z, g), z)


@primitive(x=_inv)
def inv(xp: Namespace, x: Array) -> Array:
    """The inverses of matrices [..., N, N]; LinAlgError if one is singular or not square.

    >>> inv(Variable([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    check_square(xp, "inv", x)
    return xp.linalg.inv(x)


def _pinv(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    # Golub and Pereyra; true as long as the rank stays the same.
    g, z = adjoint(xp, g), adjoint(xp, y)
    left = xp.matmul(xp.matmul(g, y), z)
    right = xp.matmul(z, xp.matmul(y, g))
    left = left - xp.matmul(x, xp.matmul(y, left))
    right = right - xp.matmul(xp.matmul(right, y), x)
    return left + right - xp.matmul(xp.matmul(z, adjoint(xp, g)), z)


@primitive(x=_pinv)
def pinv(xp: Namespace, x: Array, *, rtol: Any = None) -> Array:
    """The pseudoinverses [..., N, M] of matrices [..., M, N].

    Singular values below `rtol` times the largest count as 0; by default, max(M, N) eps.  CuPy
    waits for them.  The derivative is that among matrices of the same rank.
    """
    check_matrices(xp, "pinv", x)
    return xp.linalg.pinv(x, rtol=rtol)


def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, unit_diagonal: bool = False
) -> Variable:
    """The x for which `a @ x = b`, where `a` counts as upper or lower triangular.

    The other triangle is not looked at, and with `unit_diagonal` the diagonal counts as ones.

    >>> solve_triangular(Variable([[2.0, 9.0], [1.0, 4.0]]), Variable([2.0, 9.0]), lower=True)
    Variable(array([1., 2.], dtype=float32))
    """
    a = variable(a)
    k = -1 if lower else 1
    if unit_diagonal:
        a = (tril if lower else triu)(a, k) + eye(a, a.shape[-1])
    else:
        a = (tril if lower else triu)(a)
    return solve(a, b)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """Least squares: the shortest x among those that make `|a @ x - b|` least.

    Shapes: [M, N] and [M] or [M, K].  As in NumPy the result is (x, residuals, rank, s), with
    residuals of shape [0] where M <= N or the rank is less than N; for that a GPU is waited for.
    The derivative is that among matrices of the same rank.
    """
    a, b = variables(a, b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(f"lstsq: {_kind(a)} and {_kind(b)} do not fit")
    m, n = a.shape
    s = svdvals(a)
    limit = float(raw(s).real.max()) if m and n else 0.0
    eps = 2.0**-52 if raw(s).dtype.itemsize == 8 else 2.0**-23
    rcond = max(m, n) * eps if rcond is None else rcond
    rank = int((raw(s) > rcond * limit).sum())
    x = matmul(pinv(a, rcond), b)
    errors = reshape(sum_(square(abs_(matmul(a, x) - b)), axis=0), (-1,))
    return LstsqResult(x, errors if rank == n < m else errors[:0], rank, s)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Variable:
    """The x for which `tensordot(a, x, x.ndim) = b`; `axes` of `a` are moved to its end first."""
    a, b = variables(a, b)
    if axes is not None:
        last = [axis % a.ndim for axis in axes]
        a = permute_dims(a, [i for i in range(a.ndim) if i not in last] + last)
    shape = a.shape[b.ndim :]
    if math.prod(shape) != b.size:
        raise ValueError(f"tensorsolve: {_kind(a)} and {_kind(b)} do not fit")
    return reshape(solve(reshape(a, (b.size, b.size)), reshape(b, (-1,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Variable:
    """The inverse of `a` with respect to `tensordot(a, b, ind)`."""
    a = variable(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, not {ind}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    return reshape(inv(reshape(a, (math.prod(rows), -1))), (*columns, *rows))


def _kind(x: Variable) -> str:
    return f"{x.dtype}{list(x.shape)}"
