"""Reductions with NumPy's `where` and `initial`, which CuPy 14.2's functions lack."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import cupy as cp
import numpy as np

Array = Any

# What an element that does not count is replaced by; None: nothing is neutral, so `initial` is.
_NEUTRAL = {"sum": 0, "prod": 1, "max": None, "min": None, "all": True, "any": False}
_JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "sum": cp.add,
    "prod": cp.multiply,
    "max": cp.maximum,
    "min": cp.minimum,
}


def bound(xp: Any) -> dict[str, Callable[..., Array]]:
    """The functions for the namespace `xp`, whose own ones do the work."""
    made = {name: _with_options(name, getattr(xp, name), xp.where) for name in _NEUTRAL}
    made["sum"] = _halves_in_float32(made["sum"])
    return {**made, "mean": _mean(xp.mean, made["sum"], xp.where)}


def _with_options(
    name: str, plain: Callable[..., Array], select: Callable[..., Array]
) -> Callable[..., Array]:
    neutral = _NEUTRAL[name]

    @wraps(plain)
    def reduce(x: Array, /, *, where: Any = True, initial: Any = None, **options: Any) -> Array:
        if where is True and initial is None:
            return plain(x, **options)
        if initial is not None and name not in _JOINED:
            raise TypeError(f"{name}: there is no initial")
        if where is not True:
            filler = initial if neutral is None else neutral
            if filler is None:
                raise ValueError(f"{name}: where= needs an initial, as nothing may be left")
            x = select(where, x, _number(filler, x))
        if initial is None:
            return plain(x, **options)
        if neutral is None and not x.size:
            # of no elements there is no extreme; of the initial alone there is
            x = _padded(x, _number(initial, x), options.get("axis"))
        y = plain(x, **options)
        return _JOINED[name](y, _number(initial, y))

    return reduce


def _halves_in_float32(plain: Callable[..., Array]) -> Callable[..., Array]:
    """A sum that keeps the digits of 16-bit floats, bfloat16 among them, until it is done."""

    @wraps(plain)
    def sum(x: Array, /, *, dtype: Any = None, **options: Any) -> Array:
        if dtype is None and x.dtype.itemsize == 2 and x.dtype.kind in "fV":
            return plain(x, dtype=np.float32, **options).astype(x.dtype)
        return plain(x, dtype=dtype, **options)

    return sum


def _mean(
    plain: Callable[..., Array], total: Callable[..., Array], select: Callable[..., Array]
) -> Callable[..., Array]:
    @wraps(plain)
    def mean(x: Array, /, *, where: Any = True, **options: Any) -> Array:
        if where is True:
            return plain(x, **options)
        if x.dtype.kind in "biu":
            x = x.astype(np.float64)
        counted = cp.broadcast_to(cp.asarray(where), x.shape)
        shape = {key: options[key] for key in ("axis", "keepdims") if key in options}
        y = total(x, where=where, **options)
        return (y / cp.sum(counted, dtype=y.real.dtype, **shape)).astype(y.dtype, copy=False)

    return mean


def _number(value: Any, like: Array) -> Any:
    """`value` in the dtype of `like`, so that it promotes nothing."""
    return value if isinstance(value, cp.ndarray) else np.asarray(value).astype(like.dtype)[()]


def _padded(x: Array, value: Any, axis: Any) -> Array:
    """`x` with one element more, `value`, along each empty axis that is reduced."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    shape = list(x.shape)
    for i in axes:
        shape[i] = max(shape[i], 1)
    return cp.full(shape, value, x.dtype)
