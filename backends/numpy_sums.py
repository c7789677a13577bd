"""Sums, means and variances for NumPy: of many elements as products with ones, and of half types in
float32."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None

# Kinds of float16 and bfloat16, which have two bytes.
HALVES = "fV"

# Elements up to which a sum over rows is left to NumPy.
TALL = 1024

# Ones to multiply with so as to sum that are kept, at most.
ONES = 256

# Elements that a product adds up as precisely as NumPy, which sums halves of halves.
WIDEST = 512

# Elements of a vector, or rows of a matrix, from which on products pay.
LONG, HIGH = 1 << 16, 256

# Bytes up to which products read wide rows, or a vector, faster than NumPy: from the memory beyond
# the caches BLAS, which reads several rows at once, is slower.
CACHED = 8 << 20

# Columns of a matrix for which that does not matter.
FEW = 64

# Elements of a matrix that OpenBLAS multiplies with a vector without waking threads of its own.
PRODUCT = 8192


def sum_(
    x: Any,
    *,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = 0,
    where: Any = True,
) -> Any:
    """np.sum without its two Python calls, as products where that is faster, and of half types in
    float32."""
    if x.itemsize == 2 and dtype is None and x.dtype.kind in HALVES:
        wide = np.float32  # in their own digits a sum of ones would end at 256 or 2048
        return np.sum(x, axis, wide, None, keepdims, initial, where).astype(x.dtype)
    if where is True:
        if dtype is None and not initial and x.dtype.char in "fd":
            if x.size > TALL:
                y = many(x, axis, keepdims)
                if y is not None:
                    return y
            elif keepdims is False:
                y = few(x, axis)
                if y is not None:
                    return y
        if x.__class__ is np.ndarray and not initial:
            return np.add.reduce(x, axis, dtype, None, keepdims)
        return x.sum(axis, dtype, None, keepdims, initial)
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def few(x: Any, axis: Axis) -> Any:
    """The sum of a few elements, or over an axis of a small matrix, as a product with ones, which
    takes half the time; None where that is not the way.
    """
    if axis is None:
        return np.matmul(x.ravel(), ones(x.size, x.dtype)) if 1 < x.size <= ONES else None
    if axis.__class__ is not int or x.ndim != 2 or not 1 < min(x.shape) <= max(x.shape) <= ONES:
        return None
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        return None
    if axis in (0, -2):
        return np.matmul(ones(x.shape[0], x.dtype), x)
    return np.matmul(x, ones(x.shape[1], x.dtype)) if axis in (1, -1) else None


@cache
def ones(n: int, dtype: np.dtype[Any]) -> Array:
    """`n` ones, the same array each time."""
    y = np.ones(n, dtype)
    y.flags.writeable = False
    return y


def many(x: Any, axis: Axis, keepdims: bool) -> Any:
    """The sum of many elements, in C order, over the first axes, the last ones or all, as products
    with ones, which may take a tenth of the time; None where that is not the way.
    """
    if (axis is None and x.size < LONG) or not x.flags.c_contiguous:
        return None
    n = x.ndim
    given = range(n) if axis is None else axis if axis.__class__ is tuple else (axis,)
    axes = tuple([i + n if i < 0 else i for i in given])
    count = len(axes)
    if axes == tuple(range(n - count, n)):
        shape = x.shape[: n - count] + (1,) * (count if keepdims else 0)
        height = math.prod(shape)
        width = x.size // height
        if width > FEW and x.nbytes > CACHED:
            return None
        if height == 1:
            return total(x.reshape(-1)).reshape(shape) if width >= LONG else None
        parts = pieces(width)
        if width < 2 or not parts or height * parts < HIGH:
            return None
        y = column_sum(x.reshape(height * parts, width // parts))
        return (column_sum(y.reshape(height, parts)) if parts > 1 else y).reshape(shape)
    if axes == tuple(range(count)):
        width = math.prod(x.shape[count:])
        is_worth_it = x.size <= PRODUCT or x.size // width >= HIGH
        if is_worth_it and 1 < width <= WIDEST:
            return over_rows(x, count, keepdims)
    return None


@lru_cache(1024)
def pieces(width: int) -> int:
    """Into how many equal parts, each not too wide, to cut rows; 0 where there are no such."""
    for count in range(-(-width // WIDEST), WIDEST):
        if width % count == 0:
            return count if width // count > 16 or count == 1 else 0
    return 0


def total(x: Any) -> Any:
    """The sum of all elements of a vector, which are many."""
    count = x.shape[0] // WIDEST
    y = np.add.reduce(column_sum(x[: count * WIDEST].reshape(count, WIDEST)))
    rest = x[count * WIDEST :]
    return y + np.add.reduce(rest) if rest.shape[0] else y


def column_sum(x: Any) -> Any:
    """The sum of the columns of a matrix: some rows at a time, times ones.

    NumPy sets up a loop for each row, which takes up to sixty times as long.
    """
    m, n = x.shape
    one = ones(n, x.dtype)
    height = PRODUCT // n
    if m <= height:
        return np.matmul(x, one)
    count = m // height
    y = np.matmul(x[: count * height].reshape(count, height, n), one).reshape(-1)
    if count * height == m:
        return y
    return np.concatenate([y, np.matmul(x[count * height :], one)])


def over_rows(x: Any, count: int, keepdims: bool) -> Any:
    """The sum over the first `count` axes."""
    shape = x.shape[count:]
    total = row_sum(x.reshape(-1, math.prod(shape)))
    if not keepdims and len(shape) == 1:
        return total
    y = np.empty((1,) * count + shape if keepdims else shape, total.dtype)
    y.reshape(-1)[...] = total  # which as a view would be copied where it becomes a gradient
    return y


def row_sum(x: Any) -> Any:
    """The sum of the rows of a matrix: ones times some of them, and the sum of these sums.

    NumPy adds one row after the other, which takes up to twenty times as long and rounds as often
    as there are rows.
    """
    m, n = x.shape
    height = PRODUCT // n
    if m <= height:
        return np.matmul(np.ones(m, x.dtype), x)
    count = m // height
    parts = np.matmul(np.ones(height, x.dtype), x[: count * height].reshape(count, height, n))
    total = np.add.reduce(parts, 0) if count < 64 else row_sum(parts)
    if count * height < m:
        total += np.matmul(np.ones(m - count * height, x.dtype), x[count * height :])
    return total


def mean(
    x: Any, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    """np.mean; the sum over the number of elements, for half types in float32."""
    if dtype is None and x.dtype.itemsize == 2 and x.dtype.kind in HALVES:
        wide = np.float32
        if not x.ndim:
            axis = None  # of a number np.mean takes no axis, though np.sum does
        return np.mean(x, axis, wide, None, keepdims, where=where).astype(x.dtype)
    if where is not True:
        return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    if dtype is None and x.dtype.kind == "f":
        y = sum_(x, axis=axis, keepdims=keepdims)
        if y.size:
            return y / (x.size // y.size)
    return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)


def var(x: Any, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Any:
    """np.var with the array API's `correction`, for half types in float32."""
    if x.dtype.itemsize == 2 and x.dtype.kind in HALVES:
        wide = x.astype(np.float32)
        return var(wide, axis=axis, correction=correction, keepdims=keepdims).astype(x.dtype)
    if x.dtype.kind == "f":
        y = sum_(x, axis=axis, keepdims=True)
        if y.size and x.size:
            n = x.size // y.size
            x = x - y / n
            x *= x
            return sum_(x, axis=axis, keepdims=keepdims) / max(n - correction, 0)
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)  # type: ignore[call-overload]


def std(x: Any, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Any:
    """The square root of `var`."""
    return np.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))
