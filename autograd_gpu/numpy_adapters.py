"""NumPy's functions that differ from ours in more than names, with NumPy's parameters.

`out=` and parameters that do not matter for Variables are taken care of by `numpy_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.numpy_in_place import IN_PLACE
from autograd_gpu.ops import complex_functions
from autograd_gpu.ops.arguments import variable
from autograd_gpu.ops.arithmetic import floating


def divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return ops.floor_divide(a, b), ops.remainder(a, b)


def matvec(a: Any, x: Any) -> Any:
    return ops.matmul(a, ops.expand_dims(x, axis=-1))[..., 0]


def vecmat(x: Any, a: Any) -> Any:
    return ops.matmul(ops.expand_dims(ops.conj(x), axis=-2), a)[..., 0, :]


def fabs(x: Any) -> Any:
    if variable(x).dtype.kind == "c":
        raise TypeError("np.fabs: real numbers are needed; np.abs has the modulus")
    return ops.abs(floating(x))


def rint(x: Any) -> Any:
    return ops.round(floating(x))


def isposinf(x: Any) -> Any:
    return ops.equal(x, float("inf"))


def isneginf(x: Any) -> Any:
    return ops.equal(x, float("-inf"))


def lambertw(z: Any, k: Any, tol: Any) -> Any:
    """The ufunc behind SciPy's function; the tolerance is SciPy's business."""
    return complex_functions.lambertw(z, int(k))


UFUNC_ADAPTERS: dict[str, Callable[..., Any]] = {
    "_lambertw": lambertw,
    "divmod": divmod,
    "fabs": fabs,
    "matvec": matvec,
    "rint": rint,
    "vecmat": vecmat,
}


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


def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    return ops.pad(array, pad_width, mode, **options)


def angle(z: Any, deg: bool = False) -> Any:
    y = ops.angle(z)
    return ops.rad2deg(y) if deg else y


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


def isreal(x: Any) -> Any:
    return ops.equal(ops.imag(x), 0)


def iscomplex(x: Any) -> Any:
    return ops.not_equal(ops.imag(x), 0)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = ops.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    y = ops.moveaxis(y, 0, axis) if axis else y
    if not retstep:
        return y
    return y, (stop - start) / max(num - 1 if endpoint else num, 1)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = ops.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else ops.astype(y, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    zero = ops.multiply(ops.add(start, stop), 0).detach()
    t = linspace(zero, zero + 1, num, endpoint)
    y = ops.multiply(start, ops.pow(ops.divide(stop, start), t))
    y = ops.moveaxis(y, 0, axis) if axis else y
    return y if dtype is None else ops.astype(y, dtype)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None or not equal_nan:
        raise TypeError("np.unique: axis= and equal_nan= are not supported for Variables")
    values, *others = ops.unique_all(ar)
    asked = (return_index, return_inverse, return_counts)
    chosen = [x for x, wanted in zip(others, asked, strict=True) if wanted]
    return (values, *chosen) if chosen else values


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    return ops.gradient(f, *varargs, axis=axis, edge_order=edge_order)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **keywords: Any) -> Any:
    return ops.piecewise(x, condlist, funclist, *args, **keywords)


def union1d(ar1: Any, ar2: Any) -> Any:
    return ops.unique_values(ops.concat([ops.ravel(ar1), ops.ravel(ar2)]))


def intersect1d(ar1: Any, ar2: Any) -> Any:
    x = ops.unique_values(ar1)
    return x[ops.isin(x, ar2)]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    x = ops.ravel(ar1) if assume_unique else ops.unique_values(ar1)
    return x[ops.logical_not(ops.isin(x, ar2))]


def setxor1d(ar1: Any, ar2: Any) -> Any:
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        reduced = func(a, axis)
        a = reduced if reduced.ndim == a.ndim else ops.expand_dims(reduced, axis)
    return a


ADAPTERS: dict[str, Callable[..., Any]] = {
    **IN_PLACE,
    "angle": angle,
    "apply_over_axes": apply_over_axes,
    "broadcast_arrays": broadcast_arrays,
    "clip": clip,
    "copy": copy,
    "cumprod": cumprod,
    "cumsum": cumsum,
    "einsum": einsum,
    "geomspace": geomspace,
    "gradient": gradient,
    "iscomplex": iscomplex,
    "intersect1d": intersect1d,
    "isneginf": isneginf,
    "isposinf": isposinf,
    "isreal": isreal,
    "linalg.matrix_rank": matrix_rank,
    "linspace": linspace,
    "logspace": logspace,
    "meshgrid": meshgrid,
    "pad": pad,
    "piecewise": piecewise,
    "rollaxis": rollaxis,
    "setdiff1d": setdiff1d,
    "setxor1d": setxor1d,
    "split": split,
    "union1d": union1d,
    "unique": unique,
    "where": where,
}
