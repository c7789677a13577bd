"""NumPy's names and parameters where they differ from ours; used by `autograd_gpu.protocols`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu import ops

UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "expit": "sigmoid",
    "fabs": "abs",
    "gammaln": "lgamma",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "log_expit": "logsigmoid",
    "power": "pow",
    "psi": "digamma",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
"""Ufuncs of NumPy and scipy.special whose name here is another one."""

REDUCE = {
    "add": "sum",
    "logaddexp": "logsumexp",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
ACCUMULATE = {"add": "cumulative_sum", "multiply": "cumulative_prod"}

FUNCTIONS = {
    "amax": "max",
    "amin": "min",
    "around": "round",
    "concatenate": "concat",
    "round_": "round",
}

KEYWORDS = {
    "a_max": "max",
    "a_min": "min",
    "ddof": "correction",
    "newshape": "shape",
    "rcond": "rtol",
    "reps": "repetitions",
}

SIGNATURES: dict[str, tuple[str, ...]] = {
    "concatenate": ("arrays", "axis", "out", "dtype", "casting"),
    "dot": ("a", "b", "out"),
    "inner": ("a", "b"),
}
"""The parameters of functions in C, which older releases of NumPy do not tell."""

INDIFFERENT = {"casting", "copy", "like", "optimize", "order", "out", "subok", "where"}
"""Parameters that do not matter for Variables, or were seen to have their default."""

INSPECTORS = {
    "allclose",
    "array2string",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_str",
    "can_cast",
    "common_type",
    "iscomplexobj",
    "isrealobj",
    "may_share_memory",
    "min_scalar_type",
    "ndim",
    "result_type",
    "shape",
    "shares_memory",
    "size",
}
"""What looks at arrays and returns none."""


CREATION = {"arange", "full", "geomspace", "linspace", "logspace"}
"""What makes new arrays of numbers; no gradient flows into these."""


def divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return ops.floor_divide(a, b), ops.remainder(a, b)


UFUNC_ADAPTERS: dict[str, Callable[..., Any]] = {"divmod": divmod}


# Functions with NumPy's parameters --------------------------------------------------------------


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    a, axis = _flat(a, axis)
    return ops.cumulative_sum(a, axis=axis, dtype=dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    a, axis = _flat(a, axis)
    return ops.cumulative_prod(a, axis=axis, dtype=dtype)


def _flat(a: Any, axis: int | None) -> tuple[Any, int]:
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    return ops.einsum(subscripts, *operands)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return ops.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> Any:
    if sparse:
        raise TypeError("np.meshgrid: sparse= is not supported for Variables")
    return ops.meshgrid(*arrays, indexing=indexing)


def broadcast_arrays(*arrays: Any) -> Any:
    return tuple(ops.broadcast_arrays(*arrays))


def vstack(tup: Sequence[Any]) -> Any:
    return ops.concat([ops.atleast_2d(x) for x in tup], axis=0)


def hstack(tup: Sequence[Any]) -> Any:
    arrays = [ops.atleast_1d(x) for x in tup]
    return ops.concat(arrays, axis=0 if arrays[0].ndim == 1 else 1)


def dstack(tup: Sequence[Any]) -> Any:
    return ops.concat([ops.atleast_3d(x) for x in tup], axis=2)


def column_stack(tup: Sequence[Any]) -> Any:
    return ops.concat(
        [ops.reshape(x, (-1, 1)) if getattr(x, "ndim", 0) < 2 else x for x in tup], axis=1
    )


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        return ops.concat([ops.reshape(arr, (-1,)), ops.reshape(values, (-1,))])
    return ops.concat([arr, values], axis=axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int):
        size, n = ary.shape[axis], indices_or_sections
        cuts = [i * (size // n) + builtins.min(i, size % n) for i in range(1, n)]
        return list(ops.split(ary, cuts, axis))
    return list(ops.split(ary, indices_or_sections, axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return list(ops.split(ary, indices_or_sections, axis))


def copy(a: Any) -> Any:
    return ops.reshape(a, a.shape)


def vdot(a: Any, b: Any) -> Any:
    return ops.sum(ops.conj(ops.reshape(a, (-1,))) * ops.reshape(b, (-1,)))


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return ops.max(a, axis=axis, keepdims=keepdims) - ops.min(a, axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return ops.mean(a, axis=axis, keepdims=keepdims)
    shape = getattr(weights, "shape", None)
    if axis is not None and shape is not None and shape != a.shape:
        axes = [1] * a.ndim
        axes[axis] = -1
        weights = ops.reshape(weights, axes)
    total = ops.sum(weights * (a * 0 + 1), axis=axis, keepdims=keepdims)
    return ops.sum(a * weights, axis=axis, keepdims=keepdims) / total


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    axis %= a.ndim
    before = (slice(None),) * axis
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    axis %= y.ndim
    before = (slice(None),) * axis
    step = dx if x is None else diff(x, axis=axis if x.ndim == y.ndim else -1)
    if x is not None and x.ndim == 1:
        step = ops.reshape(step, (-1,) + (1,) * (y.ndim - axis - 1))
    return ops.sum(step * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2, axis)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = ops.where(condition, choice, result)
    return result


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return ops.nonzero(condition)
    return ops.where(condition, x, y)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis %= a.ndim
    start = start + a.ndim if start < 0 else start
    return ops.moveaxis(a, axis, start - 1 if axis < start else start)


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    info = ops.finfo(x.dtype) if hasattr(ops, "finfo") else None
    largest = info.max if info is not None else 1.7976931348623157e308
    x = ops.where(ops.isnan(x), nan, x)
    x = ops.where(x == float("inf"), largest if posinf is None else posinf, x)
    return ops.where(x == float("-inf"), -largest if neginf is None else neginf, x)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return ops.linalg.diagonal(ops.moveaxis(a, (axis1, axis2), (-2, -1)), offset)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return ops.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def diag(v: Any, k: int = 0) -> Any:
    if v.ndim != 1:
        return diagonal(v, k)
    n = v.shape[0] + abs(k)
    i = range(v.shape[0])
    index = ([j + builtins.max(-k, 0) for j in i], [j + builtins.max(k, 0) for j in i])
    return ops.scatter_add(v, index, (n, n))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    y = ops.linalg.cross(ops.moveaxis(a, axisa, -1), ops.moveaxis(b, axisb, -1))
    return ops.moveaxis(y, -1, axisc)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if tol is None:
        return ops.linalg.matrix_rank(A, rtol)
    return ops.count_nonzero(ops.linalg.svdvals(A) > tol, axis=-1)


ADAPTERS: dict[str, Callable[..., Any]] = {
    "append": append,
    "array_split": array_split,
    "average": average,
    "broadcast_arrays": broadcast_arrays,
    "clip": clip,
    "column_stack": column_stack,
    "copy": copy,
    "cross": cross,
    "cumprod": cumprod,
    "cumsum": cumsum,
    "diag": diag,
    "diagonal": diagonal,
    "diff": diff,
    "dstack": dstack,
    "einsum": einsum,
    "hstack": hstack,
    "linalg.matrix_rank": matrix_rank,
    "meshgrid": meshgrid,
    "nan_to_num": nan_to_num,
    "ptp": ptp,
    "rollaxis": rollaxis,
    "select": select,
    "split": split,
    "trace": trace,
    "trapezoid": trapezoid,
    "vdot": vdot,
    "vstack": vstack,
    "where": where,
}
