"""Images in other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import load_backend
from autograd_gpu.nn.functional.adaptive_pooling import adaptive_avg_pool
from autograd_gpu.nn.functional.arguments import as_sizes, backend_near
from autograd_gpu.nn.functional.linear import along_axis
from autograd_gpu.variable import Variable

# The axes that a mode is for; any number from one to three where there is none.
_MODES = {
    "nearest": None, "nearest-exact": None, "area": None,
    "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2,
}  # fmt: skip


def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Variable:
    """`x` [N, C, ...] in another size: one of `size` and `scale_factor` is given.

    Parameters
    ----------
    mode
        'nearest', 'nearest-exact' (which takes the element whose middle is nearest) and 'area'
        (means of what an output pixel covers) for one to three axes; 'linear', 'bilinear' and
        'trilinear' for one, two and three; 'bicubic' for two.
    align_corners
        Whether the corner elements keep their values, or else elements are squares whose edges
        align; for the linear modes and 'bicubic'.
    recompute_scale_factor
        Whether positions follow from the sizes where `scale_factor` is given, which differ from it
        where the size was rounded.
    antialias
        Whether, where an image becomes smaller, the filter becomes wider; for 'bilinear' and
        'bicubic'.

    Raises ValueError for a mode that does not fit the axes or the options.

    >>> interpolate(reshape(arange(2.0), (1, 1, 2)), scale_factor=2).tolist()
    [[[0.0, 0.0, 1.0, 1.0]]]
    """
    y = ops.asarray(x)
    d = y.ndim - 2
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode is one of {tuple(_MODES)}, not {mode!r}")
    if not 1 <= d <= 3 or _MODES[mode] not in (None, d):
        raise ValueError(f"interpolate: x {list(y.shape)} has not the axes for mode {mode!r}")
    if _MODES[mode] is None and align_corners is not None:
        raise ValueError(f"interpolate: mode {mode!r} knows no align_corners")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("interpolate: antialias is for the modes 'bilinear' and 'bicubic'")
    sizes, scales = _sizes(y.shape, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        return adaptive_avg_pool("interpolate", d, y, sizes)
    for axis, (n, out, scale) in enumerate(zip(y.shape[2:], sizes, scales, strict=True), -d):
        if n == out and scale == 1:
            continue
        if mode.startswith("nearest"):
            middle = 0.5 if mode == "nearest-exact" else 0.0
            if mode == "nearest" and out in (n, 2 * n):  # whatever the factor was, as in PyTorch
                scale = n / out
            places = [min(int((i + middle) * scale), n - 1) for i in range(out)]
            y = ops.take(y, backend_near(y).constant(places), axis=axis)
        else:
            if align_corners:
                scale = (n - 1) / (out - 1) if out > 1 else 0.0
            if antialias:
                weights = _smoothing(n, out, scale, mode)
            else:
                weights = _between(n, out, scale, mode, bool(align_corners))
            y = along_axis(backend_near(y).constant(weights, y.dtype), y, axis)
    return y


def _sizes(
    shape: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool
) -> tuple[tuple[int, ...], list[float]]:
    """The new sizes, and how far apart new elements are, measured in old ones."""
    extent = shape[2:]
    if (size is None) == (scale_factor is None) or (recompute and size is not None):
        raise ValueError("interpolate: one of size and scale_factor is needed")
    if not min(extent):
        raise ValueError(f"interpolate: x {list(shape)} has an empty axis")
    if size is not None:
        sizes = as_sizes("interpolate", "size", size, len(extent))
        return sizes, [n / out for n, out in zip(extent, sizes, strict=True)]
    many = isinstance(scale_factor, (tuple, list))
    factors: list[Any] = list(scale_factor) if many else [scale_factor] * len(extent)
    if len(factors) != len(extent) or not all(f > 0 for f in factors):
        raise ValueError(
            f"interpolate: scale_factor is a positive number or {len(extent)} of them, "
            f"not {scale_factor!r}"
        )
    sizes = tuple(math.floor(n * f) for n, f in zip(extent, factors, strict=True))
    if not min(sizes):
        raise ValueError(f"interpolate: scale_factor={scale_factor} leaves nothing")
    if recompute:
        return sizes, [n / out for n, out in zip(extent, sizes, strict=True)]
    return sizes, [1 / f for f in factors]


def _between(n: int, out: int, scale: float, mode: str, align_corners: bool) -> Any:
    """The matrix [out, n], on the host, that interpolates between two neighbours, or four."""
    xp = load_backend("numpy").xp
    rows = xp.arange(out)
    at = rows * scale if align_corners else (rows + 0.5) * scale - 0.5
    cubic = mode == "bicubic"
    if not cubic:
        at = xp.maximum(at, 0.0)
    first = xp.floor(at)
    weights = xp.zeros((out, n))
    for k in (-1, 0, 1, 2) if cubic else (0, 1):
        distance = xp.abs(first + k - at)
        weight = _cubic(xp, distance, -0.75) if cubic else 1 - distance
        weights[rows, xp.clip(first + k, 0, n - 1).astype(int)] += weight  # edges repeat
    return weights


def _smoothing(n: int, out: int, scale: float, mode: str) -> Any:
    """The matrix [out, n], on the host, of a filter that grows as the image shrinks."""
    xp = load_backend("numpy").xp
    reach = 2 if mode == "bicubic" else 1
    width = max(scale, 1.0)
    middle = (xp.arange(out) + 0.5)[:, None] * scale
    places = xp.arange(n)
    first = xp.maximum(xp.floor(middle - reach * width + 0.5), 0)
    last = xp.minimum(xp.floor(middle + reach * width + 0.5), n)
    t = xp.abs((places - middle + 0.5) / width)
    weights = xp.maximum(1 - t, 0.0) if mode == "bilinear" else _cubic(xp, t, -0.5)
    weights = xp.where((first <= places) & (places < last), weights, 0.0)
    return weights / xp.sum(weights, axis=1, keepdims=True)


def _cubic(xp: Any, t: Any, a: float) -> Any:
    """Keys' weights of elements at distances `t`; `a` is their slope at distance 1."""
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = (((t - 5) * t + 8) * t - 4) * a
    return xp.where(t < 1, near, xp.where(t < 2, far, 0.0))
