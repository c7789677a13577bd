"""Borders, and images in other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_sizes, backend_near, shape_of
from autograd_gpu.nn.functional.pooling import along_axis
from autograd_gpu.variable import Variable


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Variable:
    """`x` with a border, of widths for the last axis, the one before, and so on.

    Parameters
    ----------
    pad
        (left, right), (left, right, top, bottom), ...; negative widths cut off.
    mode
        'constant' puts `value` (0 unless given); 'reflect' mirrors without repeating the edge,
        'replicate' repeats the edge, 'circular' goes on at the other end.

    >>> pad(Variable([1.0, 2.0, 3.0]), (2, 1), "reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    """
    y = ops.asarray(x)
    widths = tuple(pad)
    if len(widths) % 2 or len(widths) > 2 * y.ndim or not all(isinstance(w, int) for w in widths):
        raise ValueError(
            f"pad: pairs of integers for at most {y.ndim} axes are needed, not {tuple(pad)!r}"
        )
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ValueError(
            f"pad: mode is 'constant', 'reflect', 'replicate' or 'circular', not {mode!r}"
        )
    if value is not None and mode != "constant":
        raise ValueError(f"pad: mode {mode!r} takes no value")
    pairs = [(0, 0)] * (y.ndim - len(widths) // 2)
    pairs += [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    for n, (before, after) in zip(y.shape, pairs, strict=True):
        if n + before + after < 0:
            raise ValueError(f"pad: widths {before} and {after} cut more than an axis of {n} has")
    if mode == "constant":
        return _constant(y, pairs, value or 0)
    if mode == "circular":  # goes on where what is left starts and ends
        y, pairs = _cut(y, pairs)
    for axis, (n, (before, after)) in enumerate(zip(y.shape, pairs, strict=True)):
        if before or after:
            most = {"reflect": n - 1, "circular": n, "replicate": math.inf}[mode]
            if max(before, after) > most or not n:
                raise ValueError(
                    f"pad: mode {mode!r} puts at most {most} on each side of an axis of {n}, "
                    f"not {before} and {after}"
                )
            places = [_place(i, n, mode) for i in range(-before, n + after)]
            y = ops.take(y, places, axis=axis)
    return y


def _constant(x: Variable, pairs: list[tuple[int, int]], value: float) -> Variable:
    x, pairs = _cut(x, pairs)
    return ops.pad(x, pairs, constant_values=value)


def _cut(x: Variable, pairs: list[tuple[int, int]]) -> tuple[Variable, list[tuple[int, int]]]:
    """`x` without what negative widths cut off, and the widths that are left."""
    if any(min(pair) < 0 for pair in pairs):
        x = x[
            tuple(
                slice(max(-before, 0), n - max(-after, 0))
                for n, (before, after) in zip(x.shape, pairs, strict=True)
            )
        ]
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return x, pairs


def _place(i: int, n: int, mode: str) -> int:
    if mode == "circular":
        return i % n
    if mode == "replicate":
        return min(max(i, 0), n - 1)
    i = abs(i)
    return 2 * (n - 1) - i if i >= n else i


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


def pixel_shuffle(x: Any, upscale_factor: int) -> Variable:
    """[..., C r², H, W] to [..., C, H r, W r]: channels become pixels."""
    shape = shape_of(x)
    r = upscale_factor
    if len(shape) < 3 or r < 1 or shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: x {list(shape)} must be [..., C, H, W], C a multiple of {r}²"
        )
    *lead, c, h, w = shape
    k = len(lead)
    y = ops.reshape(x, (*lead, c // (r * r), r, r, h, w))
    y = ops.permute_dims(y, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return ops.reshape(y, (*lead, c // (r * r), h * r, w * r))
