"""Shape and strides of the windows over an array, for both backends' `windows`."""

from __future__ import annotations

import operator


def window_layout(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    size: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of `windows`, from those of its array."""
    d = len(size)
    if not len(stride) == len(dilation) == d <= len(shape):
        raise ValueError(
            f"windows: size {size}, stride {stride} and dilation {dilation} must have one length, "
            f"at most that of the shape {shape}"
        )
    if min((*size, *stride, *dilation), default=1) < 1:
        raise ValueError(
            f"windows: size {size}, stride {stride} and dilation {dilation} must be positive"
        )
    lead = len(shape) - d
    out = tuple(
        (n - step * (k - 1) - 1) // s + 1
        for n, k, s, step in zip(shape[lead:], size, stride, dilation, strict=True)
    )
    if min(out, default=1) < 1:
        raise ValueError(
            f"windows of size {size} and dilation {dilation} do not fit into {shape[lead:]}"
        )
    axes = strides[lead:]
    return (
        (*shape[:lead], *out, *size),
        (
            *strides[:lead],
            *map(operator.mul, axes, stride),
            *map(operator.mul, axes, dilation),
        ),
    )
