"""Angles without jumps, and functions through points."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.ops.arguments import along, axis_of, beside, variable
from autograd_gpu.ops.calculus import diff
from autograd_gpu.ops.cumulative import cumulative_sum
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import broadcast_to
from autograd_gpu.ops.sorting import (
    argsort,
    searchsorted,
)
from autograd_gpu.ops.taking import take
from autograd_gpu.variable import Variable


def unwrap(
    p: Any, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Variable:
    """Angles with their jumps by more than half a `period` taken out along `axis`.

    What is added is constant almost everywhere, so the gradient passes as it is.
    """
    p = variable(p)
    axis = axis_of("unwrap", axis, p.ndim)
    if p.dtype.kind not in "fV":
        raise TypeError(f"unwrap: real floating-point numbers are needed, not {p.dtype}")
    steps = diff(p.detach(), axis=axis)
    half = period / 2
    wrapped = (steps + half) % period - half
    wrapped = where((wrapped == -half) & (steps > 0), half, wrapped)
    threshold = half if discont is None else max(discont, half)
    jumps = where(abs(steps) < threshold, 0.0, wrapped - steps)
    shift = cumulative_sum(jumps, axis=axis)
    parts = [p[along(axis, slice(0, 1))], p[along(axis, slice(1, None))] + shift]
    return concat(parts, axis=axis)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Variable:
    """The piecewise linear function through the points (xp, fp) at `x`; `xp` increases.

    Outside it is `left` and `right`, by default the first and the last of `fp`.  Differentiable in
    `x`, `xp` and `fp`; at a point, the slope in `x` is that to its right.

    >>> interp(Variable([1.5]), [1.0, 2.0], [10.0, 20.0]).tolist()
    [15.0]
    """
    x = variable(x)
    xs, fs = beside(x, xp), beside(x, fp)
    if xs.ndim != 1 or xs.shape != fs.shape:
        raise ValueError(f"interp: xp and fp are 1-d and of one size, not {xs.shape}, {fs.shape}")
    n = xs.shape[0]
    if not n:
        raise ValueError("interp: at least one point is needed")
    if period is not None:
        if not period:
            raise ValueError("interp: the period is 0")
        period = abs(period)
        left = right = None
        x, xs = x % period, xs % period
        order = argsort(xs)
        xs, fs = take(xs, order), take(fs, order)
        xs = concat([xs[-1:] - period, xs, xs[:1] + period])
        fs = concat([fs[-1:], fs, fs[:1]])
        n += 2
    low = fs[0] if left is None else left
    high = fs[-1] if right is None else right
    if n == 1:
        y = broadcast_to(fs[0], x.shape) + 0 * x
    else:
        i = searchsorted(xs.detach(), x.detach(), side="right") - 1
        i = where(i < 0, 0, where(i > n - 2, n - 2, i))
        x0, f0 = take(xs, i), take(fs, i)
        width = take(xs, i + 1) - x0
        width = width + (width == 0)  # points that coincide
        y = f0 + (take(fs, i + 1) - f0) * ((x - x0) / width)
    y = where(x < xs[0], low, y)
    return where(x > xs[-1], high, where(x == xs[-1], fs[-1], y) if n > 1 else y)
