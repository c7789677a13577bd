"""Determinants."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_square,
    diagonal_of,
    embedded,
)
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


def _before(xp: Namespace, s: Array) -> Array:
    """The products of all elements before each one, along the last axis."""
    return xp.cumulative_prod(s, axis=-1, include_initial=True)[..., :-1]


def _ends(xp: Namespace, s: Array) -> tuple[Array, Array]:
    """The products of all s before each one, and of all after it."""
    return _before(xp, s), xp.flip(_before(xp, xp.flip(s, axis=-1)), axis=-1)


def _pairs(xp: Namespace, s: Array) -> Array:
    """The products of all s but two, [..., n, n], with 0 on the diagonal."""
    before, after = _ends(xp, s)
    i = xp.arange(s.shape[-1])
    between = _before(xp, xp.where(i[:, None] < i, s[..., None, :], 1))
    y = xp.triu(before[..., :, None] * between * after[..., None, :], k=1)
    return y + xp.matrix_transpose(y)


def _phase(xp: Namespace, u: Array, vh: Array) -> Array:
    return (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]


def _cofactors(xp: Namespace, g: Any, x: Any) -> Any:
    if xp is NAMESPACES[Variable]:
        # For derivatives of order three and more, which only regular matrices have here.
        m = xp.matmul(call(xp, cofactors, x), adjoint(xp, g))
        trace = xp.sum(diagonal_of(xp, m), axis=-1)[..., None, None]
        h = xp.matrix_transpose(xp.linalg.inv(x))
        return xp.conj(trace * h - xp.matmul(m, h))
    u, s, vh = xp.linalg.svd(x)
    # In terms of u and v the matrix is diagonal, and each of its minors a product.
    g = xp.matmul(xp.matmul(xp.matrix_transpose(u), g), xp.matrix_transpose(vh))
    g = xp.conj(_phase(xp, u, vh)) * g
    minors = _pairs(xp, s)
    own = xp.sum(minors * diagonal_of(xp, g)[..., None, :], axis=-1)
    inner = embedded(xp, own) - minors * xp.matrix_transpose(g)
    return xp.matmul(xp.matmul(u, inner), vh)


@primitive(x=_cofactors)
def cofactors(xp: Namespace, x: Array) -> Array:
    """The matrices of cofactors, det(x) x⁻ᵀ where x is regular."""
    check_square(xp, "cofactors", x)
    u, s, vh = xp.linalg.svd(x)
    before, after = _ends(xp, s)
    columns = xp.conj(u) * (before * after)[..., None, :]
    return _phase(xp, u, vh) * xp.matmul(columns, xp.conj(vh))


@primitive(
    x=lambda xp, g, x: g[..., None, None] * xp.conj(call(xp, cofactors, x)),
)
def det(xp: Namespace, x: Array) -> Array:
    """The determinants [...] of matrices [..., N, N].

    Singular matrices have their true gradient, and second derivatives too; from the third order on
    LinAlgError is raised for them.

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
