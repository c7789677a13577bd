"""Images in other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_sizes, backend_near
from autograd_gpu.nn.functional.linear import along_axis
from autograd_gpu.variable import Variable


def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Variable:
    """`x` [N, C, ...] in another size: one of `size` and `scale_factor` is given.

    Parameters
    ----------
    mode
        'nearest' for any number of axes; 'linear', 'bilinear' and 'trilinear' for one to three.
    align_corners
        Whether the corner elements keep their values, or else elements are squares whose edges
        align; for the linear modes.

    >>> interpolate(reshape(arange(2.0), (1, 1, 2)), scale_factor=2).tolist()
    [[[0.0, 0.0, 1.0, 1.0]]]
    """
    y = ops.asarray(x)
    d = y.ndim - 2
    linear = {"linear": 1, "bilinear": 2, "trilinear": 3}
    if mode != "nearest" and mode not in linear:
        raise ValueError(f"interpolate: mode is 'nearest' or one of {tuple(linear)}, not {mode!r}")
    if not 1 <= d <= 3 or linear.get(mode, d) != d:
        raise ValueError(f"interpolate: x {list(y.shape)} has not the axes for mode {mode!r}")
    if mode == "nearest" and align_corners is not None:
        raise ValueError("interpolate: mode 'nearest' knows no align_corners")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: one of size and scale_factor is needed")
    extent = y.shape[2:]
    if not min(extent):
        raise ValueError(f"interpolate: x {list(y.shape)} has an empty axis")
    if size is not None:
        sizes = as_sizes("interpolate", "size", size, d)
        scales = [n / out for n, out in zip(extent, sizes, strict=True)]
    else:
        many = isinstance(scale_factor, (tuple, list))
        factors: list[Any] = list(scale_factor) if many else [scale_factor] * d  # type: ignore[arg-type]
        if len(factors) != d or not all(f > 0 for f in factors):
            raise ValueError(
                f"interpolate: scale_factor is a positive number or {d} of them, "
                f"not {scale_factor!r}"
            )
        sizes = tuple(math.floor(n * f) for n, f in zip(extent, factors, strict=True))
        if not min(sizes):
            raise ValueError(f"interpolate: scale_factor={scale_factor} leaves nothing")
        scales = [1 / f for f in factors]
    for axis, (n, out, scale) in enumerate(zip(extent, sizes, scales, strict=True), -d):
        if n == out and scale == 1:
            continue
        if mode == "nearest":
            y = ops.take(y, [min(int(i * scale), n - 1) for i in range(out)], axis=axis)
        else:
            weights = _linear(n, out, scale, bool(align_corners))
            y = along_axis(backend_near(y).asarray(weights, y.dtype), y, axis)
    return y


def _linear(n: int, out: int, scale: float, align_corners: bool) -> list[list[float]]:
    """The matrix [out, n] that interpolates linearly between neighbours."""
    if align_corners:
        scale = (n - 1) / (out - 1) if out > 1 else 0.0
    rows = []
    for i in range(out):
        at = i * scale if align_corners else max((i + 0.5) * scale - 0.5, 0.0)
        first = min(int(at), n - 1)
        second = min(first + 1, n - 1)
        row = [0.0] * n
        row[first] += 1 - (at - first)
        row[second] += at - first
        rows.append(row)
    return rows
