"""Functions of NumPy whose overhead on small arrays is worth avoiding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None

NUMBERS = (int, float)

# Kinds of float16 and bfloat16, which have two bytes.
HALVES = "fV"

# Elements that stay in the cache while a function takes its steps.
BLOCK = 32768

# Elements that one thread takes at a time.
CHUNK = 4 * BLOCK

# Elements up to which a sum over rows is left to NumPy.
TALL = 1024

# Ones to multiply with so as to sum that are kept, at most.
ONES = 256

# Elements of a matrix that OpenBLAS multiplies with a vector without waking threads of its own.
PRODUCT = 8192

# A copy of so few elements costs less than the view that np.broadcast_to makes.
SMALL = 4096


def sum_(
    x: Any,
    *,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = 0,
    where: Any = True,
) -> Any:
    """np.sum without its two Python calls, over rows as a product, and of half types in float32."""
    if x.itemsize == 2 and dtype is None and x.dtype.kind in HALVES:
        wide = np.float32  # in their own digits a sum of ones would end at 256 or 2048
        return np.sum(x, axis, wide, None, keepdims, initial, where).astype(x.dtype)
    if where is True:
        if dtype is None and not initial and x.dtype.char in "fd":
            if x.size > TALL:
                count = rows(x, axis) if axis is not None else 0
                if count:
                    return over_rows(x, count, keepdims)
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


def rows(x: Any, axis: Axis) -> int:
    """How many axes these are, if they are the first ones and `row_sum` is faster there; or 0."""
    count = len(axis) if isinstance(axis, tuple) else 1
    first = axis == 0 or axis == tuple(range(count))
    if not first or not 0 < count < x.ndim or x.dtype.char not in "fd":
        return 0
    width = math.prod(x.shape[count:])
    is_worth_it = x.size <= PRODUCT or x.size // max(width, 1) >= 256
    return count if is_worth_it and 1 < width <= 512 and x.flags.c_contiguous else 0


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
        total = x.sum(axis, None, None, keepdims)
        if total.size:
            return total / (x.size // total.size)
    return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)


def var(x: Any, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Any:
    """np.var with the array API's `correction`, for half types in float32."""
    if x.dtype.itemsize == 2 and x.dtype.kind in HALVES:
        wide = x.astype(np.float32)
        return var(wide, axis=axis, correction=correction, keepdims=keepdims).astype(x.dtype)
    if x.dtype.kind == "f":
        total = x.sum(axis, None, None, True)
        if total.size and x.size:
            n = x.size // total.size
            x = x - total / n
            x *= x
            return x.sum(axis, None, None, keepdims) / max(n - correction, 0)
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)  # type: ignore[call-overload]


def std(x: Any, *, axis: Axis = None, correction: float = 0, keepdims: bool = False) -> Any:
    """The square root of `var`."""
    return np.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def dense(x: Any, dtype: Any = None) -> Array:
    """`x` as C reads it: one element behind the other, at addresses that their type may have."""
    x = np.ascontiguousarray(x, dtype)
    return x if x.flags.aligned else x.copy()


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Array:
    """np.broadcast_to, but for small shapes a copy."""
    if is_copied(x, shape):
        y = np.empty(shape, x.dtype)
        y[...] = x
        return y
    return np.broadcast_to(x, shape)


def is_copied(x: Any, shape: tuple[int, ...]) -> bool:
    """Whether `broadcast_to` makes a copy."""
    return shape.__class__ is tuple and x.ndim <= len(shape) and math.prod(shape) <= SMALL


def blockwise(function: Callable[..., Array], *arrays: Array) -> Array:
    """`function(*arrays)`, elementwise on arrays of one shape and dtype, which the result has too,
    on one block after the other or several at once.

    Memory that is new to the process costs more than arithmetic; this way only the result is.
    """
    if not is_cut(arrays):
        return function(*arrays)
    x = arrays[0]
    out = np.empty_like(x)
    flat, result = [y.reshape(-1) for y in arrays], out.reshape(-1)

    def chunk(i: int) -> None:
        for start in range(i * CHUNK, min(x.size, (i + 1) * CHUNK), BLOCK):
            s = slice(start, start + BLOCK)
            result[s] = function(*[y[s] for y in flat])

    share(chunk, -(-x.size // CHUNK))
    return out


def is_cut(arrays: Sequence[Array]) -> bool:
    """Whether `blockwise` cuts these into blocks."""
    x = arrays[0]
    return (
        x.size > 2 * BLOCK
        and x.dtype.kind == "f"
        and all(y.flags.c_contiguous and y.shape == x.shape and y.dtype == x.dtype for y in arrays)
    )


def masked(x: Array, mask: Array) -> Array:
    """`x` where the mask holds, 0 elsewhere, also where `x` is infinite or NaN.

    A large array has its bits cleared: np.where takes seven times as long where a mask looks
    random to the branch predictor.
    """
    bits = bits_of(x, mask)
    if bits is None:
        zero = _ZERO.get(x.dtype.char)  # a Python number takes 0.35 us longer
        return np.where(mask, x, 0 if zero is None else zero)
    if mask.dtype.char != "?":
        mask = mask != 0
    y = np.empty_like(x)
    raw = y.view(bits)
    raw[...] = mask.view(np.int8)
    np.negative(raw, raw)  # all bits set where the mask holds
    np.bitwise_and(raw, x.view(bits), raw)
    return y


def bits_of(x: Array, mask: Array) -> Any:
    """The integers whose bits `masked` clears; None where it chooses."""
    if x.size <= SMALL or x.shape != mask.shape or not x.flags.c_contiguous:
        return None
    return _BITS.get(x.dtype.char)


_BITS = {"e": np.int16, "f": np.int32, "d": np.int64}
_ZERO = {dtype: np.zeros((), dtype) for dtype in "efdFD"}


def number_arrays(ufunc: np.ufunc, kinds: Sequence[Any], args: Sequence[Any]) -> dict[int, Array]:
    """By their places the Python numbers among `args`, as the arrays without axes that NumPy would
    make of them in each call, which takes longer than a call on few elements.

    `kinds` are the dtypes of the arrays among `args`, and types of numbers.
    """
    places = [i for i, x in enumerate(args) if type(x) in NUMBERS]
    if not places:
        return {}
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        return {}
    return {i: np.asarray(args[i], found[i]) for i in places}


def maximum(a: Any, b: Any, /, out: Any = None) -> Any:
    """np.maximum.

    Where an operand is a number, to clip takes a third of the time, and gives NaN for NaN too.  Of
    0.0 and -0.0 either may be the larger, as in NumPy.
    """
    if b.__class__ in NUMBERS and out is None and a.__class__ not in NUMBERS:
        kind = a.dtype.char
        if a.size > SMALL and kind in "fd":
            return a.clip(b, math.inf)
        if not b and math.copysign(1, b) > 0:
            b = _ZERO.get(kind, b)
    return np.maximum(a, b, out=out)


def minimum(a: Any, b: Any, /, out: Any = None) -> Any:
    """np.minimum; see `maximum`."""
    if b.__class__ in NUMBERS and out is None and a.__class__ not in NUMBERS:
        kind = a.dtype.char
        if a.size > SMALL and kind in "fd":
            return a.clip(-math.inf, b)
        if not b and math.copysign(1, b) > 0:
            b = _ZERO.get(kind, b)
    return np.minimum(a, b, out=out)


def where(condition: Any, x: Any, y: Any, /) -> Any:
    """np.where; a number beside bfloat16 takes that dtype, of which NumPy makes a wider one."""
    if y.__class__ in NUMBERS:
        if x.__class__ not in NUMBERS and x.dtype.kind == "V":
            y = x.dtype.type(y)
    elif x.__class__ in NUMBERS and y.dtype.kind == "V":
        x = y.dtype.type(x)
    return np.where(condition, x, y)


def take(x: Array, indices: Any, /, *, axis: int | None = None) -> Any:
    """np.take, also for indices of uint64, which NumPy does not convert by itself."""
    if indices.__class__ is np.ndarray and indices.dtype == np.uint64:
        indices = indices.astype(np.intp)
    return x.take(indices, axis)


def expm1(x: Any) -> Any:
    """exp(x) - 1; complex infinities and NaNs give what exp does, where NumPy's own gives NaN."""
    y = np.expm1(x)
    if y.dtype.kind == "c":
        y = np.where(np.isfinite(y), y, np.exp(x) - 1)
    return y
