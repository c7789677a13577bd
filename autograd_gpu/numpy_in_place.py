"""NumPy's functions that write into an array: the Variable takes the new value on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.numpy_outputs import check_target
from autograd_gpu.ops.arguments import beside, namespace_of


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    target = _writable("copyto", dst)
    src = beside(target, src)
    if not namespace_of(target).can_cast(src.dtype, target.dtype, casting):
        raise TypeError(f"np.copyto: {src.dtype} is not cast to {target.dtype} by {casting!r}")
    target[...] = src if where is True else ops.where(where, src, target)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    y = ops.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    if copy:
        return y
    _writable("nan_to_num", x)[...] = y
    return x


def putmask(a: Any, mask: Any, values: Any) -> None:
    if getattr(values, "shape", ()) not in ((), a.shape):
        raise TypeError("np.putmask: values of another shape are not supported for Variables")
    _writable("putmask", a)[...] = ops.where(mask, values, a)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if wrap or a.ndim != 2:
        raise TypeError("np.fill_diagonal: a matrix and no wrap= are needed for Variables")
    n = min(a.shape)
    _writable("fill_diagonal", a)[list(range(n)), list(range(n))] = val


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    if axis is None:
        raise TypeError("np.put_along_axis: axis=None is not supported for Variables")
    _writable("put_along_axis", arr)[...] = ops.put_along_axis(arr, indices, values, axis)


def _writable(name: str, x: Any) -> Any:
    check_target(f"np.{name}", x)
    return x


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if mode != "raise":
        raise TypeError("np.put: mode= is not supported for Variables")
    flat = ops.reshape(_writable("put", a), (-1,))
    count = ops.reshape(ind, (-1,)).size
    a[...] = ops.reshape(
        ops.set_at(flat, ops.reshape(ind, (-1,)), _cycled(beside(a, v), count)), a.shape
    )


def place(arr: Any, mask: Any, vals: Any) -> None:
    flat = ops.reshape(_writable("place", arr), (-1,))
    (chosen,) = ops.nonzero(ops.reshape(mask, (-1,)))
    arr[...] = ops.reshape(
        ops.set_at(flat, chosen, _cycled(beside(arr, vals), chosen.size)), arr.shape
    )


def _cycled(values: Any, count: int) -> Any:
    """`count` values, from the first one again after the last."""
    flat = ops.reshape(values, (-1,))
    return flat if flat.size == count else flat[[i % flat.size for i in range(count)]]


IN_PLACE: dict[str, Callable[..., Any]] = {
    "copyto": copyto,
    "fill_diagonal": fill_diagonal,
    "nan_to_num": nan_to_num,
    "place": place,
    "put": put,
    "put_along_axis": put_along_axis,
    "putmask": putmask,
}
