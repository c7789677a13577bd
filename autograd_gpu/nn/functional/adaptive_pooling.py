"""Pooling into outputs of a given size, over signals, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import AXES, as_sizes, backend_near, raw, shape_of
from autograd_gpu.nn.functional.linear import along_axis
from autograd_gpu.variable import Variable

Sizes = tuple[int, ...]
Size = int | Sequence[int]


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
