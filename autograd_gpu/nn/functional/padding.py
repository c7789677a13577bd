"""Borders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
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
