"""Attention for NumPy: a few heads at a time, so that their scores stay in the cache.

With e the exponentials of the scores and t the sums of their rows, the result is (e v) / t; nothing
of the size of the scores is divided, and gradients start from g / t.  The largest score of a row is
subtracted first, unless the lengths of queries and keys say that all scores are small: looking for
it takes twice the time of the exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_matmul import SINGLE
from autograd_gpu.backends.scratch import scratch
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Scores worked on at a time."""

TILE = 64
"""Queries that are looked at together where each sees only the keys before it."""

SMALL = 1 << 12
"""Scores below which it is not worth asking whether they need a shift."""

SAFE = 20.0
"""Magnitude of scores up to which exp is far from what float32 can't hold."""


class _Layout:
    """Operands with a batch each, as [heads, rows, columns]."""

    def __init__(
        self, q: Array, k: Array, v: Array, scores: Sequence[Array | None], is_causal: bool
    ) -> None:
        batches = {x.shape[:-2] for x in (q, k, v, *scores) if x is not None}
        self.batch = batches.pop() if len(batches) == 1 else np.broadcast_shapes(*batches)
        self.heads = prod(self.batch)
        self.length, self.keys = q.shape[-2], k.shape[-2]
        self.dtype = np.dtype(np.float32) if q.dtype.itemsize == 2 else q.dtype
        self.tiles = self._tiles(is_causal)
        size = max([rows.stop - rows.start for rows, _ in self.tiles]) * self.keys
        self.step = max(1, BLOCK // max(1, size))
        # the products of BLAS use its own threads from some size on
        self.is_shared = size * max(q.shape[-1], v.shape[-1]) <= SINGLE

    def flat(self, x: Array) -> Array:
        """`x` [..., rows, columns] as [heads, rows, columns], a copy where it has to be."""
        if x.shape[:-2] != self.batch:
            x = np.broadcast_to(x, (*self.batch, *x.shape[-2:]))
        return x.reshape(self.heads, *x.shape[-2:]).astype(self.dtype, copy=False)

    def _tiles(self, is_causal: bool) -> list[tuple[slice, int]]:
        """Parts of the queries, the last ones first, and how many keys they see at most."""
        if not is_causal or self.length < 2 * TILE:
            return [(slice(0, self.length), self.keys)]
        starts = range(0, self.length, TILE)
        ends = [min(start + TILE, self.length) for start in starts]
        return [
            (slice(start, end), min(end, self.keys))
            for start, end in zip(reversed(starts), reversed(ends), strict=True)
        ]

    def for_blocks(self, work: Callable[[slice], object]) -> None:
        """`work` for slices of the heads, on several threads where BLAS uses but one."""
        count = -(-self.heads // self.step)

        def block(i: int) -> None:
            work(slice(i * self.step, min((i + 1) * self.step, self.heads)))

        if self.is_shared:
            share(block, count)
        else:
            for i in range(count):
                block(i)


def attended(
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None,
    mask: Array | None,
    keep: Array | None,
    *,
    scale: float,
    is_causal: bool,
    p: float,
) -> tuple[Array, Any]:
    """What queries `q` [..., L, E] get of values `v` [..., S, D] by way of keys `k` [..., S, E];
    and what `attention_gradients` gets as `kept`: exponentials, one over their sums, and the
    operands in its layout.

    `bias`, `mask` and what dropout leaves, `keep`, broadcast to [..., L, S].
    """
    if not _knows(q, k, v, bias):
        return NotImplemented
    layout = _Layout(q, k, v, (bias, mask, keep), is_causal)
    dtype, width = layout.dtype, v.shape[-1]
    added = _added(layout, bias, mask, is_causal)
    may_be_empty = bias is not None or mask is not None or not layout.keys
    scaled = np.multiply(layout.flat(q), scale)
    fk, fv = layout.flat(k), layout.flat(v)
    fkeep = None if keep is None else layout.flat(keep)
    exps = np.empty((layout.heads, layout.length, layout.keys), dtype)
    inverse = np.empty((layout.heads, layout.length, 1), dtype)
    y = np.empty((layout.heads, layout.length, width), dtype)
    ones = np.ones(layout.keys, dtype)
    rate = 1 / (1 - p)

    tiles = layout.tiles

    def block(s: slice) -> None:
        for rows, n in tiles:
            tile = (s, rows, slice(0, n))
            e, inv, keys = exps[tile], inverse[s, rows], fk[s, :n]
            queries, out = scaled[s, rows], y[s, rows]
            _times_transposed(queries, keys, e)
            if added is not None:
                extra = added if added.ndim <= 2 else added[s]
                np.add(e, extra if len(tiles) == 1 else extra[..., rows, :n], e)
            if bias is not None or e.size < SMALL or not _bound(queries, keys) <= SAFE:
                top = np.maximum.reduce(e, -1, None, None, True, -np.inf)
                if may_be_empty:
                    top[top == -np.inf] = 0
                np.subtract(e, top, e)
            np.exp(e, e)
            np.vecdot(e, ones[:n], inv[..., 0])
            if may_be_empty:
                inv[inv == 0] = 1
            np.divide(rate, inv, inv)
            np.matmul(_dropped(e, fkeep, tile), fv[s, :n], out)
            np.multiply(out, inv, out)

    layout.for_blocks(block)
    shape = (*layout.batch, layout.length, width)
    return y.reshape(shape).astype(v.dtype, copy=False), (exps, inverse, scaled, fk, fv)


def attention_gradients(
    g: Array,
    y: Array,
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None,
    mask: Array | None,
    keep: Array | None,
    kept: tuple[Array, ...],
    needs: Sequence[bool],
    *,
    scale: float,
    is_causal: bool,
    p: float,
) -> Any:
    """The gradients of `attended` for `q`, `k`, `v` and `bias`, where they are needed.

    They have every axis of the result's batch.
    """
    if not _knows(q, k, v, bias):
        return NotImplemented
    exps, inverse, scaled, fk, fv = kept
    layout = _Layout(q, k, v, (bias, mask, keep), is_causal)
    dtype = layout.dtype
    fg, fy = layout.flat(g), layout.flat(y)
    fkeep = None if keep is None else layout.flat(keep)
    tiles = layout.tiles
    # where the first tile does not see all keys, or not all scores are looked at
    empty = np.empty if tiles[0][1] == layout.keys else np.zeros
    empties = (np.empty, empty, empty, np.empty if len(tiles) == 1 else np.zeros)
    shapes = (scaled.shape, fk.shape, fv.shape, exps.shape)
    grad_q, grad_k, grad_v, grad_bias = (
        make(shape, dtype) if is_needed else None
        for make, shape, is_needed in zip(empties, shapes, needs, strict=True)
    )

    def block(s: slice) -> None:
        for rows, n in tiles:
            tile = (s, rows, slice(0, n))
            is_first = rows is tiles[0][0]
            e = exps[tile]
            # g / t, and for dropout divided by 1 - p too
            gs = np.multiply(fg[s, rows], inverse[s, rows])
            if grad_v is not None:
                _add_product(_dropped(e, fkeep, tile).mT, gs, grad_v[s, :n], is_first)
            if grad_q is None and grad_k is None and grad_bias is None:
                continue
            d = scratch("scores", e.shape, dtype) if grad_bias is None else grad_bias[tile]
            _times_transposed(gs, fv[s, :n], d)
            if fkeep is not None:
                np.multiply(d, fkeep[tile], d)
            # what a row of d adds up to, weighted by its shares, is the product of g and y
            along = np.vecdot(fy[s, rows], gs)[..., None]
            if p:
                along *= 1 - p
            np.subtract(d, along, d)
            np.multiply(d, e, d)
            if grad_q is not None:
                out = grad_q[s, rows]
                np.matmul(d, fk[s, :n], out)
                np.multiply(out, scale, out)
            if grad_k is not None:
                _add_product(d.mT, scaled[s, rows], grad_k[s, :n], is_first)

    layout.for_blocks(block)
    return [
        None if x is None else x.reshape(*layout.batch, *x.shape[-2:])
        for x in (grad_q, grad_k, grad_v, grad_bias)
    ]


def _bound(q: Array, k: Array) -> Any:
    """What no product of a row of `q` and a row of `k` exceeds; NaN where one is NaN."""
    longest = [np.maximum.reduce(np.vecdot(x, x), None, initial=0) for x in (q, k)]
    return np.sqrt(longest[0]) * np.sqrt(longest[1])


def _knows(q: Array, k: Array, v: Array, bias: Array | None) -> bool:
    """Whether all have one and the same real dtype."""
    dtypes = {x.dtype for x in (q, k, v, bias) if x is not None}
    return len(dtypes) == 1 and q.dtype.kind in "fV"


def _added(
    layout: _Layout, bias: Array | None, mask: Array | None, is_causal: bool
) -> Array | None:
    """What bias and masks add to the scores: for all heads [L, S], or for each."""
    added = None if bias is None else bias.astype(layout.dtype, copy=False)
    if mask is not None:
        closed = np.where(mask, layout.dtype.type(0), layout.dtype.type(-np.inf))
        added = closed if added is None else added + closed
    if is_causal:
        is_later = np.arange(layout.length)[:, None] < np.arange(layout.keys)
        later = np.where(is_later, layout.dtype.type(-np.inf), layout.dtype.type(0))
        added = later if added is None else added + later
    return added if added is None or added.ndim <= 2 else layout.flat(added)


def _times_transposed(a: Array, b: Array, out: Array) -> None:
    """Write the products of `a` and the transposes of `b` to `out`.

    BLAS multiplies small matrices faster as they lie than transposed, by more than a copy takes.
    """
    if max(out.shape[-2:]) <= TILE:
        heads, keys, width = b.shape
        columns = scratch("columns", (heads, width, keys), b.dtype)
        np.copyto(columns, b.mT)
        np.matmul(a, columns, out)
    else:
        np.matmul(a, b.mT, out)


def _add_product(a: Array, b: Array, out: Array, is_first: bool) -> None:
    """Write the product of `a` and `b` to `out`, or add it."""
    if is_first:
        np.matmul(a, b, out)
    else:
        np.add(out, np.matmul(a, b, scratch("product", out.shape, out.dtype)), out)


def _dropped(e: Array, keep: Array | None, tile: tuple[slice, ...]) -> Array:
    if keep is None:
        return e
    return np.multiply(e, keep[tile], scratch("dropped", e.shape, e.dtype))
