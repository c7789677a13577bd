"""What the functions of a namespace do with Batched arrays: the axes move by one.

A rule gets the type of the batches, the function for plain arrays, and the arguments, of which at
least one is Batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array
from autograd_gpu.batched import Batched, aligned, one_by_one, shifted


def _shift(axis: Any, ndim: int) -> Any:
    """Axes of an array of `ndim` axes, as those of the data; of a number there are none."""
    if axis is None or not ndim:
        return tuple(range(1, ndim + 1))
    if hasattr(axis, "__iter__"):
        return tuple([i % ndim + 1 for i in axis])
    return axis % ndim + 1  # of NumPy's integers too


def _reduction(
    kind: type[Batched], plain: Any, x: Batched, axis: Any = None, dtype: Any = None,
    out: None = None, keepdims: bool = False, **kw: Any,
) -> Batched:  # fmt: skip
    if dtype is not None:
        kw["dtype"] = dtype
    return kind(plain(x.data, axis=_shift(axis, x.ndim), keepdims=keepdims, **kw))


def _along(
    kind: type[Batched], plain: Any, x: Batched, axis: Any = None, dtype: Any = None, **kw: Any
) -> Batched:
    """Functions along one axis, which a vector need not name."""
    axis = 0 if axis is None else axis
    return kind(plain(x.data, axis=_shift(axis, x.ndim), dtype=dtype, **kw))


def _flip(kind: type[Batched], plain: Any, x: Batched, axis: Any = None) -> Batched:
    return kind(plain(x.data, axis=_shift(axis, x.ndim)))


def _roll(kind: type[Batched], plain: Any, x: Batched, shift: Any, axis: Any = None) -> Batched:
    if axis is None:
        return _roll(kind, plain, x.reshape((-1,)), shift, 0).reshape(x.shape)
    return kind(plain(x.data, shift, axis=_shift(axis, x.ndim)))


def _tile(kind: type[Batched], plain: Any, x: Batched, repetitions: Any) -> Batched:
    counts = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    counts = (1,) * (x.ndim - len(counts)) + counts
    return kind(plain(aligned(x, len(counts)), (1, *counts)))


def _repeat(kind: type[Batched], plain: Any, x: Batched, repeats: int, axis: Any) -> Batched:
    x, axis = (x.reshape((-1,)), 0) if axis is None else (x, axis)
    return kind(x.data.repeat(repeats, _shift(axis, x.ndim)))


def _moveaxis(kind: type[Batched], plain: Any, x: Batched, source: Any, to: Any) -> Batched:
    return kind(plain(x.data, _shift(source, x.ndim), _shift(to, x.ndim)))


def _new_axes(axis: Any) -> Any:
    """Axes of a result that has one more, as those of its data."""
    if hasattr(axis, "__iter__"):
        return tuple(map(_new_axes, axis))
    return axis if axis < 0 else axis + 1


def _expand_dims(kind: type[Batched], plain: Any, x: Batched, axis: Any) -> Batched:
    return kind(plain(x.data, _new_axes(axis)))


def _squeeze(kind: type[Batched], plain: Any, x: Batched, axis: Any = None) -> Batched:
    if axis is None:
        axis = tuple([i for i, n in enumerate(x.shape) if n == 1])
    return kind(x.data.squeeze(_shift(axis, x.ndim)))


def _broadcast_to(kind: type[Batched], plain: Any, x: Batched, shape: Any) -> Batched:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return kind(plain(aligned(x, len(shape)), (len(x.data), *shape)))


def _batch(arrays: Sequence[Any]) -> list[Array]:
    """The data of several arrays, those that are not Batched repeated."""
    size = next(len(x.data) for x in arrays if isinstance(x, Batched))
    first = next(x.data for x in arrays if isinstance(x, Batched))
    xp = NAMESPACES[type(first)]
    return [
        x.data if isinstance(x, Batched) else xp.broadcast_to(x, (size, *x.shape)) for x in arrays
    ]


def _concat(kind: type[Batched], plain: Any, arrays: Any, axis: int | None = 0) -> Batched:
    if axis is None:
        arrays, axis = [x.reshape((-1,)) for x in arrays], 0
    return kind(plain(_batch(arrays), axis=_new_axes(axis)))


def _stack(kind: type[Batched], plain: Any, arrays: Any, axis: int = 0) -> Batched:
    return kind(plain(_batch(arrays), axis=_new_axes(axis)))


def _matmul(kind: type[Batched], plain: Any, a: Any, b: Any) -> Batched:
    if a.ndim == 1 and not isinstance(b, Batched) and b.ndim == 2:
        return kind(plain(a.data, b))  # a batch of rows is a matrix
    if b.ndim == 1 and not isinstance(a, Batched) and a.ndim == 2:
        return kind(plain(b.data, a.T))
    row, column = a.ndim == 1, b.ndim == 1
    ndim = max(a.ndim, b.ndim, 2)
    left, right = _as_matrices(a, row, ndim, -2), _as_matrices(b, column, ndim, -1)
    y = plain(left, right)
    y = y[..., 0] if column else y
    return kind(y[..., 0] if row and column else y[..., 0, :] if row else y)


def _as_matrices(x: Any, vector: bool, ndim: int, axis: int) -> Array:
    if not isinstance(x, Batched):
        return (x[None, :] if axis == -2 else x[:, None]) if vector else x
    x = x.reshape((1, *x.shape) if axis == -2 else (*x.shape, 1)) if vector else x
    return aligned(x, ndim)


def _getitem(kind: type[Batched], plain: Any, x: Batched, index: Any) -> Batched:
    where = shifted(index)
    if where is None:
        return one_by_one(kind, lambda v: v[index], x)  # type: ignore[no-any-return]
    return kind(x.data[where])


def _scatter_add(kind: type[Batched], plain: Any, x: Batched, index: Any, shape: Any) -> Batched:
    where = shifted(index)
    if where is None:
        return one_by_one(kind, lambda v: plain(v, index, shape), x)  # type: ignore[no-any-return]
    return kind(plain(x.data, where, (len(x.data), *shape)))


def _take(
    kind: type[Batched], plain: Any, x: Batched, indices: Any, axis: int | None = None
) -> Batched:
    x, axis = (x.reshape((-1,)), 0) if axis is None else (x, axis)
    return kind(x.data.take(indices, _shift(axis, x.ndim)))


def _pad(kind: type[Batched], plain: Any, x: Batched, pad_width: Any) -> Batched:
    return kind(plain(x.data, ((0, 0), *pad_width)))


def _on_matrices(kind: type[Batched], plain: Any, x: Batched, *args: Any, **kw: Any) -> Batched:
    """Functions of the last two axes."""
    return kind(plain(x.data, *args, **kw))


def _solve(kind: type[Batched], plain: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Batched) or a.ndim > 2 or b.ndim > 2:
        return one_by_one(kind, plain, a, b)
    # One matrix: the batch makes more columns.
    n = b.data.shape[1]
    columns = b.data.swapaxes(0, 1)
    y = plain(a, columns.reshape((n, -1)))
    return kind(y.reshape(columns.shape).swapaxes(0, 1))


def _transform(kind: type[Batched], plain: Any, x: Batched, **kw: Any) -> Batched:
    """Fourier transforms along axes that are named."""
    name = "axis" if "axis" in kw else "axes"
    return kind(plain(x.data, **{**kw, name: _shift(kw[name], x.ndim)}))


def _folded(kind: type[Batched], plain: Any, x: Any, *args: Any, **kw: Any) -> Any:
    """Functions of arrays [N, C, ...] that treat each of N by itself: N is made to hold the batch,
    if only `x` is one."""
    if any(isinstance(v, Batched) for v in args):
        return one_by_one(kind, plain, x, *args, **kw)
    size, n = x.data.shape[:2]
    y = plain(x.data.reshape((size * n, *x.data.shape[2:])), *args, **kw)
    return kind(y.reshape((size, n, *y.shape[1:])))


RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "any", "all"), _reduction),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "cumsum"), _along),
    **dict.fromkeys(("tril", "triu", "diagonal", "inv", "matrix_transpose"), _on_matrices),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfft"), _transform),
    **dict.fromkeys(("conv", "conv_input", "sum_pool", "sum_pool_spread"), _folded),
    "asarray": lambda kind, plain, x, dtype=None: x if dtype is None else x.astype(dtype),
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "conj": lambda kind, plain, x: x.conj(),
    "expand_dims": _expand_dims,
    "flip": _flip,
    "getitem": _getitem,
    "matmul": _matmul,
    "moveaxis": _moveaxis,
    "pad": _pad,
    "permute_dims": lambda kind, plain, x, axes=None: x.transpose(*(axes or ())),
    "repeat": _repeat,
    "reshape": lambda kind, plain, x, shape, **kw: x.reshape(shape),
    "roll": _roll,
    "scatter_add": _scatter_add,
    "solve": _solve,
    "squeeze": _squeeze,
    "stack": _stack,
    "take": _take,
    "tile": _tile,
}
