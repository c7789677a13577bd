"""Pooling in array operations that NumPy and CuPy share: one strided slice per kernel element."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

Array = Any
Namespace = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
Slices = tuple[Any, slice, slice]


def max_pool2d(
    xp: Namespace, x: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """The maxima of the windows of `x` [N, C, H, W]; padding is below every number."""
    x = _padded(xp, x, padding, _lowest(xp, x.dtype))
    first, *others = _slices(x.shape, size, stride, dilation)
    y = x[first].copy()
    for part in others:
        xp.maximum(y, x[part], out=y)
    return y


def max_pool2d_spread(
    xp: Namespace,
    g: Array,
    x: Array,
    y: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
) -> Array:
    """`g` [like y], each element added where its window of `x` has its first maximum."""
    padded = _padded(xp, x, padding, _lowest(xp, x.dtype))
    parts = list(_slices(padded.shape, size, stride, dilation))
    if stride == size and dilation == (1, 1):  # the windows do not overlap
        out = xp.empty(padded.shape, dtype=g.dtype)
        covered = tuple(n * s for n, s in zip(y.shape[2:], stride, strict=True))
        out[:, :, covered[0] :] = 0
        out[:, :, :, covered[1] :] = 0
        for part, hit in _hits(xp, padded, y, parts):
            xp.multiply(g, hit, out=out[part])
    else:
        out = xp.zeros(padded.shape, dtype=g.dtype)
        for part, hit in _hits(xp, padded, y, parts):
            out[part] += g * hit
    return _inside(out, x.shape, padding)


def max_pool2d_gather(
    xp: Namespace,
    g: Array,
    x: Array,
    y: Array,
    *,
    size: Pair,
    stride: Pair,
    padding: Padding,
    dilation: Pair,
) -> Array:
    """The elements of `g` [like x] where the windows of `x` have their first maxima."""
    x = _padded(xp, x, padding, _lowest(xp, x.dtype))
    g = _padded(xp, g, padding, 0)
    out = xp.zeros(y.shape, dtype=g.dtype)
    for part, hit in _hits(xp, x, y, list(_slices(x.shape, size, stride, dilation))):
        out += g[part] * hit
    return out


def sum_pool2d(xp: Namespace, x: Array, *, size: Pair, stride: Pair, padding: Padding) -> Array:
    """The sums over the windows of `x` [N, C, H, W]."""
    x = _padded(xp, x, padding, 0)
    first, *others = _slices(x.shape, size, stride, (1, 1))
    y = x[first].copy()
    for part in others:
        y += x[part]
    return y


def sum_pool2d_spread(
    xp: Namespace, g: Array, *, extent: Pair, size: Pair, stride: Pair, padding: Padding
) -> Array:
    """`g`, each element added to its whole window of an image [N, C, *extent]."""
    (top, bottom), (left, right) = padding
    shape = (*g.shape[:2], extent[0] + top + bottom, extent[1] + left + right)
    out = xp.zeros(shape, dtype=g.dtype)
    for part in _slices(shape, size, stride, (1, 1)):
        out[part] += g
    return _inside(out, (*g.shape[:2], *extent), padding)


def _slices(shape: tuple[int, ...], size: Pair, stride: Pair, dilation: Pair) -> Iterator[Slices]:
    """For each element of the kernel, in order, where it meets an image of that shape."""
    ends = [
        (n - d * (k - 1) - 1) // s * s + 1
        for n, k, s, d in zip(shape[2:], size, stride, dilation, strict=True)
    ]
    for i in range(size[0]):
        for j in range(size[1]):
            y, x = i * dilation[0], j * dilation[1]
            rows = slice(y, y + ends[0], stride[0])
            yield ..., rows, slice(x, x + ends[1], stride[1])


def _hits(xp: Namespace, x: Array, y: Array, parts: list[Slices]) -> Iterator[tuple[Slices, Array]]:
    """For each kernel element, which windows have their first maximum there."""
    *others, last = parts
    left = None
    for part in others:
        hit = x[part] == y
        if left is None:
            left = ~hit
        else:
            hit &= left
            left ^= hit
        yield part, hit
    # what is left is the last element's, also where a NaN equals nothing
    yield last, xp.ones(y.shape, dtype=bool) if left is None else left


def _lowest(xp: Namespace, dtype: Any) -> Any:
    if dtype.kind in "iu":
        return xp.iinfo(dtype).min
    return False if dtype.kind == "b" else -float("inf")


def _padded(xp: Namespace, x: Array, padding: Padding, value: Any) -> Array:
    if not any(map(any, padding)):
        return x
    (top, bottom), (left, right) = padding
    n, c, h, w = x.shape
    out = xp.full((n, c, h + top + bottom, w + left + right), value, dtype=x.dtype)
    out[:, :, top : top + h, left : left + w] = x
    return out


def _inside(x: Array, shape: tuple[int, ...], padding: Padding) -> Array:
    if x.shape == shape:
        return x
    (top, _), (left, _) = padding
    return x[:, :, top : top + shape[2], left : left + shape[3]]


def bound(xp: Namespace) -> dict[str, Any]:
    """The functions above for one array library, by name."""
    functions = (max_pool2d, max_pool2d_spread, max_pool2d_gather, sum_pool2d, sum_pool2d_spread)
    return {function.__name__: partial(function, xp) for function in functions}
