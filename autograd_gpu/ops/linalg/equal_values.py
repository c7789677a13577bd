"""Equal eigenvalues and singular values, between the vectors of which a loss must not tell.

Values that differ by rounding only count as equal.  The vectors of a group of equal values span a
space, and are free to turn in it.  So the decomposition that is differentiated is that into blocks,
x = v a vᴴ, where `a` has a block for each group and v moves across the groups alone: that is smooth
however the values of a group part.  The op returns `a`, which is diagonal here, beside the values,
and derivatives use it for whatever they need of them.

What the user's functions do to the values is seen through the values alone, which tell the diagonal
of a block only.  `within_groups` concludes from it to the rest of the block.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.linalg.common import adjoint, arrays_of, diagonal_of, raw
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive


def close(w: Any) -> Array:
    """A mask [..., n, n]: which of the values `w` [..., n] are equal up to rounding."""
    w = raw(w)
    xp = arrays_of(w)
    gaps = xp.abs(w[..., None, :] - w[..., :, None])
    return gaps <= rounding(xp, w)[..., None]


def zero(w: Any) -> Array:
    """A mask [..., n]: which of the values `w` are zero up to rounding."""
    w = raw(w)
    xp = arrays_of(w)
    return xp.abs(w) <= rounding(xp, w)


def rounding(xp: Namespace, w: Array) -> Array:
    """How far equal values `w` [..., n] may lie apart, [..., 1]."""
    n = w.shape[-1]
    if not n:
        return xp.zeros((*w.shape[:-1], 1), dtype=w.real.dtype)
    return xp.max(xp.abs(w), axis=-1, keepdims=True) * (10 * n * float(xp.finfo(w.dtype).eps))


def inverse(xp: Namespace, x: Any, none: Array) -> Any:
    """1 / x, and 0 where the mask `none` holds."""
    return xp.where(none, 0, 1 / xp.where(none, 1, x))


def in_general_position(xp: Namespace, equal: Array, dtype: Any) -> Array:
    """Unitary matrices that turn the vectors of each group of equal values among themselves.

    Where a decomposition finds unit vectors, the diagonal of a block may be 0 and tell nothing.  In
    general position it does.  Distinct values give the identity.
    """
    n = equal.shape[-1]
    i = xp.arange(n, dtype=dtype)
    phase = 1.0 + 12.9898 * i[:, None] + 78.233 * i
    z = xp.sin(phase)
    if z.dtype.kind == "c":
        z = xp.astype(z.real, dtype) + 1j * xp.sin(phase.real * 1.7)
    skew = xp.where(equal, z - adjoint(xp, z), 0)
    one = xp.eye(n, dtype=dtype)
    return xp.linalg.solve(one + skew, one - skew)  # Cayley's transform


def within_groups(xp: Namespace, gw: Any, m: Any, carried: Any, equal: Array) -> Any:
    """The part of a gradient between vectors with equal values, off the diagonal.

    The block that is sought commutes with a block that is known, up to a multiple of the identity:
    for a loss of V h(w) Vᴴ with gradient W, that is `m`, 2 h Vᴴ W V; for the derivative of
    V diag(d) Vᴴ along H, where d is a function of the values, it is `carried`, Vᴴ H V.  With `gw`,
    the diagonal that is known, it is found as the slope of `gw` over the diagonal of the block.
    """
    some = arrays_of(carried).any(raw(carried) != 0, axis=(-2, -1), keepdims=True)
    m = xp.where(some, carried, m)
    xs = diagonal_of(xp, xp.real(m))
    own = arrays_of(xs).eye(xs.shape[-1], dtype="bool")
    group = raw(xs).dtype.type(1) * (equal | own)
    size = arrays_of(xs).sum(group, axis=-1)

    def mean(v: Any) -> Any:
        return xp.matmul(group, v[..., None])[..., 0] / size

    mx, my = mean(xs), mean(gw)
    dx = xs - mx
    variance = mean(dx * dx)
    # A diagonal that is almost constant tells more by its ratio to gw, if the two are proportional.
    flat = (raw(variance) <= 1e-6 * raw(mx * mx)) & ~some[..., 0]
    dx, variance = xp.where(flat, xs, dx), xp.where(flat, mx * mx, variance)
    covariance = mean(dx * (gw - xp.where(flat, 0, my)))
    slope = covariance * inverse(xp, variance, raw(variance) == 0)
    return xp.where(equal & ~own, slope[..., None] * m, 0)


def _rates(xp: Namespace, a: Array, sign: int) -> Array:
    """What `sylvester` multiplies with; 0 for what it leaves out."""
    w = xp.real(diagonal_of(xp, a))
    right, left = w[..., None, :], w[..., :, None]
    if sign < 0:
        return inverse(xp, right - left, close(w))
    null = zero(w)
    if not sign:
        return inverse(xp, right, null[..., None, :])
    return inverse(xp, right + left, null[..., None, :] & null[..., :, None])


def _sylvester_a(xp: Namespace, g: Any, y: Any, a: Any, sign: int) -> Any:
    z, t = adjoint(xp, y), call(xp, sylvester, g, a, sign=sign)
    ga = -xp.matmul(z, t)
    if sign:
        ga = ga - sign * xp.matmul(t, z)
    w = diagonal_of(arrays_of(a), raw(a)).real
    return xp.where(close(w), ga, 0)


@primitive(
    s=lambda xp, g, a, sign: call(xp, sylvester, g, a, sign=sign),
    a=_sylvester_a,
)
def sylvester(xp: Namespace, s: Array, a: Array, *, sign: int) -> Array:
    """The z for which `z @ a + sign * a @ z = s`, for diagonal `a` and `sign` -1, 0 or 1.

    Elements whose equation has a factor of 0 up to rounding are 0.  The gradient for `a` is that
    among matrices with a block for each group of equal elements on the diagonal.
    """
    return s * _rates(xp, a, sign)
