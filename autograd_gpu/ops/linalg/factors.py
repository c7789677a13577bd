"""Cholesky and QR decompositions."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.complexes import conj
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_matrices,
    check_square,
    diagonal_of,
    embedded,
    hermitian,
)
from autograd_gpu.ops.shape import matrix_transpose
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class QRResult(NamedTuple):
    Q: Any
    R: Any


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
