"""Arrays with one more axis than they tell of: many gradients, or tangents, in one pass.

A Batched array of shape [M, N] holds an array [B, M, N], a batch of B.  The derivatives of ops and
the engine run on it as on an array of shape [M, N]; beside plain arrays, which are the same for the
whole batch.  The functions that derivatives use most have a rule (`autograd_gpu.batch_rules`); any
other is called once for each element of the batch, which is slower and as right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array


def aligned(x: Any, ndim: int) -> Any:
    """The array in `x` such that it broadcasts beside arrays of up to `ndim` axes."""
    if not isinstance(x, Batched):
        return x
    data = x.data
    missing = ndim + 1 - data.ndim
    if missing <= 0:
        return data
    return data.reshape((data.shape[0], *(1,) * missing, *data.shape[1:]))


def elementwise(kind: type[Batched], function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """An elementwise function of arrays, Batched or not, and numbers."""
    ndim = max(map(_ndim, args))
    return kind(function(*[aligned(x, ndim) for x in args], **kw))


def shifted(index: Any) -> Any:
    """The index of `x[index]` into the data of a Batched `x`; None where there is none, since the
    axes of several arrays in it come first if anything stands between these."""
    entries = index if isinstance(index, tuple) else (index,)
    if any(hasattr(e, "shape") for e in entries):
        picks = [i for i, e in enumerate(entries) if isinstance(e, int) or hasattr(e, "shape")]
        if picks != list(range(picks[0], picks[-1] + 1)):
            return None
    return (slice(None), *entries)


def _ndim(x: Any) -> int:
    return getattr(x, "ndim", 0)


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Batched, *others: Any) -> Any:
        for x in others:
            if not isinstance(x, (Batched, bool, int, float, complex)) and not hasattr(x, "dtype"):
                return NotImplemented
        ndim = max(self.ndim, *map(_ndim, others)) if others else self.ndim
        operands = [aligned(x, ndim) for x in others]
        return type(self)(getattr(aligned(self, ndim), name)(*operands))

    return operate


def _in_place(name: str) -> Callable[..., Any]:
    operate = _operator(name)

    def update(self: Batched, other: Any) -> Any:
        self.data = operate(self, other).data
        return self

    return update


class Batched:
    """A batch of arrays along the first axis of `data`, in place of any of them."""

    __slots__ = ("data",)

    # NumPy's and CuPy's arrays leave operators to this class.
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        """Of each array of the batch."""
        return self.data.shape[1:]  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes of each."""
        return self.data.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The number of elements of each."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """Of the elements."""
        return self.data.dtype

    @property
    def base(self) -> Any:
        """What the memory belongs to, if not to this array."""
        return self.data.base

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self.data.device

    @property
    def T(self) -> Batched:
        """The axes of each in reverse."""
        return self.transpose()

    @property
    def real(self) -> Batched:
        """The real part."""
        return type(self)(self.data.real)

    def copy(self) -> Batched:
        """A batch with memory of its own."""
        return type(self)(self.data.copy())

    def conj(self) -> Batched:
        """The complex conjugate."""
        return self if self.dtype.kind != "c" else type(self)(self.data.conj())

    conjugate = conj

    def astype(self, dtype: Any, *args: Any, **kw: Any) -> Batched:
        """The batch in another dtype."""
        return type(self)(self.data.astype(dtype, *args, **kw))

    def reshape(self, *shape: Any) -> Batched:
        """The elements of each in another shape."""
        given = shape[0] if len(shape) == 1 else shape
        given = (given,) if isinstance(given, int) else tuple(given)
        if -1 in given:
            known = -math.prod(given)
            given = tuple([self.size // max(known, 1) if n == -1 else n for n in given])
        return type(self)(self.data.reshape((self.data.shape[0], *given)))

    def transpose(self, *axes: Any) -> Batched:
        """The axes of each in another order, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = range(self.ndim - 1, -1, -1) if not order else [i % self.ndim for i in order]
        return type(self)(self.data.transpose((0, *[i + 1 for i in order])))

    def swapaxes(self, axis1: int, axis2: int) -> Batched:
        """Two axes of each swapped."""
        return type(self)(self.data.swapaxes(axis1 % self.ndim + 1, axis2 % self.ndim + 1))

    def __getitem__(self, index: Any) -> Batched:
        return self._function("getitem")(self, index)  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[shifted(index)] = value

    def _function(self, name: str) -> Any:
        return getattr(NAMESPACES[type(self)], name)

    def __getattr__(self, name: str) -> Any:
        """Other methods are the functions of the same name."""
        if name.startswith("_"):
            raise AttributeError(name)
        function = self._function(name)
        return lambda *args, **kw: function(self, *args, **kw)


for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor",
):  # fmt: skip
    setattr(Batched, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Batched, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(Batched, f"__i{_name}__", _in_place(f"__{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    setattr(Batched, f"__{_name}__", _operator(f"__{_name}__"))


def one_by_one(kind: type[Batched], function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """`function` of each element of the batch: right for any function, if not fast."""
    batches = [v for x in args for v in (x if isinstance(x, (list, tuple)) else (x,))]
    size = next(len(x.data) for x in batches if isinstance(x, Batched))

    def at(i: int, x: Any) -> Any:
        if isinstance(x, Batched):
            return x.data[i, ...]  # an array also where it has no axes
        return type(x)([at(i, v) for v in x]) if type(x) in (list, tuple) else x

    return _stacked(kind, [function(*[at(i, x) for x in args], **kw) for i in range(size)])


def _stacked(kind: type[Batched], results: Sequence[Any]) -> Any:
    first = results[0]
    if first is None or first is NotImplemented:
        return first
    if isinstance(first, (list, tuple)):
        return tuple([_stacked(kind, parts) for parts in zip(*results, strict=True)])
    arrays = [x for x in results if type(x) in NAMESPACES]
    xp = NAMESPACES[type(arrays[0])] if arrays else NAMESPACES[kind].plain
    return kind(xp.stack([xp.asarray(x) for x in results]))


KINDS: dict[type, type[Batched]] = {}
"""The type of batches of arrays of a type; `autograd_gpu.batching.batched` makes them."""


def is_batch_of(kind: type, plain: type) -> bool:
    """Whether arrays of `kind` are batches of arrays of type `plain`."""
    return KINDS.get(plain) is kind
