"""Masks and biases of attention as cuDNN takes them: numbers that are added to the scores.

cuDNN's sums of exponentials are NaN for a query that sees no key, where the result is to be 0.  So
what is hidden gets a large number instead of an infinite one, which leaves it nothing beside any
key that is seen, and the rows of queries that see none are set to 0, in the result and in its
gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from autograd_gpu.backends.cupy_cudnn import Layout

Array = Any

# float16 has them, and no score of half types comes near them: what is hidden weighs nothing beside
# the least of what is seen, float16's least number for instance, which some use as a mask.
_HIDDEN, _LEAST = -30000.0, -15000.0

_seen = cp.ElementwiseKernel(
    "T bias, bool mask",
    "bool seen",
    "seen = mask && float(bias) >= -3.402823466e38f",  # which is not infinite
    "autograd_gpu_attention_seen",
)
_added = cp.ElementwiseKernel(
    "T bias, bool seen",
    "T added",
    f"const float b = float(bias); added = T(!seen ? {_HIDDEN}f : b < {_LEAST}f ? {_LEAST}f : b)",
    "autograd_gpu_attention_bias",
)
_rows = cp.ElementwiseKernel(
    "T x, bool sees", "T y", "y = sees ? x : T(0)", "autograd_gpu_attention_rows"
)


def bias_layout(q: Array, k: Array, bias: Array | None, mask: Array | None) -> Layout | None:
    """That of what is added to the scores [B, H, L, S], of one batch or head where all have the
    same; None where cuDNN does not take it."""
    if bias is not None and bias.dtype != q.dtype:
        return None  # its digits would be lost
    shapes = [x.shape for x in (bias, mask) if x is not None]
    shape = np.broadcast_shapes(*shapes, (q.shape[-2], k.shape[-2]))
    if shape[-2:] != (q.shape[-2], k.shape[-2]) or len(shape) > q.ndim:
        return None
    lead = _four(shape, q.ndim)[:2]
    if any(n not in (1, own) for n, own in zip(lead, _four(q.shape, q.ndim), strict=False)):
        return None
    return Layout.dense((*lead, *shape[-2:]), q.dtype.name)


def _four(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """[B, H, L, S] of a shape that broadcasts to one of `ndim` axes: with 3 they are B, L and S."""
    shape = (1,) * (ndim - len(shape)) + tuple(shape)
    if ndim == 3:
        return (shape[0], 1, *shape[1:])
    return (1,) * (4 - ndim) + shape


class Masking(NamedTuple):
    """What is added to the scores, and which queries see a key [.., L, 1]."""

    bias: Array
    sees: Array

    @classmethod
    def of(
        cls,
        bias: Array | None,
        mask: Array | None,
        layout: Layout,
        dtype: Any,
        ndim: int,
        is_causal: bool,
    ) -> Masking:
        """`bias` and `mask` broadcast to scores of `ndim` axes."""
        b, m = (x if x is None else x.reshape(_four(x.shape, ndim)) for x in (bias, mask))
        b, m = 0.0 if b is None else b, True if m is None else m
        seen = m if bias is None else _seen(b, m)
        added = _added(b, seen, layout.empty(dtype))
        if is_causal:  # cuDNN hides what comes later
            seen = seen & cp.tri(*layout.dim[-2:], dtype=np.bool_)
        return cls(added, seen.any(axis=-1, keepdims=True))

    def clear(self, x: Array, out: Array) -> Array:
        """`x` [B, H, L, E] in `out`, with 0 for queries that see no key."""
        return _rows(x, self.sees, out)
