"""Similarities and distances."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import load_backend
from autograd_gpu.nn.functional.arguments import backend_near, shape_of
from autograd_gpu.ops.linalg import vector_norm
from autograd_gpu.placement import on_its_device
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


@on_its_device
@in_float32
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Variable:
    """x1 · x2 over their norms along `dim`, each at least `eps`; the shapes broadcast.

    >>> cosine_similarity([[1.0, 0.0]], [[1.0, 1.0]], eps=0.0).tolist()
    [0.7071067690849304]
    """
    x1, x2 = ops.asarray(x1), ops.asarray(x2)
    if x1.shape != x2.shape:
        x1, x2 = ops.broadcast_arrays(x1, x2)
    product = ops.sum_(x1 * x2, axis=dim)
    return product / (_norm(x1, dim, eps) * _norm(x2, dim, eps))


def _norm(x: Variable, dim: int, eps: float) -> Variable:
    squares = ops.sum_(x * x, axis=dim)
    # where the norm is no larger than eps nothing flows back
    small = squares.value <= eps * eps
    return ops.where(small, eps, ops.sqrt(ops.where(small, 1, squares)))


@on_its_device
@in_float32
def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Variable:
    """`x` over its p-norm along `dim`, which counts as at least `eps`."""
    x = ops.asarray(x)
    if p == 2:
        norm = ops.expand_dims(_norm(x, dim, eps), axis=dim)
    else:
        norm = ops.maximum(vector_norm(x, dim, True, p), eps)
    return ops.divide(x, norm)


@in_float32
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Variable:
    """The p-norm of x1 - x2 + eps along the last axis; the shapes broadcast."""
    return vector_norm(ops.subtract(x1, x2) + eps, -1, keepdim, p)


@in_float32
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Variable:
    """The p-norms [..., P, R] of the differences of all rows of `x1` [..., P, M] and `x2`
    [..., R, M].

    They are computed from the differences, [..., P, R, M] numbers, so that small distances of large
    vectors are right.  The gradient at equal rows is 0.

    >>> cdist([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]]).tolist()
    [[0.0], [5.0]]
    """
    shapes = shape_of(x1), shape_of(x2)
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(
            f"cdist: x1 {list(shapes[0])} and x2 {list(shapes[1])} must be [..., P, M] and "
            f"[..., R, M]"
        )
    _check_order("cdist", p)
    x1, x2 = ops.expand_dims(x1, axis=-2), ops.expand_dims(x2, axis=-3)
    return vector_norm(x1 - x2, -1, False, p)


@on_its_device
@in_float32
def pdist(x: Any, p: float = 2.0) -> Variable:
    """The p-norms of the differences of all pairs of rows of `x` [N, M], N (N - 1) / 2 numbers:
    those of row 0 with 1, 2, ..., then of row 1 with 2, 3, ..."""
    shape = shape_of(x)
    if len(shape) != 2:
        raise ValueError(f"pdist: x must be [N, M], not {list(shape)}")
    _check_order("pdist", p)
    x = ops.asarray(x)
    # on the host, as CuPy's own waits
    pairs = load_backend("numpy").xp.triu_indices(shape[0], 1)
    first, second = (backend_near(x).constant(rows) for rows in pairs)
    return vector_norm(x[first] - x[second], -1, False, p)


def _check_order(op: str, p: float) -> None:
    if not p >= 0:
        raise ValueError(f"{op}: p={p} is negative")
