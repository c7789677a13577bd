"""The unitary factor of a matrix, which is the gradient of the nuclear norm.

Its derivative is the solution of an equation with sums of singular values, never their differences,
so that equal ones are like any others.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_matrices,
    check_square,
    hermitian,
)
from autograd_gpu.ops.linalg.equal_values import inverse, zero
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive


def _lyapunov_p(xp: Namespace, g: Any, y: Any, p: Any) -> Any:
    t, z = call(xp, lyapunov, p, g), adjoint(xp, y)
    return -hermitian(xp, xp.matmul(t, z) + xp.matmul(z, t))


@primitive(
    p=_lyapunov_p,
    c=lambda xp, g, p: call(xp, lyapunov, p, g),
)
def lyapunov(xp: Namespace, p: Array, c: Array) -> Array:
    """The z for which `p @ z + z @ p = c`, for positive semidefinite p [..., N, N].

    Where p has a null space, z has no part within it.
    """
    check_square(xp, "lyapunov", p)
    w, v = xp.linalg.eigh(hermitian(xp, p))
    null = zero(w)
    none = null[..., None, :] & null[..., :, None]
    rates = inverse(xp, w[..., None, :] + w[..., :, None], none)
    vh = adjoint(xp, v)
    inner = rates * xp.matmul(xp.matmul(vh, c), v)
    return xp.matmul(xp.matmul(v, inner), vh)


def _polar(xp: Namespace, g: Any, x: Any, y: Any) -> Any:
    if x.shape[-2] < x.shape[-1]:
        g, x, y = adjoint(xp, g), adjoint(xp, x), adjoint(xp, y)
        return adjoint(xp, _polar(xp, g, x, y))
    # x = y p.  The derivative is its own adjoint.
    yh = adjoint(xp, y)
    p = xp.matmul(yh, x)
    z = xp.matmul(yh, g)
    within = xp.matmul(y, call(xp, lyapunov, p, z - adjoint(xp, z)))
    # The inverse of p on its range is twice the solution for the projection onto that.
    return within + 2 * xp.matmul(g - xp.matmul(y, z), call(xp, lyapunov, p, xp.matmul(yh, y)))


@primitive(x=_polar)
def unitary_factor(xp: Namespace, x: Array) -> Array:
    """The factor U Vᴴ of x = U S Vᴴ, without the vectors of singular values that are 0.

    The derivative is that among matrices of the same rank.
    """
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.matmul(xp.where(zero(s)[..., None, :], 0, u), vh)


@primitive(x=lambda xp, g, x: g[..., None, None] * call(xp, unitary_factor, x))
def nuclear_norm(xp: Namespace, x: Array) -> Array:
    """The sums [...] of the singular values of matrices [..., M, N].

    Derivatives of every order are right at equal singular values, and at zeros those among matrices
    of the same rank.
    """
    check_matrices(xp, "nuclear_norm", x)
    return xp.sum(xp.linalg.svd(x, full_matrices=False)[1], axis=-1)
