"""New Variables, and the parts of matrices.

New arrays are made by the current backend, `*_like` by that of their model.  Without a dtype,
floating-point numbers get the default dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import Array, Namespace, backend_of, current_backend
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


def _xp() -> Namespace:
    return current_backend().xp


def zeros(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """Zeros.

    >>> zeros(2)
    Variable(array([0., 0.], dtype=float32))
    """
    return Variable(_xp().zeros(shape, dtype=dtype or get_default_dtype(), device=device))


def ones(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """Ones."""
    return Variable(_xp().ones(shape, dtype=dtype or get_default_dtype(), device=device))


def empty(shape: Shape, *, dtype: Any = None, device: Any = None) -> Variable:
    """An array whose elements are not set."""
    return Variable(_xp().empty(shape, dtype=dtype or get_default_dtype(), device=device))


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Variable:
    """`fill_value` everywhere; that of a Variable keeps its graph."""
    if isinstance(fill_value, Variable):
        filled = ops.broadcast_to(fill_value, (shape,) if isinstance(shape, int) else tuple(shape))
        return filled if dtype is None else ops.astype(filled, dtype)
    if dtype is None:
        dtype = getattr(fill_value, "dtype", None) or _default(fill_value)
    return Variable(_xp().full(shape, fill_value, dtype=dtype, device=device))


def _like(name: str, x: Any, dtype: Any, device: Any, *fill: Any) -> Variable:
    value = x.value if isinstance(x, Variable) else as_value(x)
    make = getattr(backend_of(value).xp, name)
    return Variable(make(value, *fill, dtype=dtype, device=device))


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
    """`fill_value` in the shape and dtype of x."""
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
    dtype = dtype or _default(start, stop, step)
    return Variable(_xp().arange(start, stop, step, dtype=dtype, device=device))


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
    dtype = dtype or _default(0.0, start, stop)
    return Variable(_xp().linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint))


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
    dtype = dtype or get_default_dtype()
    return Variable(_xp().eye(n_rows, n_cols, k=k, dtype=dtype, device=device))


def asarray(
    data: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Variable:
    """`data` as a Variable; a Variable comes back as itself, or connected to itself in the graph.

    Copied are numbers, lists, what needs another dtype or device, and all with `copy=True`.
    """
    x = data if isinstance(data, Variable) else Variable(data, dtype=dtype)
    if dtype is not None and x.dtype != dtype:
        x = ops.astype(x, dtype)
    if device is not None and device != x.device:
        x = ops.to(x, device)
    return ops.positive(x) if copy and (x is data or x.value is data) else x


@primitive(x=lambda xp, g, k: xp.tril(g, k=k))
def tril(xp: Namespace, x: Array, *, k: int = 0) -> Array:
    """The lower triangles of matrices, up to diagonal k; zeros elsewhere."""
    return xp.tril(x, k=k)


@primitive(x=lambda xp, g, k: xp.triu(g, k=k))
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
    xs = [asarray(x) for x in arrays]
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
