"""Index expressions taken apart: which axes are indexed by arrays, which by slices.

Only shapes are looked at, so that NumPy's and CuPy's scatter-add share it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """`x[index]` with integer arrays among the indices, for `x` of a given shape.

    `arrays[i]` (integer arrays or numbers) indexes axis `array_axes[i]` of `x`, `rest[i]`
    (slices) axis `rest_axes[i]`.  The axes to which the arrays broadcast start at axis `position`
    of the result.
    """

    arrays: tuple[Any, ...]
    array_axes: tuple[int, ...]
    rest: tuple[slice, ...]
    rest_axes: tuple[int, ...]
    position: int


def is_basic(index: Any) -> bool:
    """Whether `index` has integers, slices, None and Ellipsis only: no element is met twice."""
    if type(index) is tuple:
        return all(map(is_basic, index))
    return isinstance(index, slice) or index is None or index is Ellipsis or is_integer(index)


def is_integer(entry: Any) -> bool:
    """Whether `entry` is an integer on the host; bool is one to Python, but a mask to an array."""
    return isinstance(entry, Integral) and not isinstance(entry, bool)


def select(index: Any, shape: tuple[int, ...], as_index: Callable[[Any], Any]) -> Selection | None:
    """Take `index` of an array of `shape` apart; None where no integer array repeats elements.

    `as_index` turns what is no slice, None, Ellipsis or int into an array with `dtype` and
    `shape`.  Several masks, or masks beside integer arrays, become integer arrays by `nonzero`.
    """
    entries: list[Any] = []
    masks = 0
    for entry in index if type(index) is tuple else (index,):
        if entry is not None and entry is not Ellipsis and not isinstance(entry, slice):
            if is_integer(entry):
                entry = operator.index(entry)
            else:
                entry = as_index(entry)
                masks += entry.dtype.kind == "b"
        entries.append(entry)
    if not any(_is_integers(entry) for entry in entries) and masks <= 1:
        return None
    entries = _expand_masks(entries) if masks else entries
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if Ellipsis not in [e for e in entries if e is Ellipsis]:
        entries.append(Ellipsis)
    return _place(entries, len(shape), len(shape) - used)


def _is_integers(entry: Any) -> bool:
    return hasattr(entry, "dtype") and entry.dtype.kind != "b"


def _expand_masks(entries: list[Any]) -> list[Any]:
    out: list[Any] = []
    for entry in entries:
        if not hasattr(entry, "dtype") or entry.dtype.kind != "b":
            out.append(entry)
        elif entry.ndim == 0:
            raise IndexError("a 0-d mask beside other arrays has no scatter-add")
        else:
            out.extend(entry.nonzero())
    return out


def _place(entries: list[Any], ndim: int, free: int) -> Selection:
    # `free` axes are those that the Ellipsis stands for
    if free < 0:
        raise IndexError(f"too many indices for an array with {ndim} axes")
    arrays: list[Any] = []
    array_axes: list[int] = []
    rest: list[slice] = []
    rest_axes: list[int] = []
    axis = result_axes = 0
    first = None
    gap = separated = False
    for entry in entries:
        if entry is Ellipsis:
            rest.extend([slice(None)] * free)
            rest_axes.extend(range(axis, axis + free))
            axis += free
            result_axes += free
            gap = True
        elif entry is None or isinstance(entry, slice):
            if entry is not None:
                rest.append(entry)
                rest_axes.append(axis)
                axis += 1
            result_axes += 1
            gap = True
        else:
            # NumPy puts the broadcast axes first where a slice, None or Ellipsis, even an empty
            # one, stands between two arrays, and where the first array is otherwise
            separated |= first is not None and gap
            first = result_axes if first is None else first
            gap = False
            arrays.append(entry)
            array_axes.append(axis)
            axis += 1
    return Selection(
        tuple(arrays),
        tuple(array_axes),
        tuple(rest),
        tuple(rest_axes),
        0 if separated or first is None else first,
    )


def assign_last(xp: Any, x: Any, index: Any, v: Any) -> None:
    """`x[index] = v` for a library that leaves open which write to a repeated element wins.

    The last one wins, as with NumPy.  Every write to an element gets the value of the last, so
    that their order does not matter; nothing waits for the device.
    """
    if is_basic(index) or (hasattr(index, "dtype") and index.dtype.kind == "b"):
        x[index] = v
        return
    if hasattr(index, "dtype") and x.ndim:  # whole rows are written
        targets, row = index % x.shape[0], x.shape[1:]
    else:
        targets, row = xp.arange(x.size).reshape(x.shape)[index], ()
    # Sorted by target and then by position, so that the last position of a target ends its run.
    n = targets.size
    base = targets.reshape(-1) * n
    keys = xp.sort(base + xp.arange(n))
    last = keys[xp.searchsorted(keys, base + (n - 1), side="right") - 1] - base
    if hasattr(v, "ndim") and v.ndim:
        lead = v.ndim - targets.ndim - len(row)
        v = v.reshape(v.shape[max(lead, 0) :])
        v = xp.broadcast_to(v, (*targets.shape, *row)).reshape((n, *row))
        v = v[last].reshape((*targets.shape, *row))
    x[index] = v
