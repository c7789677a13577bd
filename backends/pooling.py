"""Pooling in array operations that NumPy and CuPy share: one strided slice per kernel element."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from operator import add, mul
from typing import Any

Array = Any
Namespace = Any
Size = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]
Slices = tuple[Any, ...]


def max_pool(
    xp: Namespace, x: Array, *, size: Size, stride: Size, padding: Padding, dilation: Size
) -> Array:
    """The maxima of the windows of `x` [N, C, ...]; padding is below every number."""
    x = _padded(xp, x, padding, _lowest(xp, x.dtype))
    first, *others = _slices(x.shape, size, stride, dilation)
    y = x[first].copy()
    for part in others:
        xp.maximum(y, x[part], out=y)
    return y


def max_pool_spread(
    xp: Namespace,
    g: Array,
    x: Array,
    y: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
) -> Array:
    """`g` [like y], each element added where its window of `x` has its first maximum."""
    padded = _padded(xp, x, padding, _lowest(xp, x.dtype))
    parts = list(_slices(padded.shape, size, stride, dilation))
    if stride == size and set(dilation) == {1}:  # the windows do not overlap
        out = xp.empty(padded.shape, dtype=g.dtype)
        for axis, (n, s) in enumerate(zip(y.shape[2:], stride, strict=True), 2):
            out[(slice(None),) * axis + (slice(n * s, None),)] = 0
        for part, hit in _hits(xp, padded, y, parts):
            xp.multiply(g, hit, out=out[part])
    else:
        out = xp.zeros(padded.shape, dtype=g.dtype)
        for part, hit in _hits(xp, padded, y, parts):
            out[part] += g * hit
    return _inside(out, x.shape, padding)


def max_pool_gather(
    xp: Namespace,
    g: Array,
    x: Array,
    y: Array,
    *,
    size: Size,
    stride: Size,
    padding: Padding,
    dilation: Size,
) -> Array:
    """The elements of `g` [like x] where the windows of `x` have their first maxima."""
    x = _padded(xp, x, padding, _lowest(xp, x.dtype))
    g = _padded(xp, g, padding, 0)
    out = xp.zeros(y.shape, dtype=g.dtype)
    for part, hit in _hits(xp, x, y, list(_slices(x.shape, size, stride, dilation))):
        out += g[part] * hit
    return out


def sum_pool(xp: Namespace, x: Array, *, size: Size, stride: Size, padding: Padding) -> Array:
    """The sums over the windows of `x` [N, C, ...]."""
    x = _padded(xp, x, padding, 0)
    first, *others = _slices(x.shape, size, stride, (1,) * len(size))
    y = x[first].copy()
    for part in others:
        y += x[part]
    return y


def sum_pool_spread(
    xp: Namespace, g: Array, *, extent: Size, size: Size, stride: Size, padding: Padding
) -> Array:
    """`g`, each element added to its whole window of an array [N, C, *extent]."""
    shape = (*g.shape[:2], *(n + sum(p) for n, p in zip(extent, padding, strict=True)))
    out = xp.zeros(shape, dtype=g.dtype)
    for part in _slices(shape, size, stride, (1,) * len(size)):
        out[part] += g
    return _inside(out, (*g.shape[:2], *extent), padding)


def _slices(shape: tuple[int, ...], size: Size, stride: Size, dilation: Size) -> Iterator[Slices]:
    """For each element of the kernel, in order, where it meets an array of that shape."""
    ends = [
        (n - d * (k - 1) - 1) // s * s + 1
        for n, k, s, d in zip(shape[2:], size, stride, dilation, strict=True)
    ]
    for element in product(*map(range, size)):
        starts = tuple(map(mul, element, dilation))
        yield ..., *map(slice, starts, map(add, starts, ends), stride)


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
    shape = (*x.shape[:2], *(n + sum(p) for n, p in zip(x.shape[2:], padding, strict=True)))
    out = xp.full(shape, value, dtype=x.dtype)
    _inside(out, x.shape, padding)[...] = x
    return out


def _inside(x: Array, shape: tuple[int, ...], padding: Padding) -> Array:
    if x.shape == shape:
        return x
    return x[(..., *(slice(p, p + n) for n, (p, _) in zip(shape[2:], padding, strict=True)))]


def bound(xp: Namespace) -> dict[str, Any]:
    """The functions above for one array library, by name."""
    functions = (max_pool, max_pool_spread, max_pool_gather, sum_pool, sum_pool_spread)
    return {function.__name__: partial(function, xp) for function in functions}
