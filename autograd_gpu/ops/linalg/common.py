"""What the functions share; `xp` may be the namespace of arrays or of Variables."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.placement import beside
from autograd_gpu.variable import Variable


def variable(x: Any) -> Variable:
    return x if isinstance(x, Variable) else Variable(x)


def raw(x: Any) -> Array:
    """The array itself: for constants and masks, through which no gradient flows."""
    return x.value if isinstance(x, Variable) else x


def arrays_of(x: Any) -> Namespace:
    """The namespace of arrays to make constants for `x` in."""
    return beside(raw(x)).xp


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
            f"{op}: square matrices are needed in the last two axes, got {x.dtype}{list(x.shape)}"
        )


def check_matrices(xp: Namespace, op: str, x: Array) -> None:
    """Raises LinAlgError if `x` has fewer than two axes."""
    if x.ndim < 2:
        raise xp.linalg.LinAlgError(f"{op}: matrices are needed, got {x.dtype}{list(x.shape)}")


# Equal eigenvalues and singular values --------------------------------------------------------


def close(w: Any) -> Array:
    """A mask [..., n, n]: which of the values `w` [..., n] are equal up to rounding."""
    w = raw(w)
    xp = arrays_of(w)
    gaps = xp.abs(w[..., None, :] - w[..., :, None])
    return gaps <= _rounding(xp, w)[..., None]


def zero(w: Any) -> Array:
    """A mask [..., n]: which of the values `w` are zero up to rounding."""
    w = raw(w)
    xp = arrays_of(w)
    return xp.abs(w) <= _rounding(xp, w)


def _rounding(xp: Namespace, w: Array) -> Array:
    n = w.shape[-1]
    if not n:
        return xp.zeros((*w.shape[:-1], 1), dtype=w.real.dtype)
    return xp.max(xp.abs(w), axis=-1, keepdims=True) * (10 * n * float(xp.finfo(w.dtype).eps))


def inverse(xp: Namespace, x: Any, none: Array) -> Any:
    """1 / x, and 0 where the mask `none` holds."""
    return xp.where(none, 0, 1 / xp.where(none, 1, x))


def within_groups(xp: Namespace, gw: Any, m: Any, equal: Array) -> Any:
    """The part of a gradient between vectors with equal values, as far as it is known.

    Such vectors are free to turn, and a loss that does not care has a Hermitian `m`: its gradient
    along a turn is the skew part.  For a loss of V h(w) Vᴴ, with gradient W, `m` is 2 h Vᴴ W V, and
    `gw` its diagonal times h' / 2h.  What is sought has the same factor off the diagonal: the slope
    of `gw` over diag(m), within each group of equal values.  That is 0 for losses of the values
    alone and of spans of vectors.
    """
    xs = diagonal_of(xp, xp.real(m))
    group = raw(xs).dtype.type(1) * equal
    size = arrays_of(xs).sum(group, axis=-1)

    def mean(v: Any) -> Any:
        return xp.matmul(group, v[..., None])[..., 0] / size

    mx, my = mean(xs), mean(gw)
    dx = xs - mx
    variance = mean(dx * dx)
    flat = raw(variance) <= 1e-6 * raw(mx * mx)
    dx, variance = xp.where(flat, xs, dx), xp.where(flat, mx * mx, variance)
    covariance = mean(dx * (gw - xp.where(flat, 0, my)))
    slope = covariance * inverse(xp, variance, raw(variance) == 0)
    own = arrays_of(xs).eye(xs.shape[-1], dtype="bool")
    return xp.where(equal & ~own, slope[..., None] * m, 0)


def broadcast_stacks(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array]:
    """`a` and `b` with the same axes before the last two."""
    stack = xp.broadcast_arrays(xp.empty(a.shape[:-2]), xp.empty(b.shape[:-2]))[0].shape
    return (
        xp.broadcast_to(a, (*stack, *a.shape[-2:])),
        xp.broadcast_to(b, (*stack, *b.shape[-2:])),
    )
