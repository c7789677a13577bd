"""Determinants."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.linalg.common import (
    adjoint,
    arrays_of,
    check_square,
    diagonal_of,
    embedded,
    eye,
)
from autograd_gpu.ops.linalg.equal_values import zero
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


# Order up to which derivatives of det are exact at any rank.
DEPTH = 8


def _before(xp: Namespace, s: Array) -> Array:
    """The products of all elements before each one, along the last axis."""
    return xp.cumulative_prod(s, axis=-1, include_initial=True)[..., :-1]


def _cofactors(xp: Namespace, x: Array) -> Array:
    """The matrices of cofactors, det(x) x⁻ᵀ where x is regular."""
    u, s, vh = xp.linalg.svd(x)
    others = _before(xp, s) * xp.flip(_before(xp, xp.flip(s, axis=-1)), axis=-1)
    phase = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
    return phase * xp.matmul(xp.conj(u) * others[..., None, :], xp.conj(vh))


def _adjugate(xp: Namespace, x: Any) -> tuple[Any, Any]:
    """The adjugate and the determinant as polynomials, by Faddeev and LeVerrier; for few rows."""
    one = eye(x, x.shape[-1])
    power = one + xp.zeros_like(x)
    for k in range(1, x.shape[-1]):
        product = xp.matmul(x, power)
        power = product - one * (xp.sum(diagonal_of(xp, product), axis=-1) / k)[..., None, None]
    sign = (-1) ** (x.shape[-1] - 1)
    # x adj(x) = det(x) 1
    return power * sign, xp.sum(diagonal_of(xp, xp.matmul(x, power)), axis=-1) * (
        sign / x.shape[-1]
    )


def _cofactors_recorded(ops: Namespace, x: Variable) -> Any:
    """The matrices of cofactors as a function that is smooth at singular matrices too.

    Turned by its singular vectors, which are constants here, the matrix is diagonal.  The block of
    the large singular values is eliminated, and the adjugate of what remains is a polynomial.  If
    the large ones include a zero, det and its derivatives up to the order DEPTH are 0.
    """
    xp = arrays_of(x)
    u, s, vh = xp.linalg.svd(x.value)
    phase = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
    y = ops.matmul(ops.matmul(adjoint(xp, u), x), adjoint(xp, vh))
    k = max(x.shape[-1] - DEPTH, 0)
    if not x.size:
        return ops.zeros_like(x)
    if not k:
        adjugate = _adjugate(ops, y)[0]
    else:
        null = zero(s)[..., :k]
        a = y[..., :k, :k] + embedded(xp, xp.astype(null, s.dtype))
        factor = ops.where(xp.any(null, axis=-1), 0, det(a))[..., None, None]
        inverse = ops.linalg.inv(a)
        right = ops.matmul(inverse, y[..., :k, k:])
        left = ops.matmul(y[..., k:, :k], inverse)
        small, rest = _adjugate(ops, y[..., k:, k:] - ops.matmul(left, y[..., :k, k:]))
        corner = ops.matmul(right, small)
        upper = [inverse * rest[..., None, None] + ops.matmul(corner, left), -corner]
        lower = [-ops.matmul(small, left), small]
        rows = [ops.concat(upper, axis=-1), ops.concat(lower, axis=-1)]
        adjugate = factor * ops.concat(rows, axis=-2)
    cofactors = ops.matmul(ops.matmul(adjoint(xp, vh), adjugate), adjoint(xp, u))
    return phase * ops.matrix_transpose(cofactors)


def _det(xp: Namespace, g: Any, x: Any) -> Any:
    recorded = xp is NAMESPACES[Variable]
    cofactors = _cofactors_recorded(xp, x) if recorded else _cofactors(xp, x)
    return g[..., None, None] * xp.conj(cofactors)


@primitive(x=_det)
def det(xp: Namespace, x: Array) -> Array:
    """The determinants [...] of matrices [..., N, N].

    Singular matrices have their true derivatives: at ranks of N - 8 and more those of every order,
    at lower ranks those up to the order 8, which are 0.

    >>> det(Variable([[2.0, 1.0], [1.0, 3.0]])).item()
    5.0
    """
    check_square(xp, "det", x)
    return xp.linalg.det(x)


def _slogdet(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    gs, glog = g
    if y[0].dtype.kind == "c":  # the sign turns with the imaginary part of tr(x⁻¹ dx)
        glog = glog + 1j * xp.imag(gs * xp.conj(y[0]))
    return glog[..., None, None] * adjoint(xp, xp.linalg.inv(x))


@primitive(x=_slogdet, outputs=True)
def slogdet_(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """`slogdet` without names."""
    check_square(xp, "slogdet", x)
    return tuple(xp.linalg.slogdet(x))


def slogdet(x: Any) -> SlogdetResult:
    """(sign, logabsdet) with `det(x) = sign * exp(logabsdet)`, which cannot overflow.

    A singular matrix has the sign 0 and the logarithm -inf, which has no gradient: a backward
    raises LinAlgError.

    >>> slogdet(Variable([[2.0, 0.0], [0.0, 0.5]])).sign.item()
    1.0
    """
    return SlogdetResult(*cast(Any, slogdet_(x)))
