"""Borders around arrays, by NumPy's modes.

As in NumPy, one axis is padded after the other, each with what the ones before it have added.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import along, axis_of, beside, namespace_of, variable
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.quantiles import median
from autograd_gpu.ops.reductions import max_, mean, min_
from autograd_gpu.ops.shape import broadcast_to, reshape
from autograd_gpu.ops.taking import take
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable

STATISTICS: dict[str, Callable[..., Variable]] = {
    "maximum": max_,
    "mean": mean,
    "median": median,
    "minimum": min_,
}
MODES = ("constant", "edge", "linear_ramp", *STATISTICS, "reflect", "symmetric", "wrap")


def _pad_x(g: Any, x_shape: tuple[int, ...], pad_width: Sequence[tuple[int, int]]) -> Any:
    inner = [slice(before, before + n) for n, (before, _) in zip(x_shape, pad_width, strict=True)]
    return g[tuple(inner)]


@primitive(x=_pad_x, tangent=lambda xp, t, pad_width: xp.pad(t, pad_width))
def pad_(
    xp: Namespace, x: Array, *, pad_width: Sequence[tuple[int, int]], constant_values: Any = 0
) -> Array:
    """`pad` with a pair of widths for every axis."""
    shape = [n + before + after for n, (before, after) in zip(x.shape, pad_width, strict=True)]
    inner = [slice(before, before + n) for n, (before, _) in zip(x.shape, pad_width, strict=True)]
    out = xp.full(tuple(shape), constant_values, dtype=x.dtype)
    out[tuple(inner)] = x
    return out


def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Variable:
    """`x` with a border before and after it along every axis.

    `pad_width` is NumPy's: a number for all sides, a pair (before, after) for all axes, such a pair
    for each axis, or a dictionary of numbers and pairs for some axes.  `constant_values`,
    `end_values` and `stat_length` are a number, a pair or a pair for each axis too.  The modes are

        constant     `constant_values`
        edge         the outermost element
        linear_ramp  from the outermost element to `end_values`
        maximum, mean, median, minimum   of the `stat_length` outermost elements, or of all
        reflect      mirrored at the outermost element, and `symmetric` between it and the border;
                     with `reflect_type="odd"` turned upside down too, for borders up to its size
        wrap         the other end

    The gradient of every element of the border goes to those that it comes from.  Raises ValueError
    for other modes (that of 'empty' has no values), and for an empty axis that gives no element.

    >>> pad(Variable([1.0, 2.0]), (1, 0))
    Variable(array([0., 1., 2.], dtype=float32))
    >>> pad(Variable([1.0, 2.0, 3.0]), (2, 1), "reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    """
    if mode not in MODES:
        raise ValueError(f"pad: mode {mode!r} is none of {MODES}")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type is 'even' or 'odd', not {reflect_type!r}")
    x = variable(x)
    widths = _pairs(pad_width, x.ndim)
    if mode == "constant" and _is_number(constant_values):
        return pad_(x, widths, constant_values)
    values = {"constant": constant_values, "linear_ramp": end_values}.get(mode, stat_length)
    for axis, (sides, given) in enumerate(zip(widths, _sides(values, x.ndim), strict=True)):
        if sides == (0, 0):
            continue
        if not x.shape[axis] and mode != "constant":
            raise ValueError(f"pad: axis {axis} is empty, and gives mode {mode!r} no element")
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            x = _mirrored(x, axis, sides, mode, reflect_type)
        else:
            before, after = [_border(mode, x, axis, end, sides[end], given[end]) for end in (0, 1)]
            x = variable(concat([before, x, after], axis=axis))
    return variable(x)


def _is_number(value: Any) -> bool:
    return not isinstance(value, (list, tuple, Variable)) and not getattr(value, "ndim", 0)


def _border(mode: str, x: Variable, axis: int, end: int, n: int, value: Any) -> Variable:
    """What comes before (`end` 0) or after x."""
    if mode == "constant":
        return broadcast_to(astype(beside(x, value), x.dtype), _with(x.shape, axis, n))
    if mode == "linear_ramp":
        return _ramp(x, axis, n, value, end)
    return _statistic(mode, x, axis, n, value, end)


def _sides(values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A value for both sides of every axis, from one, a pair, or a pair for each axis."""
    if not isinstance(values, (list, tuple)):
        return [(values, values)] * ndim
    if any(isinstance(v, (list, tuple)) for v in values):
        pairs = [(v[0], v[-1]) for v in values]
        return pairs * ndim if len(pairs) == 1 else pairs
    return [(values[0], values[-1])] * ndim


def _with(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _edge(x: Variable, axis: int, end: int) -> Variable:
    return x[along(axis, slice(-1, None) if end else slice(0, 1))]


def _ramp(x: Variable, axis: int, n: int, value: Any, end: int) -> Variable:
    steps = namespace_of(x).arange(n, dtype=x.dtype) / max(n, 1)
    if end:
        steps = 1 - steps - 1 / max(n, 1)
    steps = reshape(Variable(steps), _with((1,) * x.ndim, axis, n))
    value = astype(beside(x, value), x.dtype)
    return variable(value + (_edge(x, axis, end) - value) * steps)


def _statistic(mode: str, x: Variable, axis: int, n: int, length: Any, end: int) -> Variable:
    size = x.shape[axis]
    length = size if length is None else min(length, size)
    if length < 1:
        raise ValueError(f"pad: stat_length is 1 or more, not {length}")
    part = x[along(axis, slice(size - length, None) if end else slice(length))]
    y = STATISTICS[mode](part, axis=axis, keepdims=True)
    return broadcast_to(y, _with(x.shape, axis, n))


def _mirrored(
    x: Variable, axis: int, sides: tuple[int, int], mode: str, reflect_type: str
) -> Variable:
    n = x.shape[axis]
    xp = namespace_of(x)
    position = xp.arange(-sides[0], n + sides[1])
    if mode == "edge":
        return take(x, xp.clip(position, 0, n - 1), axis=axis)
    if mode == "wrap":
        return take(x, position % n, axis=axis)
    # Mirrors at the outermost elements stand n - 1 apart, those beyond them n.
    apart = n - 1 if mode == "reflect" else n
    if not apart:  # one element is its own mirror image
        return take(x, xp.zeros_like(position), axis=axis)
    rest = position % (2 * apart)
    index = xp.where(rest < apart, rest, 2 * apart - rest - (mode == "symmetric"))
    y = take(x, index, axis=axis)
    if reflect_type == "even":
        return y
    if max(sides) > apart:
        raise ValueError(
            f"pad: an odd reflection of axis {axis} has at most {apart} elements, not {max(sides)}"
        )
    ends = [2 * _edge(x, axis, 0) - y, y, 2 * _edge(x, axis, 1) - y]
    cuts = [slice(0, sides[0]), slice(sides[0], sides[0] + n), slice(sides[0] + n, None)]
    parts = [part[along(axis, cut)] for part, cut in zip(ends, cuts, strict=True)]
    return concat(parts, axis=axis)


def _pairs(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    given = pad_width.tolist() if hasattr(pad_width, "tolist") else pad_width
    if isinstance(given, dict):  # widths of some of the axes, 0 for the others
        widths: list[Any] = [(0, 0)] * ndim
        for axis, width in given.items():
            widths[axis_of("pad", axis, ndim)] = width
        given = [(w, w) if isinstance(w, int) else w for w in widths]
    try:
        if isinstance(given, int):
            pairs = [(given, given)] * ndim
        else:
            rows = [(w, w) if isinstance(w, int) else tuple(map(operator.index, w)) for w in given]
            if all(isinstance(w, int) for w in given):
                rows = [tuple(given)]  # one pair, or one number, for all axes
            rows = [row * 2 if len(row) == 1 else row for row in rows]
            pairs = [(a, b) for a, b in (rows * ndim if len(rows) == 1 else rows)]
    except (TypeError, ValueError):
        pairs = []
    if len(pairs) != ndim or any(a < 0 or b < 0 for a, b in pairs):
        raise ValueError(
            f"pad: pad_width is a number, a pair or a pair for each of {ndim} axes, none "
            f"negative, not {pad_width!r:.80}"
        )
    return tuple(pairs)
