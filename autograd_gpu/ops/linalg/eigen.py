"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.modes import recording
from autograd_gpu.ops.creation import tril, triu
from autograd_gpu.ops.linalg.common import (
    adjoint,
    check_square,
    diagonal_of,
    embedded,
    hermitian,
    variable,
)
from autograd_gpu.ops.linalg.equal_values import (
    close,
    in_general_position,
    inverse,
    sylvester,
    within_groups,
)
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


def _eigh(xp: Namespace, g: Any, y: Any, given: Sequence[bool]) -> Any:
    gw, gv, ga, gcarrier = g
    w, v, a, carrier = y
    vh = adjoint(xp, v)
    inner = embedded(xp, gw)
    if any(given[1:]):
        equal = close(w)
        turn = xp.matmul(vh, gv)
        inner = (
            inner
            + call(xp, sylvester, (turn - adjoint(xp, turn)) * 0.5, a, sign=-1)
            + xp.where(equal, ga, 0)
            + within_groups(xp, gw, hermitian(xp, turn), hermitian(xp, gcarrier), equal)
        )
    if xp is NAMESPACES[Variable]:
        inner = inner + carrier
    return hermitian(xp, xp.matmul(xp.matmul(v, inner), vh))


@primitive(x=_eigh, outputs=True)
def eigh_(xp: Namespace, x: Array, *, general: bool = False) -> tuple[Array, ...]:
    """The eigenvalues and eigenvectors, these `in_general_position` if `general`; the block
    diagonal matrix of the eigenvalues, and a zero matrix that brings a derivative the direction
    along which its first order was taken."""
    check_square(xp, "eigh", x)
    w, v = xp.linalg.eigh(hermitian(xp, x))
    if general:
        v = xp.matmul(v, in_general_position(xp, close(w), v.dtype))
    return w, v, xp.astype(embedded(xp, w), v.dtype), xp.zeros_like(v)


def _recorded(x: Any) -> bool:
    return recording.get() and isinstance(x, Variable) and x.requires_grad


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
    count as equal.  With these too all derivatives are finite, and right are

        losses of spans of vectors         to every order
        losses of eigenvalues              to the second order
        one matrix `(v * h(w)) @ vᴴ`       to the first order, but not in forward mode

    `matrix_function` has every order of functions of matrices; its trace is a sum over eigenvalues.
    While a gradient is recorded, the vectors of equal eigenvalues are turned away from the axes,
    without which such losses could not be told apart.

    >>> eigh(Variable([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.shape
    (2,)
    """
    x = _mirrored(x, UPLO)
    return EighResult(*cast(Any, eigh_(x, _recorded(x)))[:2])


@primitive()
def eigvalsh_(xp: Namespace, x: Array) -> Array:
    """`eigvalsh` without a gradient."""
    check_square(xp, "eigvalsh", x)
    return xp.linalg.eigvalsh(hermitian(xp, x))


def eigvalsh(x: Any, UPLO: str | None = None) -> Variable:
    """The eigenvalues [..., N], ascending, of Hermitian matrices [..., N, N]; see `eigh`."""
    x = _mirrored(x, UPLO)
    if _recorded(x):
        return cast(Variable, eigh(x).eigenvalues)
    return eigvalsh_(x)


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
