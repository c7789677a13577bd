"""Pooling into outputs of a given size, over signals, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, as_sizes, backend_near, shape_of
from autograd_gpu.nn.functional.linear import along_axis
from autograd_gpu.nn.functional.unpooling import first_maxima
from autograd_gpu.variable import Variable

Sizes = tuple[int, ...]
Size = int | Sequence[int]


def adaptive_avg_pool1d(x: Any, output_size: Size) -> Variable:
    """The means of windows that divide `x` [..., L] into `output_size` as evenly as they can."""
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, x, output_size)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Variable:
    """The means of windows that divide `x` [..., H, W] into `output_size` as evenly as they can.

    Where a size is None that axis stays as it is.
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, x, output_size)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Variable:
    """The means of windows that divide `x` [..., D, H, W]; see `adaptive_avg_pool2d`."""
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, x, output_size)


def adaptive_max_pool1d(x: Any, output_size: Size, return_indices: bool = False) -> Any:
    """The maxima of windows that divide `x` [..., L] into `output_size` as evenly as they can."""
    return _adaptive_max("adaptive_max_pool1d", 1, x, output_size, return_indices)


def adaptive_max_pool2d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that divide `x` [..., H, W] into `output_size` as evenly as they can.

    The first of equal elements gets the gradient.  Where a size is None that axis stays as it is.
    With `return_indices` also where the maxima are, as in `max_pool2d`.

    >>> adaptive_max_pool2d(reshape(arange(9.0), (1, 1, 3, 3)), 2).tolist()
    [[[[4.0, 5.0], [7.0, 8.0]]]]
    """
    return _adaptive_max("adaptive_max_pool2d", 2, x, output_size, return_indices)


def adaptive_max_pool3d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that divide `x` [..., D, H, W]; see `adaptive_max_pool2d`."""
    return _adaptive_max("adaptive_max_pool3d", 3, x, output_size, return_indices)


def _adaptive_sizes(op: str, d: int, x: Any, output_size: Any) -> tuple[Sizes, Sizes]:
    shape = shape_of(x)
    if len(shape) not in (d + 1, d + 2):
        raise ValueError(f"{op}: x must be [N, C, {AXES[d]}], not {list(shape)}")
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


def adaptive_avg_pool(op: str, d: int, x: Any, output_size: Any) -> Variable:
    """`adaptive_avg_pool2d` over the last `d` axes; errors name `op`."""
    extent, sizes = _adaptive_sizes(op, d, x, output_size)
    constant = backend_near(x).constant
    dtype = x.dtype if hasattr(x, "dtype") else None
    y = ops.asarray(x)
    for axis, (n, out) in enumerate(zip(extent, sizes, strict=True), -d):
        if n == out:
            continue
        averages = [
            [1 / (stop - start) if start <= j < stop else 0.0 for j in range(n)]
            for start, stop in _bounds(n, out)
        ]
        y = along_axis(constant(averages, dtype), y, axis)
    return y


def _adaptive_max(op: str, d: int, x: Any, output_size: Any, return_indices: bool) -> Any:
    extent, sizes = _adaptive_sizes(op, d, x, output_size)
    axes = []
    for n, out in zip(extent, sizes, strict=True):
        bounds = _bounds(n, out)
        k = max(stop - start for start, stop in bounds)
        # shorter windows repeat their last element
        axes.append([[min(j, stop - 1) for j in range(start, start + k)] for start, stop in bounds])
    y, indices = first_maxima(x, axes)
    return (y, indices) if return_indices else y
