"""Similarities and distances."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.precision import in_float32
from autograd_gpu.variable import Variable


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


@in_float32
def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Variable:
    """`x` over its p-norm along `dim`, which counts as at least `eps`."""
    x = ops.asarray(x)
    if p == 2:
        norm = ops.expand_dims(_norm(x, dim, eps), axis=dim)
    else:
        total: Any = ops.sum_(ops.abs_(x) ** p, axis=dim, keepdims=True)
        norm = ops.maximum(total ** (1 / p), eps)
    return ops.divide(x, norm)


@in_float32
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6) -> Variable:
    """The p-norm of x1 - x2 + eps along the last axis."""
    d = ops.abs_(ops.subtract(x1, x2) + eps)
    if p == 2:
        return ops.sqrt(ops.sum_(d * d, axis=-1))
    return ops.sum_(d**p, axis=-1) ** (1 / p)
