"""NumPy's names and parameters where they differ from ours; used by `autograd_gpu.protocols`."""

from __future__ import annotations

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
ACCUMULATE = {
    "add": "cumulative_sum",
    "logaddexp": "logcumsumexp",
    "maximum": "cumulative_max",
    "minimum": "cumulative_min",
    "multiply": "cumulative_prod",
}

FUNCTIONS = {
    "amax": "max",
    "amin": "min",
    "around": "round",
    "fix": "trunc",
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
    "bincount": ("x", "weights", "minlength"),
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


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return list(ops.split(ary, indices_or_sections, axis))


def copy(a: Any) -> Any:
    return ops.reshape(a, a.shape)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return ops.nonzero(condition)
    return ops.where(condition, x, y)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis %= a.ndim
    start = start + a.ndim if start < 0 else start
    return ops.moveaxis(a, axis, start - 1 if axis < start else start)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if tol is None:
        return ops.linalg.matrix_rank(A, rtol)
    return ops.count_nonzero(ops.linalg.svdvals(A) > tol, axis=-1)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    return ops.gradient(f, *varargs, axis=axis, edge_order=edge_order)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **keywords: Any) -> Any:
    return ops.piecewise(x, condlist, funclist, *args, **keywords)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """NumPy writes in place."""
    if axis is None or not hasattr(arr, "requires_grad"):
        raise TypeError("np.put_along_axis: a Variable and an axis are needed to write into")
    arr[...] = ops.put_along_axis(arr, indices, values, axis)


ADAPTERS: dict[str, Callable[..., Any]] = {
    "broadcast_arrays": broadcast_arrays,
    "clip": clip,
    "copy": copy,
    "cumprod": cumprod,
    "cumsum": cumsum,
    "einsum": einsum,
    "gradient": gradient,
    "linalg.matrix_rank": matrix_rank,
    "meshgrid": meshgrid,
    "piecewise": piecewise,
    "put_along_axis": put_along_axis,
    "rollaxis": rollaxis,
    "split": split,
    "where": where,
}
