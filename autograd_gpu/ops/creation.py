"""New Variables, and the parts of matrices.

New arrays are made by the current backend, `*_like` by that of their model.  Without a dtype,
floating-point numbers get the default dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import (
    Array,
    Backend,
    Namespace,
    backend_of,
    current_backend,
    load_backend,
)
from autograd_gpu.ops.arguments import beside, variables
from autograd_gpu.ops.casts import placed
from autograd_gpu.placement import backend_beside, copied, on_its_device
from autograd_gpu.primitive import primitive
from autograd_gpu.values import as_value, get_default_dtype
from autograd_gpu.variable import Variable

Shape = int | Sequence[int]


def _default(*numbers: Any) -> str:
    """The dtype of Python numbers."""
    if all(isinstance(x, bool) for x in numbers):
        return "bool"
    if all(isinstance(x, int) for x in numbers):
        return "int64"
    dtype = get_default_dtype()
    if any(isinstance(x, complex) for x in numbers):
        return "complex128" if dtype == "float64" else "complex64"
    return dtype


def _make(name: str, *arguments: Any, device: Any, **keywords: Any) -> Variable:
    """The new array that a function of the backend makes on `device`, or on the current one."""
    backend, device = _at(device, None)
    with device or nullcontext():  # array_api_compat's own functions leave a CUDA device out
        return Variable(getattr(backend.xp, name)(*arguments, **keywords))


def _at(device: Any, default: Backend | None) -> tuple[Backend, Any]:
    """The backend that `device` belongs to, and what it calls it."""
    if device is None:
        return default or current_backend(), None
    place = placed(device)
    if place is None:
        raise ValueError(f"{device!r} is no device; 'cpu' and 'cuda:0' are such")
    return load_backend(place[0]), place[1]


def _or_default(dtype: Any) -> Any:
    return get_default_dtype() if dtype is None else dtype


def zeros(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """Zeros.

    >>> zeros(2)
    Variable(array([0., 0.], dtype=float32))
    """
    return _make("zeros", shape, dtype=_or_default(dtype), device=device)


def ones(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """Ones."""
    return _make("ones", shape, dtype=_or_default(dtype), device=device)


def empty(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """An array whose elements are not set."""
    return _make("empty", shape, dtype=_or_default(dtype), device=device)


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Variable:
    """`fill_value` everywhere; that of a Variable keeps its graph."""
    if isinstance(fill_value, Variable):
        filled = ops.broadcast_to(fill_value, (shape,) if isinstance(shape, int) else tuple(shape))
        filled = filled if dtype is None else ops.astype(filled, dtype)
        return filled if device is None else ops.to_device(filled, device)
    if dtype is None:
        dtype = getattr(fill_value, "dtype", None) or _default(fill_value)
    return _make("full", shape, fill_value, dtype=dtype, device=device)


def _like(name: str, x: Any, dtype: Any, device: Any, *fill: Any) -> Variable:
    value = x.value if isinstance(x, Variable) else as_value(x)
    backend = backend_of(value)
    if device is None:
        return Variable(getattr(backend_beside(value).xp, name)(value, *fill, dtype=dtype))
    chosen, device = _at(device, backend)
    with device or nullcontext():
        if chosen is not backend or device is not None:
            value = chosen.xp.empty(value.shape, dtype=value.dtype)
        return Variable(getattr(chosen.xp, name)(value, *fill, dtype=dtype))


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Variable:
    """Zeros of the shape and dtype of x."""
    return _like("zeros_like", x, dtype, device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Variable:
    """Ones of the shape and dtype of x."""
    return _like("ones_like", x, dtype, device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Variable:
    """An array of the shape and dtype of x whose elements are not set."""
    return _like("empty_like", x, dtype, device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Variable:
    """`fill_value` in the shape and dtype of x; that of a Variable keeps its graph."""
    if isinstance(fill_value, Variable):
        dtype = x.dtype if dtype is None else dtype
        return full(x.shape, fill_value, dtype=dtype, device=device)
    return _like("full_like", x, dtype, device, fill_value)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Variable:
    """Numbers from start (0 if only one is given) to below stop, `step` apart.

    >>> arange(3)
    Variable(array([0, 1, 2]))
    """
    if stop is None:
        start, stop = 0, start
    dtype = _default(start, stop, step) if dtype is None else dtype
    return _make("arange", start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Variable:
    """`num` evenly spaced numbers from start to stop.

    >>> linspace(0, 1, 3)
    Variable(array([0. , 0.5, 1. ], dtype=float32))
    """
    if isinstance(start, Variable) or isinstance(stop, Variable):
        return _linspace(start, stop, num, dtype, endpoint)
    dtype = _default(0.0, start, stop) if dtype is None else dtype
    return _make("linspace", start, stop, num, dtype=dtype, device=device, endpoint=endpoint)


@on_its_device
def _linspace(start: Any, stop: Any, num: int, dtype: Any, endpoint: bool) -> Variable:
    """`linspace` between Variables, along a new first axis, as NumPy has it."""
    ends = ops.stack(ops.broadcast_arrays(start, stop))
    xp = backend_of(ends.value).xp
    kind = ends.dtype if ends.dtype.kind in "fc" else get_default_dtype()
    t = xp.linspace(0, 1, num, dtype=kind, endpoint=endpoint)
    t = t.reshape((num,) + (1,) * (ends.ndim - 1))
    # Each end is exact: weights of 1 and 0.
    result = ops.add(ops.multiply(ends[0], 1 - t), ops.multiply(ends[1], t))
    return result if dtype is None else ops.astype(result, dtype)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Variable:
    """Ones on diagonal k of a matrix, zeros elsewhere."""
    return _make("eye", n_rows, n_cols, k=k, dtype=_or_default(dtype), device=device)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Variable:
    """`obj` as a Variable; a Variable comes back as itself, or connected to itself in the graph.

    Copied are numbers, lists, what needs another dtype or device, and all with `copy=True`; with
    `copy=False` these are a ValueError.  Lists of Variables are stacked.

    >>> v = Variable([1.0, 2.0], requires_grad=True)
    >>> asarray([v, v]).requires_grad
    True
    """
    if copy is False and isinstance(obj, (bool, int, float, complex, list, tuple, range)):
        raise ValueError(f"asarray: {type(obj).__name__} can't become an array without a copy")
    if isinstance(obj, Variable):
        x = obj
    elif isinstance(obj, (list, tuple)) and (tracked := _tracked(obj)) is not None:
        x = _stacked(obj, tracked)
    else:
        x = Variable(obj, dtype=dtype)
    if dtype is not None and x.dtype != dtype:
        x = ops.astype(x, dtype)
    if device is not None and device != x.device:
        x = ops.to_device(x, device)
    # What exports its memory by Python's buffer protocol is shared, as an array is.
    base = getattr(x.value, "base", None)
    same = x is obj or x.value is obj or isinstance(base, memoryview)
    if copy is False and not same:
        raise ValueError("asarray: another dtype or device needs a copy, which copy=False forbids")
    if not copy or not same:
        return x
    return Variable(copied(x.value)) if x.dtype.kind == "b" else ops.positive(x)


def _tracked(items: Any) -> Variable | None:
    """The first Variable in nested lists that requires a gradient."""
    for x in items:
        found = _tracked(x) if isinstance(x, (list, tuple)) else x
        if isinstance(found, Variable) and found.requires_grad:
            return found
    return None


def _stacked(items: Any, tracked: Variable) -> Variable:
    """Nested lists as one Variable; Python numbers take part in its dtype weakly."""
    return ops.stack(
        [
            _stacked(x, tracked) if isinstance(x, (list, tuple)) else beside(tracked, x)
            for x in items
        ]
    )


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Variable:
    """The array of another library that tells of its memory by DLPack, shared where possible.

    What comes from a CUDA device becomes a CuPy array, all else a NumPy array.  `device` moves it,
    and `copy=True` copies.

    >>> from_dlpack(np.ones(2))
    Variable(array([1., 1.]))
    """
    kind = int(x.__dlpack_device__()[0])
    on_cuda = kind in (2, 13)  # kDLCUDA, kDLCUDAManaged
    xp = load_backend("cupy" if on_cuda else "numpy").xp
    return asarray(xp.from_dlpack(x), device=device, copy=copy)


@primitive(x=lambda xp, g, k: xp.tril(g, k=k), tangent="linear")
def tril(xp: Namespace, x: Array, *, k: int = 0) -> Array:
    """The lower triangles of matrices, up to diagonal k; zeros elsewhere."""
    return xp.tril(x, k=k)


@primitive(x=lambda xp, g, k: xp.triu(g, k=k), tangent="linear")
def triu(xp: Namespace, x: Array, *, k: int = 0) -> Array:
    """The upper triangles of matrices, from diagonal k on; zeros elsewhere."""
    return xp.triu(x, k=k)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Variable]:
    """Coordinates on a grid from one 1-d array for each axis; "xy" swaps the first two axes.

    >>> [x.shape for x in meshgrid(arange(2), arange(3))]
    [(3, 2), (3, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    xs = variables(*arrays)
    n = len(xs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    sizes = [1] * n
    for i, x in zip(order, xs, strict=True):
        if x.ndim > 1:
            raise ValueError(f"meshgrid: 1-d arrays are needed, one has the shape {x.shape}")
        sizes[i] = x.size
    grid = []
    for i, x in zip(order, xs, strict=True):
        line = ops.reshape(x, tuple([x.size if j == i else 1 for j in range(n)]))
        grid.append(ops.broadcast_to(line, tuple(sizes)))
    return grid
