"""Functions of NumPy whose overhead on small arrays is worth avoiding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

NUMBERS = (int, float)

# Elements that stay in the cache while a function takes its steps.
BLOCK = 32768

# Elements that one thread takes at a time.
CHUNK = 4 * BLOCK

# A copy of so few elements costs less than the view that np.broadcast_to makes.
SMALL = 4096


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
