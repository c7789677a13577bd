"""Convolution for NumPy: blocks of images are unfolded into columns and multiplied by BLAS.

With stride 1 the unfolded rows are cut from the flattened padded image, so that a row is one long
copy: the kernel element (i, j) sees the image shifted by i * width + j.  Such a row also holds
kernel positions across the right edge; they are computed and dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_matmul import SINGLE
from autograd_gpu.backends.scratch import scratch
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]

BLOCK = 1 << 20
"""Bytes of columns worked on at a time; measured to be best from 1 to 4 MiB.  The smaller they are,
the more evenly threads share them."""

PIECES = 4
"""Products up to so many times `SINGLE` are cut up, so that BLAS computes them in one thread each.

It would need longer to wake another one than for such a product.  The weight's gradient gains even
on one thread: OpenBLAS took half as long for [16, 140] @ [140, 75] twice as for a width of 150."""

_as_strided = np.lib.stride_tricks.as_strided


class _Layout:
    """How images [N, C, H, W] and outputs [N, O, out_h, out_w] are laid out for BLAS.

    columns: [n, groups, C / groups * kh * kw, length]; results: [n, groups, O / groups, length].
    """

    def __init__(
        self,
        x_shape: tuple[int, ...],
        size: Pair,
        stride: Pair,
        padding: Padding,
        dilation: Pair,
        groups: int,
        dtype: np.dtype[Any],
    ) -> None:
        self.n, self.c, self.h, self.w = x_shape
        self.size, self.stride, self.dilation, self.groups = size, stride, dilation, groups
        (self.top, bottom), (self.left, right) = padding
        self.full_h, self.full_w = self.h + self.top + bottom, self.w + self.left + right
        self.out_h, self.out_w = (
            (full - d * (k - 1) - 1) // s + 1
            for full, k, s, d in zip(
                (self.full_h, self.full_w), size, stride, dilation, strict=True
            )
        )
        self.dtype = np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype
        self.is_plain = size == (1, 1) == stride and padding == ((0, 0), (0, 0))
        self.is_flat = stride == (1, 1) and 2 * self.full_w <= 3 * self.out_w
        self.row = self.full_w if self.is_flat else self.out_w
        self.length = self.out_h * self.row
        self.rows = self.c // groups * prod(size)

    def blocks(self) -> list[slice]:
        """Slices over the images, of about BLOCK bytes of columns each."""
        per_image = self.groups * self.rows * self.length * self.dtype.itemsize
        n = max(1, BLOCK // max(1, per_image))
        return [slice(i, min(i + n, self.n)) for i in range(0, self.n, n)]

    def cuts(self, outputs: int, n: int) -> list[slice]:
        """Pieces of an axis of size `n` into which to cut the product for an image, with this many
        `outputs`; a single one if it is so large that BLAS spreads it over threads of its own."""
        count = -(-(outputs // self.groups * self.rows * self.length) // SINGLE)
        if count > PIECES:
            return [slice(None)]
        return [slice(i * n // count, (i + 1) * n // count) for i in range(count)]

    def for_blocks(self, outputs: int, work: Callable[[int, slice], object]) -> int:
        """`work(i, images)` for each block, and how many there are.

        Several threads share them, unless BLAS uses several for one product.
        """
        blocks = self.blocks()
        if outputs // self.groups * self.rows * self.length <= PIECES * SINGLE:
            share(lambda i: work(i, blocks[i]), len(blocks))
        else:
            for i, images in enumerate(blocks):
                work(i, images)
        return len(blocks)

    def padded(self, n: int) -> tuple[Array, Array]:
        """Zeroed scratch memory for `n` padded images, flat with some slack, and their inside."""
        area = self.full_h * self.full_w
        slack = self.dilation[1] * (self.size[1] - 1)
        flat = scratch("padded", (n, self.c, area + slack), self.dtype)
        flat.fill(0)
        images = flat[:, :, :area].reshape(n, self.c, self.full_h, self.full_w)
        inside = images[:, :, self.top : self.top + self.h, self.left : self.left + self.w]
        return flat, inside

    def columns(self, x: Array, *, joined: bool = False) -> Array:
        """The unfolded images `x` [n, C, H, W]; joined, side by side: [rows, n * length]."""
        n = len(x)
        if self.is_plain and x.dtype == self.dtype and not joined:
            return x.reshape(n, self.groups, self.rows, self.length)
        (kh, kw), (dh, dw), (sh, sw) = self.size, self.dilation, self.stride
        flat, inside = self.padded(n)
        inside[...] = x
        image, channel, item = flat.strides
        down = item * self.full_w
        shape: tuple[int, ...] = (n, self.c, kh, kw, self.length)
        strides: tuple[int, ...] = (image, channel, dh * down, dw * item, item)
        if not self.is_flat:
            shape = (*shape[:-1], self.out_h, self.out_w)
            strides = (*strides[:-1], sh * down, sw * item)
        if joined:
            shape = (*shape[1:4], n, *shape[4:])
            strides = (*strides[1:4], image, *strides[4:])
        columns = scratch("columns", shape, self.dtype)
        columns[...] = _as_strided(flat, shape, strides)
        if joined:
            return columns.reshape(self.rows, n * self.length)
        return columns.reshape(n, self.groups, self.rows, self.length)

    def fold(self, columns: Array, out: Array) -> None:
        """The transpose of `columns`: add each column where it came from, into `out`."""
        n = len(out)
        (kh, kw), (dh, dw), (sh, sw) = self.size, self.dilation, self.stride
        flat, inside = self.padded(n)
        width = self.full_w
        if self.is_flat:
            columns = columns.reshape(n, self.c, kh, kw, self.length)
            for i in range(kh):
                for j in range(kw):
                    start = i * dh * width + j * dw
                    target = flat[:, :, start : start + self.length]
                    np.add(target, columns[:, :, i, j], target)
        else:
            columns = columns.reshape(n, self.c, kh, kw, self.out_h, self.out_w)
            images = flat[:, :, : self.full_h * width].reshape(n, self.c, self.full_h, width)
            for i in range(kh):
                for j in range(kw):
                    y, x = i * dh, j * dw
                    target = images[
                        :, :, y : y + sh * self.out_h : sh, x : x + sw * self.out_w : sw
                    ]
                    target = target[:, :, : self.out_h, : self.out_w]
                    np.add(target, columns[:, :, i, j], target)
        out[...] = inside

    def results(self, g: Array, *, joined: bool = False) -> Array:
        """Outputs `g` [n, O, out_h, out_w] in the layout of results; 0 where they are dropped."""
        n, o = g.shape[:2]
        if joined:
            rows = scratch("results", (o, n, self.out_h, self.row), self.dtype)
            rows[..., self.out_w :] = 0
            rows[..., : self.out_w] = g.swapaxes(0, 1)
            return rows.reshape(o, n * self.length)
        shape = (n, self.groups, o // self.groups, self.length)
        if self.row == self.out_w and g.dtype == self.dtype:
            return np.ascontiguousarray(g).reshape(shape)
        rows = scratch("results", (n, o, self.out_h, self.row), self.dtype)
        rows[..., self.out_w :] = 0
        rows[..., : self.out_w] = g
        return rows.reshape(shape)


def conv2d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """`x` [N, C, H, W] correlated with `weight` [O, C / groups, kh, kw], plus `bias` [O]."""
    dtype = np.result_type(x, weight) if bias is None else np.result_type(x, weight, bias)
    o = len(weight)
    layout = _Layout(x.shape, weight.shape[2:], stride, padding, dilation, groups, dtype)
    kernels = np.ascontiguousarray(weight, layout.dtype).reshape(groups, o // groups, layout.rows)
    y = np.empty((layout.n, o, layout.out_h, layout.out_w), dtype)
    added = 0 if bias is None else bias.reshape(o, 1, 1)
    cuts = layout.cuts(o, layout.length)

    def block(i: int, images: slice) -> None:
        columns = layout.columns(x[images])
        n = len(columns)
        rows = scratch("results", (n, groups, o // groups, layout.length), layout.dtype)
        for cut in cuts:
            np.matmul(kernels, columns[..., cut], rows[..., cut])
        rows = rows.reshape(n, o, layout.out_h, layout.row)[..., : layout.out_w]
        np.add(rows, added, y[images], casting="same_kind")

    layout.for_blocks(o, block)
    return y


def conv2d_input(
    g: Array,
    weight: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient for `x` [N, C, *size] of `conv2d`, from that of its output, `g`."""
    dtype = np.result_type(g, weight)
    o, c = len(weight), weight.shape[1] * groups
    x_shape = (len(g), c, *size)
    layout = _Layout(x_shape, weight.shape[2:], stride, padding, dilation, groups, dtype)
    kernels = weight.astype(layout.dtype).reshape(groups, o // groups, layout.rows)
    transposed = np.ascontiguousarray(kernels.swapaxes(1, 2))
    out = np.empty(x_shape, dtype)
    cuts = layout.cuts(o, layout.length)

    def block(i: int, images: slice) -> None:
        results = layout.results(g[images])
        shape = (len(results), groups, layout.rows, layout.length)
        if layout.is_plain and dtype == layout.dtype:
            np.matmul(transposed, results, out[images].reshape(shape))
            return
        columns = scratch("columns", shape, layout.dtype)
        for cut in cuts:
            np.matmul(transposed, results[..., cut], columns[..., cut])
        layout.fold(columns, out[images])

    layout.for_blocks(o, block)
    return out


def conv2d_weight(
    x: Array,
    g: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
    groups: int,
) -> Array:
    """The gradient for `weight` [O, C / groups, *size] of `conv2d`, from that of its output."""
    dtype = np.result_type(x, g)
    o = g.shape[1]
    layout = _Layout(x.shape, size, stride, padding, dilation, groups, dtype)
    parts: dict[int, Array] = {}
    # One product over all images of a block uses all cores; for few rows BLAS is slow at it.
    cuts = layout.cuts(o, layout.rows)
    joined = groups == 1 and o * layout.rows > 1024 and cuts == [slice(None)]

    def block(i: int, images: slice) -> None:
        results = layout.results(g[images], joined=joined)
        columns = layout.columns(x[images], joined=joined)
        if joined:
            parts[i] = results @ columns.T
            return
        sums = [
            np.add.reduce(np.matmul(results, columns[:, :, cut].swapaxes(2, 3)), 0) for cut in cuts
        ]
        parts[i] = sums[0] if len(cuts) == 1 else np.concatenate(sums, axis=-1)

    total = np.zeros((groups, o // groups, layout.rows), layout.dtype)
    for i in range(layout.for_blocks(o, block)):  # in their order, whoever was first
        total += parts[i]
    return total.astype(dtype, copy=False).reshape(o, x.shape[1] // groups, *size)
