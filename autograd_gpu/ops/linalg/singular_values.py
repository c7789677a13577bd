"""Singular value decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.modes import recording
from autograd_gpu.ops.linalg.common import adjoint, check_matrices, embedded, hermitian
from autograd_gpu.ops.linalg.equal_values import (
    close,
    in_general_position,
    sylvester,
    within_groups,
    zero,
)
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


def _svd(xp: Namespace, g: Any, y: Any, given: Sequence[bool]) -> Any:
    gu, gs, gvh, ga, gcarrier = g
    u, s, vh, a, carrier = y
    k = s.shape[-1]
    v, u1 = adjoint(xp, vh), u[..., :, :k]
    null = zero(s)
    gs = xp.where(null, 0, gs)
    inner = embedded(xp, gs)
    if xp is NAMESPACES[Variable]:
        inner = inner + carrier
    if not (given[0] or any(given[2:])):
        return xp.matmul(xp.matmul(u1, inner), vh[..., :k, :])
    gv = adjoint(xp, gvh)
    v1, gu1, gv1 = v[..., :, :k], gu[..., :, :k], gv[..., :, :k]
    equal = close(s) & ~null[..., None, :]
    # With Ωu = uᴴ du and Ωv = vᴴ dv: their sum has the gaps below it, their difference the sums.
    zu, zv = xp.matmul(adjoint(xp, u1), gu1), xp.matmul(adjoint(xp, v1), gv1)
    both, apart = zu + zv, zu - zv
    inner = (
        inner
        + call(xp, sylvester, (both - adjoint(xp, both)) * 0.5, a, sign=-1)
        + call(xp, sylvester, (apart - adjoint(xp, apart)) * 0.5, a, sign=1)
        + xp.where(equal, hermitian(xp, ga), 0)
        + within_groups(xp, gs, hermitian(xp, both), hermitian(xp, gcarrier), equal)
    )
    left = xp.matmul(u1, inner)
    if u.shape[-2] > k:  # what leaves the span of u1
        left = left + call(xp, sylvester, gu1 - xp.matmul(u1, zu), a, sign=0)
    if u.shape[-1] > k:
        spare = u[..., :, k:]
        turned = xp.matmul(adjoint(xp, gu[..., :, k:]), u1)
        left = left - xp.matmul(spare, call(xp, sylvester, turned, a, sign=0))
    gx = xp.matmul(left, adjoint(xp, v1))
    if v.shape[-2] > k:
        right = call(xp, sylvester, gv1 - xp.matmul(v1, zv), a, sign=0)
        if v.shape[-1] > k:
            spare = v[..., :, k:]
            turned = xp.matmul(adjoint(xp, gv[..., :, k:]), v1)
            right = right - xp.matmul(spare, call(xp, sylvester, turned, a, sign=0))
        gx = gx + xp.matmul(u1, adjoint(xp, right))
    return gx


@primitive(x=_svd, outputs=True)
def svd_(
    xp: Namespace, x: Array, *, full_matrices: bool = True, general: bool = False
) -> tuple[Array, ...]:
    """`svd` without names, and two matrices more, as those of `eigh_`."""
    check_matrices(xp, "svd", x)
    u, s, vh = xp.linalg.svd(x, full_matrices=full_matrices)
    k = s.shape[-1]
    if general:
        turn = in_general_position(xp, close(s) & ~zero(s)[..., None, :], u.dtype)
        first, rest = u[..., :, :k], u[..., :, k:]
        u = xp.concat([xp.matmul(first, turn), rest], axis=-1)
        first, rest = vh[..., :k, :], vh[..., k:, :]
        vh = xp.concat([xp.matmul(adjoint(xp, turn), first), rest], axis=-2)
    a = xp.astype(embedded(xp, s), u.dtype)
    return u, s, vh, a, xp.zeros_like(a)


def _recorded(x: Any) -> bool:
    return recording.get() and isinstance(x, Variable) and x.requires_grad


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """`x = (U * S) @ Vh` with singular values S in descending order, as (U, S, Vh).

    Shapes for x [..., M, N] and K = min(M, N): [..., M, M], [..., K], [..., N, N], or without
    `full_matrices` [..., M, K], [..., K], [..., K, N].

    Vectors are free to turn among those with one singular value, and complex ones have a free
    phase; the gradient is for losses that do not depend on that.  Singular values that are equal,
    or zero, but for rounding count as such, and the gradient stays finite: right for losses of
    singular values, of spans of vectors and of `U @ Vh`, and of `(U * h(S)) @ Vh` as in `eigh`.
    What a slope of h at 0 does between the vectors of zero values cannot be told, and counts as 0:
    of a matrix without full rank, h(S) = S² is right and h(S) = S, which is x itself, is not.

    >>> svd(Variable([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    if not compute_uv:
        return svdvals(x)
    return SVDResult(*cast(Any, svd_(x, full_matrices, _recorded(x)))[:3])


@primitive()
def svdvals_(xp: Namespace, x: Array) -> Array:
    """`svdvals` without a gradient."""
    check_matrices(xp, "svdvals", x)
    return xp.linalg.svd(x, full_matrices=False)[1] if not x.size else xp.linalg.svdvals(x)


def svdvals(x: Any) -> Variable:
    """The singular values [..., min(M, N)] of matrices [..., M, N], in descending order.

    The gradient of one that is 0 counts as 0, as that of `abs` does.  Gradients and second
    derivatives are right also where values are equal, if the loss treats these alike.
    """
    if _recorded(x):
        return cast(Variable, svd(x, full_matrices=False).S)
    return svdvals_(x)
