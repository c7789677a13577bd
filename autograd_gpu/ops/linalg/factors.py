"""Cholesky, QR and singular value decompositions."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.complexes import conj
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_matrices,
    check_square,
    close,
    diagonal_of,
    embedded,
    hermitian,
    inverse,
    within_groups,
    zero,
)
from autograd_gpu.ops.shape import matrix_transpose
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class QRResult(NamedTuple):
    Q: Any
    R: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


# Cholesky -------------------------------------------------------------------------------------


def _lower(xp: Namespace, x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    return xp.tril(x) - embedded(xp, diagonal_of(xp, x) * 0.5)


def _cholesky(xp: Namespace, g: Any, y: Any) -> Any:
    # dL = L lower(L⁻¹ dx L⁻ᴴ)
    z = adjoint(xp, y)
    inner = hermitian(xp, _lower(xp, xp.matmul(z, g)))
    half = xp.linalg.solve(z, inner)
    return hermitian(xp, xp.linalg.solve(z, adjoint(xp, half)))


@primitive(x=_cholesky)
def cholesky_(xp: Namespace, x: Array) -> Array:
    """The lower factor."""
    check_square(xp, "cholesky", x)
    return xp.linalg.cholesky(hermitian(xp, x))


def cholesky(x: Any, upper: bool = False) -> Variable:
    """The lower triangular L with `x = L @ Lᴴ`, or the upper one with `x = Uᴴ @ U`.

    `x` [..., N, N] is positive definite; of one that is not Hermitian the Hermitian part is taken,
    so that the gradient is Hermitian.  Raises LinAlgError if x is not positive definite (CuPy,
    which does not look, computes nan).

    >>> cholesky(Variable([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    y = cholesky_(x)
    if not upper:
        return y
    y = matrix_transpose(y)
    return conj(y) if y.dtype.kind == "c" else y


# QR -------------------------------------------------------------------------------------------


def _qr(xp: Namespace, g: Any, y: Any) -> Any:
    q, r = y
    gq, gr = g
    m, k, n = q.shape[-2], min(q.shape[-1], r.shape[-1]), r.shape[-1]
    wide = m < n
    if wide:  # the other columns are q @ r, and depend on the first ones through q
        gr_rest = gr[..., :, m:]
        rest = xp.matmul(q, gr_rest)
        gq = gq + xp.matmul(xp.matmul(q, r[..., :, m:]), adjoint(xp, gr_rest))
        gr, r = gr[..., :, :m], r[..., :, :m]
    spare = None
    if k < q.shape[-1]:  # complete
        spare, gspare = q[..., :, k:], gq[..., :, k:]
        q, gq = q[..., :, :k], gq[..., :, :k]
        gr, r = gr[..., :k, :], r[..., :k, :]
    # q^H dx r^-1 = q^H dq + dr r^-1, a skew-Hermitian and an upper triangular matrix.
    through = xp.matmul(gr, adjoint(xp, r))
    z = xp.matmul(adjoint(xp, q), gq)
    skew = z - through
    skew = skew - adjoint(xp, skew)
    inner = through + _lower(xp, skew)
    outer = gq + xp.matmul(q, inner - z)
    if spare is not None:
        turned = xp.matmul(adjoint(xp, gspare), q)
        outer = outer - xp.matmul(spare, turned)
    gx = adjoint(xp, xp.linalg.solve(r, adjoint(xp, outer)))
    return xp.concat([gx, rest], axis=-1) if wide else gx


@primitive(x=_qr, outputs=True)
def qr_(xp: Namespace, x: Array, *, mode: str = "reduced") -> tuple[Array, Array]:
    """`qr` without names."""
    check_matrices(xp, "qr", x)
    return tuple(xp.linalg.qr(x, mode=mode))


def qr(x: Any, mode: str = "reduced") -> Any:
    """`x = Q @ R` with orthonormal columns of Q and upper triangular R, as (Q, R).

    Shapes for x [..., M, N] and K = min(M, N): [..., M, K] and [..., K, N], or with
    `mode="complete"` [..., M, M] and [..., M, N]; `mode="r"` gives R alone.  The gradient needs the
    first K columns to be independent, and for the columns that "complete" adds it takes losses
    that depend on their span only.

    >>> qr(Variable([[3.0, 1.0], [4.0, 1.0]])).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode is 'reduced', 'complete' or 'r', not {mode!r}")
    q, r = cast(Any, qr_(x, "reduced" if mode == "r" else mode))
    return r if mode == "r" else QRResult(q, r)


# SVD ------------------------------------------------------------------------------------------


def _svd(xp: Namespace, g: Any, y: Any) -> Any:
    gu, gs, gvh = g
    u, s, vh = y
    v, gv = adjoint(xp, vh), adjoint(xp, gvh)
    k = s.shape[-1]
    u1, v1, gu1, gv1 = u[..., :, :k], v[..., :, :k], gu[..., :, :k], gv[..., :, :k]
    equal, null = close(s), zero(s)
    gaps = inverse(xp, s[..., None, :] - s[..., :, None], equal)
    sums = inverse(xp, s[..., None, :] + s[..., :, None], null[..., None, :] & null[..., :, None])
    # With Ωu = uᴴ du and Ωv = vᴴ dv: their sum has the gaps below it, their difference the sums.
    zu, zv = xp.matmul(adjoint(xp, u1), gu1), xp.matmul(adjoint(xp, v1), gv1)
    both, apart = zu + zv, zu - zv
    inner = gaps * (both - adjoint(xp, both)) + sums * (apart - adjoint(xp, apart))
    gs = xp.where(null, 0, gs)
    inner = inner * 0.5 + embedded(xp, gs) + within_groups(xp, gs, hermitian(xp, both), equal)
    left = xp.matmul(u1, inner)
    reciprocal = inverse(xp, s, null)[..., None, :]
    if u.shape[-2] > k:  # what leaves the span of u1
        left = left + (gu1 - xp.matmul(u1, zu)) * reciprocal
    if u.shape[-1] > k:
        spare = u[..., :, k:]
        turned = xp.matmul(adjoint(xp, gu[..., :, k:]), u1)
        left = left - xp.matmul(spare, turned * reciprocal)
    gx = xp.matmul(left, adjoint(xp, v1))
    if v.shape[-2] > k:
        right = (gv1 - xp.matmul(v1, zv)) * reciprocal
        if v.shape[-1] > k:
            spare = v[..., :, k:]
            turned = xp.matmul(adjoint(xp, gv[..., :, k:]), v1)
            right = right - xp.matmul(spare, turned * reciprocal)
        gx = gx + xp.matmul(u1, adjoint(xp, right))
    return gx


@primitive(x=_svd, outputs=True)
def svd_(xp: Namespace, x: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """`svd` without names."""
    check_matrices(xp, "svd", x)
    return tuple(xp.linalg.svd(x, full_matrices=full_matrices))


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """`x = (U * S) @ Vh` with singular values S in descending order, as (U, S, Vh).

    Shapes for x [..., M, N] and K = min(M, N): [..., M, M], [..., K], [..., N, N], or without
    `full_matrices` [..., M, K], [..., K], [..., K, N].

    Vectors are free to turn among those with one singular value, and complex ones have a free
    phase; the gradient is for losses that do not depend on that.  Singular values that are equal,
    or zero, but for rounding count as such, and the gradient stays finite: right for losses of
    singular values, of spans of vectors and of `U @ Vh`, and of `(U * h(S)) @ Vh` as in `eigh`.

    >>> svd(Variable([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*cast(Any, svd_(x, full_matrices)))


def _svdvals(xp: Namespace, g: Any, x: Any) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.matmul(u * xp.where(zero(s), 0, g)[..., None, :], vh)


@primitive(x=_svdvals)
def svdvals(xp: Namespace, x: Array) -> Array:
    """The singular values [..., min(M, N)] of matrices [..., M, N], in descending order.

    The gradient of one that is 0 counts as 0, as that of `abs` does.
    """
    check_matrices(xp, "svdvals", x)
    return xp.linalg.svd(x, full_matrices=False)[1] if not x.size else xp.linalg.svdvals(x)
