"""Pooling over signals [N, C, L], images [N, C, H, W] and volumes [N, C, D, H, W]."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, as_sizes, backend_near, shape_of
from autograd_gpu.nn.functional.unpooling import first_maxima
from autograd_gpu.placement import on_its_device
from autograd_gpu.variable import Variable

Sizes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]
Size = int | Sequence[int]


def max_pool1d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of `x` [N, C, L] (or [C, L]); see `max_pool2d`."""
    return _max_pool(
        "max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool2d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of `x` [N, C, H, W] (or [C, H, W]).

    `stride` is `kernel_size` unless given; padding is below every number.  With `ceil_mode` a last
    window may reach over the edge.  Where elements are equal the first gets the gradient.
    With `return_indices` the result is a pair of it and where the maxima are: integers that count
    the pixels of an image, which `max_unpool2d` takes.  That is slower.

    >>> max_pool2d(reshape(arange(16.0), (1, 1, 4, 4)), 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _max_pool(
        "max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool3d(
    x: Any,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of `x` [N, C, D, H, W] (or [C, D, H, W]); see `max_pool2d`."""
    return _max_pool(
        "max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


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


def lp_pool1d(
    x: Any,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Variable:
    """The p-norm of each window of `x` [N, C, L] (or [C, L]); see `lp_pool2d`."""
    return _lp_pool("lp_pool1d", 1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Any,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Variable:
    """(Σ xᵖ)^(1/p) of each window of `x` [N, C, H, W] (or [C, H, W]) with p = `norm_type`.

    As in PyTorch the sign stays, so that odd p is for positive numbers, and with `ceil_mode` a
    window that reaches over the edge counts as much as a whole one.  Infinity is the largest
    abs(x).

    >>> lp_pool2d([[[3.0, 4.0]]], 2, (1, 2)).tolist()
    [[[5.0]]]
    """
    return _lp_pool("lp_pool2d", 2, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    x: Any,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Variable:
    """The p-norm of each window of `x` [N, C, D, H, W] (or [C, D, H, W]); see `lp_pool2d`."""
    return _lp_pool("lp_pool3d", 3, x, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(
    op: str, d: int, x: Any, p: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Variable:
    x = ops.asarray(x)
    if p == inf:
        x, options = ops.abs_(x), (kernel_size, stride, 0, 1, ceil_mode, False)
        return _max_pool(op, d, x, *options)  # type: ignore[no-any-return]
    if not p > 0:
        raise ValueError(f"{op}: norm_type={p} must be positive")
    mean = _avg_pool(op, d, x**p, kernel_size, stride, 0, ceil_mode, True, None)
    return (mean * prod(as_sizes(op, "kernel_size", kernel_size, d))) ** (1 / p)


def _max_pool(
    op: str,
    d: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    shape = shape_of(x)
    size = as_sizes(op, "kernel_size", kernel_size, d)
    steps = size if stride is None else as_sizes(op, "stride", stride, d)
    spread = as_sizes(op, "dilation", dilation, d)
    pad = as_sizes(op, "padding", padding, d, 0)
    if len(shape) == d + 1:
        x = ops.expand_dims(x, axis=0)
        y = _max_pool(op, d, x, size, steps, pad, spread, ceil_mode, return_indices)
        return tuple(z[0] for z in y) if return_indices else ops.squeeze(y, axis=0)
    pads, out = _layout(op, shape, size, steps, pad, spread, ceil_mode)
    if not return_indices:
        return ops.max_pool(x, size=size, stride=steps, padding=pads, dilation=spread)
    axes = []
    for n, length, k, s, p, step in zip(shape[2:], out, size, steps, pad, spread, strict=True):
        rows = []
        for i in range(length):
            inside = [j for j in range(i * s - p, i * s - p + k * step, step) if 0 <= j < n]
            if not inside:
                raise ValueError(f"{op}: window {i} lies between the elements of an axis of {n}")
            # windows that reach over an edge repeat their last element
            rows.append(inside + inside[-1:] * (k - len(inside)))
        axes.append(rows)
    return first_maxima(x, axes)


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
    constant = backend_near(x).constant
    inverse: Any = 1
    for axis, c in enumerate(counts):
        inverse = inverse * constant([1 / n for n in c], total.dtype).reshape(
            (-1, *[1] * (d - 1 - axis))
        )
    return ops.multiply(total, inverse)


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
        raise ValueError(f"{op}: x must be [N, C, {AXES[len(size)]}], not {list(shape)}")
    pads, outs = [], []
    for n, k, s, p, d in zip(shape[2:], size, stride, padding, dilation, strict=True):
        if 2 * p > k:
            raise ValueError(f"{op}: padding {p} is more than half of the kernel size {k}")
        span = d * (k - 1) + 1
        room = n + 2 * p - span
        out = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out -= 1  # a window that starts in the padding at the end is left out
        if out < 1:
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
