"""Differences and integrals along an axis."""

from __future__ import annotations

from typing import Any

from autograd_gpu.ops.arguments import along, axis_of, beside, variable
from autograd_gpu.ops.comparisons import not_equal
from autograd_gpu.ops.cumulative import cumulative_sum
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.shape import broadcast_to, ravel, reshape
from autograd_gpu.variable import Variable


def diff(
    x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Variable:
    """The n-th differences of neighbours along `axis`, after putting `prepend` and `append` there.

    >>> diff(Variable([1.0, 4.0, 9.0]))
    Variable(array([3., 5.], dtype=float32))
    """
    x = variable(x)
    if n < 0:
        raise ValueError(f"diff: n is 0 or more, not {n}")
    axis = axis_of("diff", axis, x.ndim)
    if prepend is not None or append is not None:
        before = [] if prepend is None else [_edge(x, prepend, axis)]
        after = [] if append is None else [_edge(x, append, axis)]
        x = concat([*before, x, *after], axis=axis)
    for _ in range(n):
        right, left = x[along(axis, slice(1, None))], x[along(axis, slice(None, -1))]
        x = not_equal(right, left) if x.dtype.kind == "b" else right - left
    return variable(x)


def _edge(x: Variable, part: Any, axis: int) -> Variable:
    part = beside(x, part)
    if part.ndim:
        return variable(part)
    return broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def ediff1d(x: Any, /, to_end: Any = None, to_begin: Any = None) -> Variable:
    """The differences of neighbours in the flat array, between `to_begin` and `to_end`."""
    x = ravel(variable(x))
    parts = [x[1:] - x[:-1]]
    if to_begin is not None:
        parts.insert(0, ravel(beside(x, to_begin)))
    if to_end is not None:
        parts.append(ravel(beside(x, to_end)))
    return parts[0] if len(parts) == 1 else concat(parts)


def gradient(f: Any, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """NumPy's gradient: central differences within, one-sided ones of `edge_order` at the ends.

    `varargs` is nothing, one spacing, or one for each axis: a number, or the coordinates.  Returns
    one Variable for one axis, a tuple for several.

    >>> gradient(Variable([1.0, 4.0, 9.0])).tolist()
    [3.0, 4.0, 5.0]
    """
    f = variable(f)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is 1 or 2, not {edge_order}")
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of("gradient", a, f.ndim) for a in axes]
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"gradient: {len(varargs)} spacings for {len(axes)} axes")
    spacings = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    found = [_slope(f, h, a, edge_order) for h, a in zip(spacings, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slope(f: Variable, h: Any, axis: int, edge_order: int) -> Variable:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient: at least {edge_order + 1} elements are needed along axis {axis}, not {n}"
        )

    def at(start: int, stop: int | None) -> Variable:
        return f[along(axis, slice(start, stop))]

    if getattr(h, "ndim", 0) == 0 and not isinstance(h, (list, tuple)):
        inner = (at(2, None) - at(0, -2)) / (2 * h)
        if edge_order == 1:
            first, last = (at(1, 2) - at(0, 1)) / h, (at(n - 1, n) - at(n - 2, n - 1)) / h
        else:
            first = (4 * at(1, 2) - 3 * at(0, 1) - at(2, 3)) / (2 * h)
            last = (3 * at(n - 1, n) - 4 * at(n - 2, n - 1) + at(n - 3, n - 2)) / (2 * h)
        return concat([first, inner, last], axis=axis)
    x = beside(f, h)
    if x.ndim != 1 or x.shape[0] != n:
        raise ValueError(f"gradient: {n} coordinates are needed along axis {axis}, got {x.shape}")
    steps = reshape(x[1:] - x[:-1], (-1,) + (1,) * (f.ndim - axis - 1))

    def step(i: int, stop: int | None) -> Variable:
        return steps[i:stop]

    a, b = step(0, -1), step(1, None)
    inner = (
        at(2, None) * (a / (b * (a + b)))
        + at(1, -1) * ((b - a) / (a * b))
        - at(0, -2) * (b / (a * (a + b)))
    )
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / step(0, 1)
        last = (at(n - 1, n) - at(n - 2, n - 1)) / step(n - 2, n - 1)
    else:
        a, b = step(0, 1), step(1, 2)
        first = (
            at(1, 2) * ((a + b) / (a * b))
            - at(0, 1) * ((2 * a + b) / (a * (a + b)))
            - at(2, 3) * (a / (b * (a + b)))
        )
        a, b = step(n - 3, n - 2), step(n - 2, n - 1)
        last = (
            at(n - 3, n - 2) * (b / (a * (a + b)))
            - at(n - 2, n - 1) * ((a + b) / (a * b))
            + at(n - 1, n) * ((2 * b + a) / (b * (a + b)))
        )
    return concat([first, inner, last], axis=axis)


def _areas(op: str, y: Variable, x: Any, dx: Any, axis: int) -> Variable:
    """The areas of the trapezoids between neighbours."""
    if x is None:
        step: Any = dx
    else:
        x = beside(y, x)
        step = diff(x, axis=axis if x.ndim == y.ndim else -1)
        if x.ndim == 1:
            step = reshape(step, (-1,) + (1,) * (y.ndim - axis - 1))
    both = y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]
    return variable(both * step / 2)


def trapezoid(y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Variable:
    """The integral of samples `y` along `axis` by the trapezoidal rule, at `x` or `dx` apart.

    >>> trapezoid(Variable([1.0, 2.0, 3.0])).item()
    4.0
    """
    y = variable(y)
    axis = axis_of("trapezoid", axis, y.ndim)
    return sum_(_areas("trapezoid", y, x, dx, axis), axis=axis)


def cumulative_trapezoid(
    y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Variable:
    """The integral up to each sample; `initial` is put before them if it is given."""
    y = variable(y)
    axis = axis_of("cumulative_trapezoid", axis, y.ndim)
    total = cumulative_sum(_areas("cumulative_trapezoid", y, x, dx, axis), axis=axis)
    return total if initial is None else concat([_edge(total, initial, axis), total], axis=axis)
