"""Differences, integrals and interpolation along an axis; convolution of vectors."""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import along, axis_of, beside, namespace_of, variable
from autograd_gpu.ops.comparisons import not_equal
from autograd_gpu.ops.cumulative import cumulative_sum
from autograd_gpu.ops.elementwise import multiply
from autograd_gpu.ops.indexing import argsort, searchsorted, take
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.nested import call
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import broadcast_to, flip, ravel, reshape
from autograd_gpu.primitive import primitive
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


# Convolution ------------------------------------------------------------------------------------


def _other(xp: Namespace, g: Any, b: Any, start: int, size: int) -> Any:
    """The gradient for one operand, given the other: a convolution with its mirror image."""
    n = b.shape[0]
    return call(
        xp,
        convolve_part,
        g,
        xp.flip(xp.conj(b), axis=0),
        start=n - 1 - start,
        stop=n - 1 - start + size,
    )


def _part(xp: Namespace, a: Any, b: Any, start: int, size: int) -> Any:
    return call(xp, convolve_part, a, b, start=start, stop=start + size)


@primitive(
    a=lambda xp, g, a_shape, b, start: _other(xp, g, b, start, a_shape[0]),
    b=lambda xp, g, b_shape, a, start: _other(xp, g, a, start, b_shape[0]),
    tangent={
        "a": lambda xp, t, b, start, y_shape: _part(xp, t, b, start, y_shape[0]),
        "b": lambda xp, t, a, start, y_shape: _part(xp, a, t, start, y_shape[0]),
    },
)
def convolve_part(xp: Namespace, a: Array, b: Array, *, start: int, stop: int) -> Array:
    """The elements from `start` to `stop` of the full convolution, which is 0 outside."""
    full = xp.convolve(a, b)
    n = full.shape[0]
    if start >= 0 and stop <= n:
        return full[start:stop]
    out = xp.zeros(stop - start, dtype=full.dtype)
    first, last = max(start, 0), min(stop, n)
    if first < last:
        out[first - start : last - start] = full[first:last]
    return out


def _vectors(op: str, a: Any, v: Any) -> tuple[Variable, Variable]:
    a = variable(a)
    v = beside(a, v)
    a, v = (reshape(x, (1,)) if not x.ndim else x for x in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError(
            f"{op}: two 1-d arrays that are not empty are needed: {a.shape}, {v.shape}"
        )
    return a, v


def _range(op: str, mode: str, n: int, m: int, centre: int) -> tuple[int, int]:
    short, long = min(n, m), max(n, m)
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return centre, centre + long
    if mode == "valid":
        return short - 1, long
    raise ValueError(f"{op}: mode is 'full', 'same' or 'valid', not {mode!r}")


def convolve(a: Any, v: Any, mode: str = "full") -> Variable:
    """The convolution of two vectors, as NumPy has it: all of it, its middle, or where they overlap
    completely.

    >>> convolve(Variable([1.0, 2.0]), Variable([1.0, 1.0])).tolist()
    [1.0, 3.0, 2.0]
    """
    a, v = _vectors("convolve", a, v)
    n, m = a.shape[0], v.shape[0]
    return convolve_part(a, v, *_range("convolve", mode, n, m, (min(n, m) - 1) // 2))


def correlate(a: Any, v: Any, mode: str = "valid") -> Variable:
    """The correlation of two vectors: element k is the sum of a[n + k] * conj(v[n])."""
    a, v = _vectors("correlate", a, v)
    n, m = a.shape[0], v.shape[0]
    centre = (m - 1) // 2 if n >= m else n // 2
    part = _range("correlate", mode, n, m, centre)
    return convolve_part(a, flip(v.conj() if v.dtype.kind == "c" else v), *part)


# Polynomials ------------------------------------------------------------------------------------


def polyval(p: Any, x: Any) -> Variable:
    """The polynomial with coefficients `p`, that of the highest power first, at `x`.

    >>> polyval([1.0, 0.0, 2.0], Variable([3.0])).tolist()
    [11.0]
    """
    coefficients: Any = p if isinstance(p, (list, tuple)) else variable(p)
    x = variable(x)
    y: Any = multiply(x, 0)
    for i in range(len(coefficients)):
        y = y * x + coefficients[i]
    return variable(y)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Variable:
    """The powers of each element of a vector, as rows; the highest first unless `increasing`."""
    x = variable(x)
    if x.ndim != 1:
        raise ValueError(f"vander: a 1-d array is needed, the shape is {x.shape}")
    n = x.shape[0] if N is None else N
    if not n:
        return variable(x[:, None][:, :0])
    ones = Variable(namespace_of(x).ones_like(x.value))
    columns = [ones]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns if increasing else columns[::-1]
    return concat([c[:, None] for c in columns], axis=1)
