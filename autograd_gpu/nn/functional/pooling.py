"""Pooling over signals [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W]."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_sizes, backend_near, raw, shape_of
from autograd_gpu.placement import on_its_device
from autograd_gpu.variable import Variable

Sizes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]
Size = int | Sequence[int]
_AXES = {1: "L", 2: "H, W", 3: "D, H, W"}


def max_pool1d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> Variable:
    """The maximum of each window of `x` [N, C, L] (or [C, L]); see `max_pool2d`."""
    return _max_pool("max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> Variable:
    """The maximum of each window of `x` [N, C, H, W] (or [C, H, W]).

    `stride` is `kernel_size` unless given; padding is below every number.  With `ceil_mode` a last
    window may reach over the edge.  Where elements are equal the first gets the gradient.

    >>> max_pool2d(reshape(arange(16.0), (1, 1, 4, 4)), 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _max_pool("max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> Variable:
    """The maximum of each window of `x` [N, C, D, H, W] (or [C, D, H, W]); see `max_pool2d`."""
    return _max_pool("max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Variable:
    """The mean of each window of `x` [N, C, L] (or [C, L]); see `avg_pool2d`."""
    return _avg_pool(
        "avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def avg_pool2d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Variable:
    """The mean of each window of `x` [N, C, H, W] (or [C, H, W]); arguments as in `max_pool2d`.

    Padding counts as zeros, or, without `count_include_pad`, not at all.

    >>> avg_pool2d(reshape(arange(16.0), (1, 1, 4, 4)), 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    return _avg_pool(
        "avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def avg_pool3d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Variable:
    """The mean of each window of `x` [N, C, D, H, W] (or [C, D, H, W]); see `avg_pool2d`."""
    return _avg_pool(
        "avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def _max_pool(
    op: str,
    d: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Variable:
    shape = shape_of(x)
    if len(shape) == d + 1:
        x = ops.expand_dims(x, axis=0)
        y = _max_pool(op, d, x, kernel_size, stride, padding, dilation, ceil_mode)
        return ops.squeeze(y, axis=0)
    size = as_sizes(op, "kernel_size", kernel_size, d)
    steps = size if stride is None else as_sizes(op, "stride", stride, d)
    dilations = as_sizes(op, "dilation", dilation, d)
    pad = as_sizes(op, "padding", padding, d, 0)
    pads, _ = _layout(op, shape, size, steps, pad, dilations, ceil_mode)
    return ops.max_pool(x, size=size, stride=steps, padding=pads, dilation=dilations)


@on_its_device
def _avg_pool(
    op: str,
    d: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Variable:
    shape = shape_of(x)
    if len(shape) == d + 1:
        y = _avg_pool(
            op, d, ops.expand_dims(x, axis=0), kernel_size, stride, padding, ceil_mode,
            count_include_pad, divisor_override,
        )  # fmt: skip
        return ops.squeeze(y, axis=0)
    size = as_sizes(op, "kernel_size", kernel_size, d)
    steps = size if stride is None else as_sizes(op, "stride", stride, d)
    pad = as_sizes(op, "padding", padding, d, 0)
    pads, out = _layout(op, shape, size, steps, pad, (1,) * d, ceil_mode)
    total = ops.sum_pool(x, size=size, stride=steps, padding=pads)
    if divisor_override is not None:
        if not divisor_override:
            raise ValueError(f"{op}: divisor_override must not be 0")
        return ops.multiply(total, 1 / divisor_override)
    counts = [
        _counts(n, k, s, p, length, count_include_pad)
        for n, k, s, p, length in zip(shape[2:], size, steps, pad, out, strict=True)
    ]
    if all(len(set(c)) == 1 for c in counts):
        return ops.multiply(total, 1 / prod(c[0] for c in counts))
    asarray = backend_near(x).asarray
    inverse: Any = 1
    for axis, c in enumerate(counts):
        inverse = inverse * asarray([1 / n for n in c], total.dtype).reshape(
            (-1, *[1] * (d - 1 - axis))
        )
    return ops.multiply(total, inverse)


# Adaptive pooling: window i of an axis of n into `out` is [i * n // out, ceil((i + 1) * n / out))


def adaptive_avg_pool1d(x: Any, output_size: Size) -> Variable:
    """The means of windows that divide `x` [..., L] into `output_size` as evenly as they can."""
    return _adaptive_avg("adaptive_avg_pool1d", 1, x, output_size)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Variable:
    """The means of windows that divide `x` [..., H, W] into `output_size` as evenly as they can.

    Where a size is None that axis stays as it is.
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, x, output_size)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Variable:
    """The means of windows that divide `x` [..., D, H, W]; see `adaptive_avg_pool2d`."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, x, output_size)


def adaptive_max_pool1d(x: Any, output_size: Size) -> Variable:
    """The maxima of windows that divide `x` [..., L] into `output_size` as evenly as they can."""
    return _adaptive_max("adaptive_max_pool1d", 1, x, output_size)


def adaptive_max_pool2d(x: Any, output_size: Any) -> Variable:
    """The maxima of windows that divide `x` [..., H, W] into `output_size` as evenly as they can.

    The first of equal elements gets the gradient.  Where a size is None that axis stays as it is.

    >>> adaptive_max_pool2d(reshape(arange(9.0), (1, 1, 3, 3)), 2).tolist()
    [[[[4.0, 5.0], [7.0, 8.0]]]]
    """
    return _adaptive_max("adaptive_max_pool2d", 2, x, output_size)


def adaptive_max_pool3d(x: Any, output_size: Any) -> Variable:
    """The maxima of windows that divide `x` [..., D, H, W]; see `adaptive_max_pool2d`."""
    return _adaptive_max("adaptive_max_pool3d", 3, x, output_size)


def _adaptive_sizes(op: str, d: int, x: Any, output_size: Any) -> tuple[Sizes, Sizes]:
    shape = shape_of(x)
    if len(shape) not in (d + 1, d + 2):
        raise ValueError(f"{op}: x must be [N, C, {_AXES[d]}], not {list(shape)}")
    extent = shape[-d:]
    if not min(extent):
        raise ValueError(f"{op}: x {list(shape)} has an empty axis")
    if isinstance(output_size, (tuple, list)) and len(output_size) == d:
        output_size = [
            n if out is None else out for out, n in zip(output_size, extent, strict=True)
        ]
    return extent, as_sizes(op, "output_size", output_size, d)


def _bounds(n: int, out: int) -> list[tuple[int, int]]:
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _adaptive_avg(op: str, d: int, x: Any, output_size: Any) -> Variable:
    extent, sizes = _adaptive_sizes(op, d, x, output_size)
    asarray = backend_near(x).asarray
    dtype = x.dtype if hasattr(x, "dtype") else None
    y = ops.asarray(x)
    for axis, (n, out) in enumerate(zip(extent, sizes, strict=True), -d):
        if n == out:
            continue
        averages = [
            [1 / (stop - start) if start <= j < stop else 0.0 for j in range(n)]
            for start, stop in _bounds(n, out)
        ]
        y = along_axis(asarray(averages, dtype), y, axis)
    return y


def along_axis(matrix: Any, x: Any, axis: int) -> Variable:
    """`matrix` [out, n] applied to `x` along `axis`, which is negative."""
    if axis == -1:
        return ops.matmul(x, matrix.T)
    if axis == -2:
        return ops.matmul(matrix, x)
    shape = shape_of(x)
    rows = ops.reshape(x, (*shape[: axis + 1], -1))
    return ops.reshape(
        ops.matmul(matrix, rows), (*shape[:axis], matrix.shape[0], *shape[axis + 1 :])
    )


@on_its_device
def _adaptive_max(op: str, d: int, x: Any, output_size: Any) -> Variable:
    extent, sizes = _adaptive_sizes(op, d, x, output_size)
    x = ops.asarray(x)
    backend = backend_near(x)
    xp = backend.xp
    lead = x.shape[:-d]
    # elements [out..., k...] of each window, by their place in the flat array
    places: Any = 0
    step = prod(extent)
    for axis, (n, out) in enumerate(zip(extent, sizes, strict=True)):
        step //= n
        bounds = _bounds(n, out)
        k = max(stop - start for start, stop in bounds)
        # shorter windows repeat their last element
        rows = [
            [min(j, stop - 1) * step for j in range(start, start + k)] for start, stop in bounds
        ]
        shape = [1] * (2 * d)
        shape[axis], shape[d + axis] = out, k
        places = places + backend.asarray(rows).reshape(shape)
    places = places.reshape((prod(sizes), -1))
    flat = ops.reshape(x, (*lead, -1))
    windows = xp.take(raw(flat), places.reshape(-1), axis=-1).reshape((*lead, *places.shape))
    first = xp.argmax(windows, axis=-1)
    index = places[xp.arange(places.shape[0]), first]
    return ops.reshape(ops.take_along_axis(flat, index, axis=-1), (*lead, *sizes))


def _layout(
    op: str,
    shape: Sizes,
    size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> tuple[Padding, Sizes]:
    """Padding at both ends, such that the last windows fit, and the output's extent."""
    if len(shape) != len(size) + 2:
        raise ValueError(f"{op}: x must be [N, C, {_AXES[len(size)]}], not {list(shape)}")
    pads, outs = [], []
    for n, k, s, p, d in zip(shape[2:], size, stride, padding, dilation, strict=True):
        if 2 * p > k:
            raise ValueError(f"{op}: padding {p} is more than half of the kernel size {k}")
        span = d * (k - 1) + 1
        room = n + 2 * p - span
        out = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out -= 1  # a window that starts in the padding at the end is left out
        if room < 0 or out < 1:
            raise ValueError(
                f"{op}: a window of {span} does not fit into {n} with padding {p}, x {list(shape)}"
            )
        needed = (out - 1) * s + span - n - p
        pads.append((p, max(p, needed)))
        outs.append(out)
    return tuple(pads), tuple(outs)


def _counts(n: int, k: int, s: int, p: int, out: int, include_padding: bool) -> list[int]:
    """How many elements each window divides by, along one axis."""
    counts = []
    for i in range(out):
        start = i * s - p
        stop = min(start + k, n + p)
        if not include_padding:
            start, stop = max(start, 0), min(stop, n)
        counts.append(stop - start)
    return counts
