"""Group norm for NumPy, by the compiled core (`numpy_pieces`), or else in blocks of images that
stay in the cache; half types are in float32.

Names are those of `autograd_gpu.ops.normalization`; NotImplemented asks for the general form.

An image [G, K, L] has G groups of K channels of L elements.  Where channels are short, they have
their weight written out L times, so that NumPy's loops run over whole images; and what is added up
over images is so for each element first, by products.  Long channels have one number each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends import numpy_pieces
from autograd_gpu.backends.numpy_rows import block_rows, compute_dtype, for_rows
from autograd_gpu.backends.scratch import scratch

Array = np.ndarray[Any, Any]

SMALL = 8192
"""Elements up to which the general form takes less time."""

LONG = 64
"""Elements of a channel from which a loop over each is no longer too many."""


def groups_normalised(
    x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> Any:
    """The value of `group_norm`, and the groups' means and variances [N, G, 1, 1]."""
    if not _is_known(x):
        return NotImplemented
    dtype = np.result_type(*(v for v in (x, weight, bias) if v is not None))
    wide = x.astype(compute_dtype(dtype), copy=False)
    if numpy_pieces.is_compiled(wide):
        y, *moments = numpy_pieces.groups_normalised(wide, weight, bias, groups=groups, eps=eps)
        kept = tuple(v.reshape(len(x), groups, 1, 1) for v in moments)
        return y.astype(dtype, copy=False), kept
    blocks = _blocks(wide, groups)
    n, _, channels, length = blocks.shape
    y = np.empty(x.shape, wide.dtype)
    rows, out = (v.reshape(n, groups, channels * length) for v in (blocks, y))
    average = np.full(rows.shape[2], 1 / rows.shape[2], wide.dtype)
    means, variances = np.empty((2, n, groups), wide.dtype)
    repeats = 1 if length >= LONG else length
    scale, shift = (_written_out(v, groups, repeats) for v in (weight, bias))

    def block(i: int, s: slice) -> None:
        part, mean, variance = out[s], means[s], variances[s]
        np.vecdot(rows[s], average, mean)
        np.subtract(rows[s], mean[..., None], part)
        np.multiply(np.vecdot(part, part), average[0], variance)
        if not np.logical_and.reduce(mean * mean <= variance, axis=None):  # it lacks digits
            rest = np.vecdot(part, average)
            mean += rest
            part -= rest[..., None]
            np.multiply(np.vecdot(part, part), average[0], variance)
        inverse = _inverse(variance, eps)[..., None]
        if repeats == 1:
            part = part.reshape(*part.shape[:2], channels, length)
            if scale is not None:
                inverse = inverse * scale
            inverse = inverse[..., None]
        part *= inverse
        if scale is not None and repeats > 1:
            part *= scale
        if shift is not None:
            part += shift if repeats > 1 else shift[..., None]

    for_rows(n, block_rows(n, rows.shape[1] * rows.shape[2]), block)
    return y.astype(dtype, copy=False), (means[..., None, None], variances[..., None, None])


def group_norm_gradients(
    g: Array,
    x: Array,
    weight: Array | None,
    kept: tuple[Array, Array],
    needs: Sequence[bool],
    *,
    groups: int,
    eps: float,
) -> Any:
    """The gradients of `group_norm` for its operands, where they are needed.

    With h = g * weight and d = x - mean, that for `x` is
    (h - average(h) - d * inverse^2 * average(h * d)) * inverse.
    """
    if not _is_known(x):
        return NotImplemented
    means, variances = (v[..., 0, 0] for v in kept)
    wide, upstream = (v.astype(means.dtype, copy=False) for v in (x, g))
    if numpy_pieces.is_compiled(wide, upstream):
        moments = means.reshape(-1), variances.reshape(-1)
        grad, *others = numpy_pieces.group_norm_gradients(
            upstream, wide, weight, *moments, needs[0], groups=groups, eps=eps
        )
        return grad if grad is None else grad.astype(x.dtype, copy=False), *others
    inverses = _inverse(variances, eps)
    blocks, upstream = (_blocks(v, groups) for v in (wide, upstream))
    grad = np.empty(x.shape, means.dtype) if needs[0] else None
    gradients = _of_long if blocks.shape[3] >= LONG else _of_short
    out = None if grad is None else grad.reshape(blocks.shape)
    sums = gradients(upstream, blocks, means, inverses, weight, out)
    along, total = (v.sum(1) for v in sums)
    return grad if grad is None else grad.astype(x.dtype, copy=False), along, total


def _of_long(
    g: Array, x: Array, means: Array, inverses: Array, weight: Array | None, grad: Array | None
) -> tuple[Array, Array]:
    """What added up for each channel [C, ...] are the gradients for weight and bias.  That for
    `x` goes to `grad`."""
    n, groups, channels, length = x.shape
    ones = np.ones(length, x.dtype)
    share = np.full(channels, 1 / (channels * length), x.dtype)
    scale: Any = 1
    if weight is not None:
        scale = weight.reshape(groups, channels).astype(x.dtype, copy=False)
        share = share * scale
    along, total = np.empty((2, *x.shape[:3]), x.dtype)

    def block(i: int, s: slice) -> None:
        part, inverse = g[s], inverses[s]
        d = scratch("centred", part.shape, x.dtype)
        np.subtract(x[s], means[s][..., None, None], d)
        np.vecdot(part, ones, total[s])
        np.multiply(np.vecdot(part, d), inverse[..., None], along[s])
        if grad is None:
            return
        np.multiply(part, (inverse[..., None] * scale)[..., None], grad[s])
        d *= (np.vecdot(along[s], share) * inverse * inverse)[..., None, None]
        d += (np.vecdot(total[s], share) * inverse)[..., None, None]
        grad[s] -= d

    for_rows(n, block_rows(n, x[0].size), block)
    return along.reshape(n, -1).T, total.reshape(n, -1).T


def _of_short(
    g: Array, x: Array, means: Array, inverses: Array, weight: Array | None, grad: Array | None
) -> tuple[Array, Array]:
    """The same, with sums over images first."""
    n, groups, _, length = x.shape
    x, g = (v.reshape(n, groups, -1) for v in (x, g))
    size = x.shape[2]
    height = block_rows(n, groups * size)
    ones = np.ones(height, x.dtype)
    scale = _written_out(weight, groups, length)
    share = np.full((groups, size), 1 / size, x.dtype)
    if scale is not None:
        share *= scale
    along, total = np.empty((2, -(-n // height), groups, size), x.dtype)

    def block(i: int, s: slice) -> None:
        part, inverse = g[s], inverses[s]
        d, t = (scratch(role, part.shape, x.dtype) for role in ("centred", "product"))
        np.subtract(x[s], means[s][..., None], d)
        np.multiply(part, d, t)
        np.matmul(ones[: len(part)], part.reshape(len(part), -1), total[i].reshape(-1))
        np.matmul(inverse.T[:, None], t.transpose(1, 0, 2), along[i][:, None])
        if grad is None:
            return
        out = grad[s].reshape(part.shape)
        d *= (np.vecdot(t, share) * inverse * (inverse * inverse))[..., None]
        d += (np.vecdot(part, share) * inverse)[..., None]
        np.multiply(part, inverse[..., None], out)
        if scale is not None:
            out *= scale
        out -= d

    for_rows(n, height, block)
    return along.sum(0).reshape(-1, length), total.sum(0).reshape(-1, length)


def _blocks(x: Array, groups: int) -> Array:
    """`x` [N, C, ...] as [N, G, K, L]."""
    n, channels = x.shape[:2]
    return x.reshape(n, groups, channels // groups, -1)


def _written_out(x: Array | None, groups: int, length: int) -> Array | None:
    """[C] as [G, K * length], each element `length` times."""
    return None if x is None else np.repeat(x, length).reshape(groups, -1)


def _inverse(variance: Array, eps: float) -> Array:
    y = variance + eps
    np.sqrt(y, y)
    return np.divide(1, y, y)


def _is_known(x: Array) -> bool:
    """Halves always are, which the general form would add up as they are."""
    if x.dtype.itemsize == 2:
        return x.size > 0 and x.dtype.kind not in "iu"
    return x.dtype.char in "fd" and x.size > SMALL
