"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.creation import tril, triu
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_square,
    close,
    diagonal_of,
    embedded,
    hermitian,
    inverse,
    variable,
    within_groups,
)
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


def _eigh(xp: Namespace, g: Any, y: Any) -> Any:
    gw, gv = g
    w, v = y
    vh, equal = adjoint(xp, v), close(w)
    turn = xp.matmul(vh, gv)
    gaps = inverse(xp, w[..., None, :] - w[..., :, None], equal)
    inner = (
        gaps * (turn - adjoint(xp, turn)) * 0.5
        + embedded(xp, gw)
        + within_groups(xp, gw, hermitian(xp, turn), equal)
    )
    return hermitian(xp, xp.matmul(xp.matmul(v, inner), vh))


@primitive(x=_eigh, outputs=True)
def eigh_(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """`eigh` without names."""
    check_square(xp, "eigh", x)
    return tuple(xp.linalg.eigh(hermitian(xp, x)))


def _mirrored(x: Any, UPLO: str | None) -> Any:
    """The Hermitian matrix of which `x` gives the lower or upper triangle."""
    if UPLO is None:
        return x
    if UPLO not in ("L", "U"):
        raise ValueError(f"eigh: UPLO is 'L', 'U' or None, not {UPLO!r}")
    x = variable(x)
    half = tril(x, -1) if UPLO == "L" else triu(x, 1)
    own = tril(triu(x))
    mirrored = half.mT.conj() if half.dtype.kind == "c" else half.mT
    return half + mirrored + own


def eigh(x: Any, UPLO: str | None = None) -> EighResult:
    """The eigenvalues [..., N], ascending, and eigenvectors [..., N, N], in columns, of Hermitian
    matrices [..., N, N].

    Of a matrix that is not Hermitian the Hermitian part is taken, so that the gradient is
    Hermitian; `UPLO` takes one triangle instead.

    Vectors are free to turn among those with one eigenvalue, and complex ones have a free phase;
    the gradient is for losses that do not depend on that.  Eigenvalues that differ by rounding only
    count as equal, and the gradient stays finite.  It is right there for losses of eigenvalues and
    of spans of vectors.  A loss of `(v * h(w)) @ vᴴ` also has a part between vectors with equal
    eigenvalues, which follows from the other parts unless the gradient of these eigenvalues is 0,
    where it counts as 0; so do second derivatives there.

    >>> eigh(Variable([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.shape
    (2,)
    """
    return EighResult(*cast(Any, eigh_(_mirrored(x, UPLO))))


def _eigvalsh(xp: Namespace, g: Any, x: Any) -> Any:
    v = xp.linalg.eigh(hermitian(xp, x))[1]
    return xp.matmul(v * g[..., None, :], adjoint(xp, v))


@primitive(x=_eigvalsh)
def eigvalsh_(xp: Namespace, x: Array) -> Array:
    """`eigvalsh` of whole matrices."""
    check_square(xp, "eigvalsh", x)
    return xp.linalg.eigvalsh(hermitian(xp, x))


def eigvalsh(x: Any, UPLO: str | None = None) -> Variable:
    """The eigenvalues [..., N], ascending, of Hermitian matrices [..., N, N]; see `eigh`."""
    return eigvalsh_(_mirrored(x, UPLO))


def _eig(xp: Namespace, g: Any, y: Any) -> Any:
    gw, gv = g
    w, v = y
    vh, equal = adjoint(xp, v), close(w)
    turn = xp.matmul(vh, gv)
    # Vectors have length 1: what would stretch them is taken off.
    turn = turn - xp.matmul(vh, v) * xp.real(diagonal_of(xp, turn))[..., None, :]
    gaps = xp.conj(inverse(xp, w[..., None, :] - w[..., :, None], equal))
    return xp.linalg.solve(vh, xp.matmul(gaps * turn + embedded(xp, gw), vh))


@primitive(x=_eig, outputs=True)
def eig_(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """`eig` without names."""
    check_square(xp, "eig", x)
    return tuple(xp.linalg.eig(x + 0j))


def eig(x: Any) -> EigResult:
    """The eigenvalues [..., N] and eigenvectors [..., N, N], in columns, of any square matrices.

    Both are complex, in no particular order, and vectors have length 1 and a free phase, on which
    the loss must not depend.  A matrix without N independent eigenvectors has no gradient.
    """
    return EigResult(*cast(Any, eig_(x)))


def eigvals(x: Any) -> Variable:
    """The eigenvalues [..., N], complex and in no particular order, of any square matrices."""
    return cast(Variable, eig(x).eigenvalues)
