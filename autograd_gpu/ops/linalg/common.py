"""What the functions share; `xp` may be the namespace of arrays or of Variables."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.callers import named
from autograd_gpu.placement import backend_beside
from autograd_gpu.variable import Variable


def variable(x: Any) -> Variable:
    return x if isinstance(x, Variable) else Variable(x)


def raw(x: Any) -> Array:
    """The array itself: for constants and masks, through which no gradient flows."""
    return x.value if isinstance(x, Variable) else x


def arrays_of(x: Any) -> Namespace:
    """The namespace of arrays to make constants for `x` in."""
    return backend_beside(raw(x)).xp


def eye(x: Any, n: int) -> Array:
    """An identity matrix of the dtype of `x`."""
    return arrays_of(x).eye(n, dtype=x.dtype)


def adjoint(xp: Namespace, x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return xp.conj(xp.matrix_transpose(x))


def hermitian(xp: Namespace, x: Any) -> Any:
    """The Hermitian part (x + xᴴ) / 2."""
    return (x + adjoint(xp, x)) * 0.5


def embedded(xp: Namespace, v: Any) -> Any:
    """Diagonal matrices with `v` on the diagonal."""
    mask = arrays_of(v).eye(v.shape[-1], dtype="bool")
    return xp.where(mask, v[..., None], 0)


def diagonal_of(xp: Namespace, x: Any) -> Any:
    """The diagonals of square matrices."""
    mask = arrays_of(x).eye(x.shape[-1], dtype="bool")
    return xp.sum(xp.where(mask, x, 0), axis=-1)


def check_square(xp: Namespace, op: str, x: Array) -> None:
    """Raises LinAlgError unless `x` holds square matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise xp.linalg.LinAlgError(
            named(
                op, f"square matrices are needed in the last two axes, got {x.dtype}{list(x.shape)}"
            )
        )


def check_matrices(xp: Namespace, op: str, x: Array) -> None:
    """Raises LinAlgError if `x` has fewer than two axes."""
    if x.ndim < 2:
        raise xp.linalg.LinAlgError(f"{op}: matrices are needed, got {x.dtype}{list(x.shape)}")


def broadcast_stacks(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array]:
    """`a` and `b` with the same axes before the last two."""
    stack = xp.broadcast_arrays(xp.empty(a.shape[:-2]), xp.empty(b.shape[:-2]))[0].shape
    return (
        xp.broadcast_to(a, (*stack, *a.shape[-2:])),
        xp.broadcast_to(b, (*stack, *b.shape[-2:])),
    )
