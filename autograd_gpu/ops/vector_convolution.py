"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import variables
from autograd_gpu.ops.nested import call
from autograd_gpu.ops.shape import flip, reshape
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


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
    a, v = variables(a, v)
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
