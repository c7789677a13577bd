"""Where the maxima of windows are, and how they get back there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, as_raw, as_sizes, backend_near, raw, shape_of
from autograd_gpu.placement import on_its_device
from autograd_gpu.variable import Variable

Size = int | Sequence[int]


@on_its_device
def first_maxima(x: Any, axes: list[list[list[int]]]) -> tuple[Variable, Variable]:
    """Maxima [..., *out] of windows of `x` over its last axes, and their places, integers that
    count the elements of these axes; of equal ones the first.

    `axes` has for each axis the positions [out, k] that its windows cover.
    """
    x = ops.asarray(x)
    d = len(axes)
    lead, extent = x.shape[:-d], x.shape[-d:]
    backend = backend_near(x)
    xp = backend.xp
    # elements [out..., k...] of each window, by their place in the flat array
    places: Any = 0
    step = prod(extent)
    for axis, (n, rows) in enumerate(zip(extent, axes, strict=True)):
        step //= n
        shape = [1] * (2 * d)
        shape[axis], shape[d + axis] = len(rows), len(rows[0])
        places = places + backend.constant(rows).reshape(shape) * step
    sizes = tuple(len(rows) for rows in axes)
    places = places.reshape((prod(sizes), -1))
    flat = ops.reshape(x, (*lead, -1))
    windows = xp.take(raw(flat), places.reshape(-1), axis=-1).reshape((*lead, *places.shape))
    first = xp.argmax(windows, axis=-1)
    index = places[xp.arange(places.shape[0]), first]
    y = ops.reshape(ops.take_along_axis(flat, index, axis=-1), (*lead, *sizes))
    return y, Variable(index.reshape((*lead, *sizes)))


def max_unpool1d(
    x: Any,
    indices: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Variable:
    """The inverse of `max_pool1d`, as far as there is one; see `max_unpool2d`."""
    return _unpooled("max_unpool1d", 1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Any,
    indices: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Variable:
    """Zeros with the elements of `x` [N, C, h, w] (or [C, h, w]) at `indices`, which `max_pool2d`
    gave with `return_indices`.

    Several sizes are pooled to the same: `output_size`, (H, W) or with N and C, tells which it was,
    unless that is (h - 1) stride - 2 padding + kernel_size.  Raises IndexError for an index outside
    the output, but not on a GPU.

    >>> x = reshape(arange(4.0), (1, 1, 2, 2))
    >>> y, indices = max_pool2d(x, 2, return_indices=True)
    >>> max_unpool2d(y, indices, 2).tolist()
    [[[[0.0, 0.0], [0.0, 3.0]]]]
    """
    return _unpooled("max_unpool2d", 2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Any,
    indices: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: Sequence[int] | None = None,
) -> Variable:
    """The inverse of `max_pool3d`, as far as there is one; see `max_unpool2d`."""
    return _unpooled("max_unpool3d", 3, x, indices, kernel_size, stride, padding, output_size)


@on_its_device
def _unpooled(
    op: str,
    d: int,
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Sequence[int] | None,
) -> Variable:
    shape, at = shape_of(x), as_raw(indices, x)
    if len(shape) not in (d + 1, d + 2) or at.shape != shape:
        raise ValueError(
            f"{op}: x {list(shape)} and indices {list(at.shape)} must both be [N, C, {AXES[d]}]"
        )
    if at.dtype.kind not in "iu":
        raise TypeError(f"{op}: indices are integers, not {at.dtype}")
    size = as_sizes(op, "kernel_size", kernel_size, d)
    steps = size if stride is None else as_sizes(op, "stride", stride, d)
    pads = as_sizes(op, "padding", padding, d, 0)
    extent = tuple(
        (n - 1) * s - 2 * p + k for n, k, s, p in zip(shape[-d:], size, steps, pads, strict=True)
    )
    if output_size is not None:
        wanted = tuple(output_size)[-d:]
        if len(wanted) != d or any(
            not n - s < w < n + s for n, s, w in zip(extent, steps, wanted, strict=True)
        ):
            raise ValueError(
                f"{op}: output_size {tuple(output_size)} is not pooled to {shape[-d:]}, but one "
                f"within a stride of {extent} is"
            )
        extent = wanted
    lead = shape[:-d]
    y = backend_near(x).xp.zeros((*lead, prod(extent)), dtype=ops.asarray(x).dtype)
    put = ops.put_along_axis(y, at.reshape((*lead, -1)), ops.reshape(x, (*lead, -1)), axis=-1)
    return ops.reshape(put, (*lead, *extent))
