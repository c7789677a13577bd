"""Choosing by conditions and by indices, and adding at indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.dtypes import finfo
from autograd_gpu.ops.arguments import along, axis_of, beside, namespace_of, variable, variables
from autograd_gpu.ops.comparisons import isclose, isnan
from autograd_gpu.ops.indexing import (
    normal_index,
    scatter_add,
)
from autograd_gpu.ops.joining import stack
from autograd_gpu.ops.reductions import all_
from autograd_gpu.ops.selection import where
from autograd_gpu.ops.shape import broadcast_arrays, broadcast_to, expand_dims, ravel
from autograd_gpu.ops.taking import (
    take,
    take_along_axis,
)
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


def compress(condition: Any, x: Any, /, axis: int | None = None) -> Variable:
    """The slices of `x` along `axis` for which a 1-d condition holds; on CuPy it waits.

    >>> compress([True, False, True], Variable([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0]
    """
    x = variable(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = axis_of("compress", axis, x.ndim)
    mask = beside(x, condition)
    if mask.ndim != 1 or mask.shape[0] > x.shape[axis]:
        raise ValueError(
            f"compress: a condition of shape {mask.shape} for an axis of size {x.shape[axis]}"
        )
    places = namespace_of(x).nonzero(mask.value)[0]
    return take(x, places, axis)


def extract(condition: Any, x: Any, /) -> Variable:
    """The elements of the flat `x` for which the condition holds; on CuPy it waits."""
    x = ravel(variable(x))
    return compress(ravel(beside(x, condition)), x)


def choose(a: Any, choices: Any, /, mode: str = "raise") -> Variable:
    """Elementwise `choices[a]`, with NumPy's broadcasting.

    Indices out of range are an error, or with `mode` 'wrap' or 'clip' made to fit; on CuPy, where
    looking at them would wait, they wrap around.
    """
    a = variable(a)
    if isinstance(choices, (list, tuple)):
        first = next((variable(x) for x in choices if hasattr(x, "dtype")), a)
        options = [beside(first, x) for x in choices]
    else:
        options = list(variable(choices))
    if not options:
        raise ValueError("choose: there is nothing to choose from")
    if a.dtype.kind not in "iub":
        raise TypeError(f"choose: integers are needed, not {a.dtype}")
    n = len(options)
    a, *options = broadcast_arrays(a, *options)
    if mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = where(a < 0, 0, where(a > n - 1, n - 1, a))
    elif mode != "raise":
        raise ValueError(f"choose: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    return take_along_axis(stack(options), expand_dims(a, axis=0), 0)[0]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], /, default: Any = 0) -> Variable:
    """Elementwise the choice of the first condition that holds, or `default`.

    >>> x = Variable([1.0, 5.0])
    >>> select([x < 2, x > 4], [x, -x]).tolist()
    [1.0, -5.0]
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    *choices, result = variables(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return variable(result)


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kwargs: Any
) -> Variable:
    """The function (or number) of the last condition that holds, at each element of `x`.

    One function more than conditions is for where none holds, which is 0 otherwise.  Each function
    is called on all of `x`; elements that others take do not get its gradient.
    """
    x = variable(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else list(variable(condlist))
    if isinstance(condlist, (list, tuple)) and not any(
        hasattr(c, "dtype") or isinstance(c, (list, tuple)) for c in condlist
    ):
        conditions = [list(condlist)] if x.ndim else list(condlist)
    n, m = len(conditions), len(funclist)
    if m not in (n, n + 1):
        raise ValueError(f"piecewise: {m} functions for {n} conditions")

    def at(f: Any) -> Any:
        return f(x, *args, **kwargs) if callable(f) else beside(x, f)

    result: Any = at(funclist[n]) if m > n else 0
    for condition, f in zip(conditions, funclist[:n], strict=True):
        result = where(beside(x, condition), at(f), result)
    result = variable(result)
    result = result if result.shape == x.shape else broadcast_to(result, x.shape)
    return variable(result if result.dtype == x.dtype else result.astype(x.dtype))


def index_add(x: Any, index: Any, values: Any, /, axis: int = 0, *, alpha: complex = 1) -> Variable:
    """A copy of `x` with `alpha * values` added at the indices along `axis`; repeated ones add up.

    >>> index_add(Variable([1.0, 2.0]), [0, 0], Variable([10.0, 20.0])).tolist()
    [31.0, 2.0]
    """
    x = variable(x)
    axis = axis_of("index_add", axis, x.ndim)
    values = beside(x, values)
    if alpha != 1:
        values = values * alpha
    where_ = along(axis, normal_index(x, index, "index_add"))
    return variable(x + scatter_add(values, where_, x.shape))


def nan_to_num(
    x: Any, /, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Variable:
    """`x` with numbers for NaN and the infinities, by default 0 and the largest of its dtype.

    The gradient of what is replaced is 0.  The result is a new Variable whatever `copy` says;
    `np.nan_to_num(v, copy=False)` changes v.
    """
    x = variable(x)
    if x.dtype.kind == "b":
        return variable(x.copy())
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (x.real, x.imag)]
        return parts[0] + parts[1] * 1j
    if x.dtype.kind not in "fV":
        return variable(+x)
    largest = finfo(x).max
    x = where(isnan(x), nan, x)
    x = where(x == math.inf, largest if posinf is None else posinf, x)
    return where(x == -math.inf, -largest if neginf is None else neginf, x)


def allclose(
    a: Any, b: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Variable:
    """Whether all elements are close, by `isclose`; not differentiable."""
    return all_(isclose(a, b, rtol, atol, equal_nan))


@primitive()
def isin_(xp: Namespace, a: Array, b: Array, *, invert: bool) -> Array:
    """`isin` of arrays."""
    return xp.isin(a, b, invert=invert)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Variable:
    """Which elements of `x1` are among those of `x2`, or are not; not differentiable."""
    if not hasattr(x1, "dtype") and hasattr(x2, "dtype"):
        return isin_(beside(variable(x2), x1), x2, invert)
    x1 = variable(x1)
    return isin_(x1, beside(x1, x2), invert)


def argwhere(x: Any, /) -> Variable:
    """The indices of the elements that are not 0, a row each; on CuPy it waits."""
    x = variable(x)
    return Variable(namespace_of(x).argwhere(x.value))


def flatnonzero(x: Any, /) -> Variable:
    """The indices of the elements of the flat `x` that are not 0; on CuPy it waits."""
    x = ravel(variable(x))
    return Variable(namespace_of(x).nonzero(x.value)[0])
