"""The functions of a namespace on Batched arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.batched import Batched, aligned, elementwise, shifted
from autograd_gpu.symbols import FUNCTIONS

KERNELS: set[str] = set()
"""Fused steps that a namespace may have or lack: for batches they are computed one by one."""

MORE_ELEMENTWISE = frozenset(("fmod", "heaviside", "nextafter"))


def each(function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """`function(*args)`, of each element of the batch where an argument is Batched."""
    for x in args:
        for v in x if isinstance(x, (list, tuple)) else (x,):
            if isinstance(v, Batched):
                return one_by_one(type(v), function, *args, **kw)
    return function(*args, **kw)


class BatchedNamespace:
    """The namespace `xp` for Batched arrays of type `kind`; without any among the arguments it is
    `xp` itself."""

    def __init__(self, xp: Namespace, kind: type[Batched], inner: str = "") -> None:
        self.plain, self._kind, self._inner = xp, kind, inner

    def __getattr__(self, name: str) -> Any:
        if name in KERNELS:
            raise AttributeError(f"{name} has no form of its own for batches")
        plain = getattr(self.plain, name, None)
        made: Any
        if name in ("linalg", "fft", "special") and not self._inner:
            made = BatchedNamespace(plain, self._kind, name)
        elif name in RULES:
            made = _dispatch(plain, partial(RULES[name], self._kind, plain))
        elif plain is None:
            raise AttributeError(f"there is no function {name}")
        elif not callable(plain) or isinstance(plain, type):
            return plain
        elif name in FUNCTIONS or name in MORE_ELEMENTWISE or self._inner == "special":
            made = _dispatch(plain, partial(elementwise, self._kind, plain))
        else:
            made = _dispatch(plain, partial(one_by_one, self._kind, plain))
        setattr(self, name, made)  # found without __getattr__ from now on
        return made


def _dispatch(plain: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kw: Any) -> Any:
        for x in args:
            if isinstance(x, Batched) or (
                isinstance(x, (list, tuple)) and any(isinstance(v, Batched) for v in x)
            ):
                return rule(*args, **kw)
        return plain(*args, **kw)

    return function


def one_by_one(kind: type[Batched], function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """`function` of each element of the batch: right for any function, if not fast."""
    batches = [v for x in args for v in (x if isinstance(x, (list, tuple)) else (x,))]
    size = next(len(x.data) for x in batches if isinstance(x, Batched))

    def at(i: int, x: Any) -> Any:
        if isinstance(x, Batched):
            return x.data[i]
        return type(x)([at(i, v) for v in x]) if type(x) in (list, tuple) else x

    return _stacked(kind, [function(*[at(i, x) for x in args], **kw) for i in range(size)])


def _stacked(kind: type[Batched], results: Sequence[Any]) -> Any:
    first = results[0]
    if first is None:
        return None
    if isinstance(first, (list, tuple)):
        return tuple([_stacked(kind, parts) for parts in zip(*results, strict=True)])
    arrays = [x for x in results if type(x) in NAMESPACES]
    xp = NAMESPACES[type(arrays[0])] if arrays else NAMESPACES[kind].plain
    return kind(xp.stack([xp.asarray(x) for x in results]))


def _shift(axis: Any, ndim: int) -> Any:
    """Axes of an array of `ndim` axes, as those of the data."""
    if isinstance(axis, int):
        return axis % ndim + 1 if ndim else axis + 1
    axes = range(ndim) if axis is None else axis
    return tuple([i % ndim + 1 for i in axes])


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
    if isinstance(axis, int):
        return axis if axis < 0 else axis + 1
    return tuple(map(_new_axes, axis))


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


def _solve(kind: type[Batched], plain: Any, a: Any, b: Any) -> Batched:
    if b.ndim < 2:
        return one_by_one(kind, plain, a, b)  # type: ignore[no-any-return]
    ndim = max(a.ndim, b.ndim)
    return kind(plain(aligned(a, ndim), aligned(b, ndim)))


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
