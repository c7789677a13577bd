"""Pooling over images [N, C, H, W]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import Padding, Pair, as_pair, backend_near, shape_of
from autograd_gpu.variable import Variable


def max_pool2d(
    x: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Variable:
    """The maximum of each window of `x` [N, C, H, W] (or [C, H, W]).

    `stride` is `kernel_size` unless given; padding is below every number.  With `ceil_mode` a last
    window may reach over the edge.  Where elements are equal the first gets the gradient.

    >>> max_pool2d(reshape(arange(16.0), (1, 1, 4, 4)), 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    if len(shape_of(x)) == 3:
        y = max_pool2d(
            ops.expand_dims(x, axis=0), kernel_size, stride, padding, dilation, ceil_mode
        )
        return ops.squeeze(y, axis=0)
    op = "max_pool2d"
    size = as_pair(op, "kernel_size", kernel_size)
    steps = size if stride is None else as_pair(op, "stride", stride)
    dilations = as_pair(op, "dilation", dilation)
    pads, _ = _layout(op, shape_of(x), size, steps, as_pair(op, "padding", padding, 0), dilations,
                      ceil_mode)  # fmt: skip
    return ops.max_pool2d(x, size=size, stride=steps, padding=pads, dilation=dilations)


def avg_pool2d(
    x: Any,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Variable:
    """The mean of each window of `x` [N, C, H, W] (or [C, H, W]); arguments as in `max_pool2d`.

    Padding counts as zeros, or, without `count_include_pad`, not at all.

    >>> avg_pool2d(reshape(arange(16.0), (1, 1, 4, 4)), 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    shape = shape_of(x)
    if len(shape) == 3:
        x = ops.expand_dims(x, axis=0)
        y = avg_pool2d(
            x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
        return ops.squeeze(y, axis=0)
    op = "avg_pool2d"
    size = as_pair(op, "kernel_size", kernel_size)
    steps = size if stride is None else as_pair(op, "stride", stride)
    pad = as_pair(op, "padding", padding, 0)
    pads, out = _layout(op, shape, size, steps, pad, (1, 1), ceil_mode)
    total = ops.sum_pool2d(x, size=size, stride=steps, padding=pads)
    if divisor_override is not None:
        if not divisor_override:
            raise ValueError("avg_pool2d: divisor_override must not be 0")
        return ops.multiply(total, 1 / divisor_override)
    counts = [
        _counts(n, k, s, p, length, count_include_pad)
        for n, k, s, p, length in zip(shape[2:], size, steps, pad, out, strict=True)
    ]
    if all(len(set(c)) == 1 for c in counts):
        return ops.multiply(total, 1 / (counts[0][0] * counts[1][0]))
    inverse = [[1 / (rows * columns) for columns in counts[1]] for rows in counts[0]]
    return ops.multiply(total, backend_near(x).asarray(inverse, total.dtype))


def adaptive_avg_pool2d(x: Any, output_size: int | Sequence[int]) -> Variable:
    """The means of windows that divide `x` [..., H, W] into `output_size` as evenly as they can."""
    height, width = as_pair("adaptive_avg_pool2d", "output_size", output_size)
    y = ops.matmul(x, _averages(x, shape_of(x)[-1], width, transposed=True))
    return ops.matmul(_averages(x, shape_of(x)[-2], height, transposed=False), y)


def _averages(x: Any, n: int, out: int, *, transposed: bool) -> Any:
    """The matrix [out, n] whose rows average over the window of each output."""
    rows = []
    for i in range(out):
        start, stop = i * n // out, -(-(i + 1) * n // out)
        rows.append([1 / (stop - start) if start <= j < stop else 0.0 for j in range(n)])
    if transposed:
        rows = [list(column) for column in zip(*rows, strict=True)]
    dtype = x.dtype if hasattr(x, "dtype") else None
    return backend_near(x).asarray(rows, dtype)


def _layout(
    op: str,
    shape: tuple[int, ...],
    size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> tuple[Padding, Pair]:
    """Padding at both ends, such that the last windows fit, and the output's extent."""
    if len(shape) != 4:
        raise ValueError(f"{op}: x must be [N, C, H, W], not {list(shape)}")
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
    return (pads[0], pads[1]), (outs[0], outs[1])


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
