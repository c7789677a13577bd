"""Stand-ins for NumPy's arrays while a step is recorded: they compute at once, and write it down.

A Traced is no ndarray, so that no function can take its memory unseen: what is not written down
(`np.asarray`, `float`, a C extension) has to ask for the array, which ends the recording.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from numbers import Number
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_gpu.backends.numpy_known import words

if TYPE_CHECKING:
    from autograd_gpu.backends.numpy_tape import Tape
from autograd_gpu.backends.numpy_values import Value

Array = np.ndarray[Any, Any]


def _binary(function: Callable[..., Any], ufunc: np.ufunc) -> Any:
    def method(self: Traced, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return self.tape.operator(function, ufunc, (self, other))

    return method


def _reflected(function: Callable[..., Any], ufunc: np.ufunc) -> Any:
    def method(self: Traced, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return self.tape.operator(function, ufunc, (other, self))

    return method


def _in_place(function: Callable[..., Any], ufunc: np.ufunc) -> Any:
    def method(self: Traced, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        if isinstance(self, TracedScalar):
            return self.tape.operator(function, ufunc, (self, other))
        self.tape.call(function, (self, other), writes=(self,))
        return self

    return method


def _unary(function: Callable[..., Any], ufunc: np.ufunc) -> Any:
    return lambda self: self.tape.operator(function, ufunc, (self,))


def _method(name: str) -> Any:
    function = getattr(np.ndarray, name)

    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        return self.tape.method(name, function, (self, *args), kwargs)

    return method


def _in_place_method(name: str) -> Any:
    function = getattr(np.ndarray, name)

    def method(self: Traced, *args: Any, **kwargs: Any) -> None:
        self.tape.call(function, (self, *args), kwargs, writes=(self,))

    return method


def _read(what: str, function: Callable[..., Any]) -> Any:
    def method(self: Traced, *args: Any) -> Any:
        self.tape.refuse(f"it reads the values of an array of shape {self.shape} ({what})")
        return function(self.array, *args)

    return method


class Traced:
    """An array of a step that is being recorded: what it is, and which Value of the recording."""

    __slots__ = ("__weakref__", "array", "tape", "value", "viewed")

    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, array: Any, tape: Tape, value: Value, viewed: Any = None) -> None:
        self.array = array
        self.tape = tape
        self.value = value
        self.viewed = viewed
        """What this is a view of, which it keeps alive and held as views do."""

    @property
    def untraced(self) -> Any:
        """The array itself."""
        return self.array

    @property
    def base(self) -> Any:
        if self.viewed is not None:
            return self.viewed
        # What is from outside is somebody else's, and so is a gradient that somebody has taken:
        # nothing may be added into it, however few hold what stands for it.
        kind = self.value.kind
        is_others = kind in ("array", "given") or (kind == "slot" and getrefcount(self.array) > 2)
        return self.array if is_others else self.array.base

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    itemsize = property(lambda self: self.array.itemsize)
    nbytes = property(lambda self: self.array.nbytes)
    strides = property(lambda self: self.array.strides)
    flags = property(lambda self: self.array.flags)
    device = property(lambda self: "cpu")
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    real = property(lambda self: self.tape.call(np.real, (self,)))
    imag = property(lambda self: self.tape.call(np.imag, (self,)))

    # Protocols --------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(isinstance(x, _OPERANDS) for x in inputs):
            return NotImplemented
        return self.tape.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(kind, (Traced, np.ndarray)) for kind in types):
            return NotImplemented
        return self.tape.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self.tape.refuse(
            f"NumPy or another library reads an array of shape {self.shape} (np.asarray, or a "
            f"function that is not known)"
        )
        return np.array(self.array, dtype, copy=copy)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.tape.refuse(f"it pickles an array of shape {self.shape}")
        return self.array.__reduce_ex__(protocol)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What else arrays have (`data`, `ctypes`, `tofile`), which ends the recording."""
            if name in Traced.__slots__ or name.startswith("__"):
                raise AttributeError(name)
            found = getattr(self.array, name)  # AttributeError, as of an array
            self.tape.refuse(f"it uses .{name} of an array of shape {self.shape}")
            return found

    # Indexing ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self.array))])

    def __getitem__(self, index: Any) -> Any:
        if _has_mask(index):
            self.tape.refuse("it indexes with a mask: the shape of the result depends on values")
        return self.tape.call(operator.getitem, (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if _is_slice(index) and getattr(value, "ndim", 0) <= (view := self[index]).ndim:
            self.tape.call(np.copyto, (view, value, "unsafe"), writes=(view,))
        else:
            self.tape.call(operator.setitem, (self, index, value), writes=(self,))

    # Operators --------------------------------------------------------------------------------

    __add__, __radd__ = _binary(operator.add, np.add), _reflected(operator.add, np.add)
    __sub__, __rsub__ = (
        _binary(operator.sub, np.subtract),
        _reflected(operator.sub, np.subtract),
    )
    __mul__, __rmul__ = _binary(operator.mul, np.multiply), _reflected(operator.mul, np.multiply)
    __truediv__, __rtruediv__ = (
        _binary(operator.truediv, np.true_divide),
        _reflected(operator.truediv, np.true_divide),
    )
    __floordiv__, __rfloordiv__ = (
        _binary(operator.floordiv, np.floor_divide),
        _reflected(operator.floordiv, np.floor_divide),
    )
    __mod__, __rmod__ = (
        _binary(operator.mod, np.remainder),
        _reflected(operator.mod, np.remainder),
    )
    __pow__, __rpow__ = _binary(operator.pow, np.power), _reflected(operator.pow, np.power)
    __matmul__, __rmatmul__ = (
        _binary(operator.matmul, np.matmul),
        _reflected(operator.matmul, np.matmul),
    )
    __and__, __rand__ = (
        _binary(operator.and_, np.bitwise_and),
        _reflected(operator.and_, np.bitwise_and),
    )
    __or__, __ror__ = (
        _binary(operator.or_, np.bitwise_or),
        _reflected(operator.or_, np.bitwise_or),
    )
    __xor__, __rxor__ = (
        _binary(operator.xor, np.bitwise_xor),
        _reflected(operator.xor, np.bitwise_xor),
    )
    __lshift__, __rlshift__ = (
        _binary(operator.lshift, np.left_shift),
        _reflected(operator.lshift, np.left_shift),
    )
    __rshift__, __rrshift__ = (
        _binary(operator.rshift, np.right_shift),
        _reflected(operator.rshift, np.right_shift),
    )
    __lt__, __le__ = _binary(operator.lt, np.less), _binary(operator.le, np.less_equal)
    __gt__, __ge__ = _binary(operator.gt, np.greater), _binary(operator.ge, np.greater_equal)
    __eq__, __ne__ = _binary(operator.eq, np.equal), _binary(operator.ne, np.not_equal)
    __neg__, __pos__ = _unary(operator.neg, np.negative), _unary(operator.pos, np.positive)
    __abs__, __invert__ = _unary(abs, np.absolute), _unary(operator.invert, np.invert)
    __iadd__ = _in_place(operator.iadd, np.add)
    __isub__ = _in_place(operator.isub, np.subtract)
    __imul__ = _in_place(operator.imul, np.multiply)
    __itruediv__ = _in_place(operator.itruediv, np.true_divide)
    __ifloordiv__ = _in_place(operator.ifloordiv, np.floor_divide)
    __imod__ = _in_place(operator.imod, np.remainder)
    __ipow__ = _in_place(operator.ipow, np.power)
    __iand__ = _in_place(operator.iand, np.bitwise_and)
    __ior__ = _in_place(operator.ior, np.bitwise_or)
    __ixor__ = _in_place(operator.ixor, np.bitwise_xor)

    # Methods ----------------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # Values -----------------------------------------------------------------------------------

    __bool__ = _read("bool()", bool)
    __float__ = _read("float()", float)
    __int__ = _read("int()", int)
    __complex__ = _read("complex()", complex)
    __index__ = _read("an index", operator.index)
    __contains__ = _read("in", operator.contains)
    __repr__ = _read("repr()", repr)
    __str__ = _read("str()", str)
    __format__ = _read("format()", format)
    item = _read("item()", lambda array, *args: array.item(*args))
    tolist = _read("tolist()", lambda array: array.tolist())
    tobytes = _read("tobytes()", lambda array, *args: array.tobytes(*args))
    nonzero = _read("nonzero()", lambda array: array.nonzero())
    compress = _read("compress()", lambda array, *args: array.compress(*args))

    def __dlpack__(self, **kwargs: Any) -> Any:
        self.tape.refuse("it hands an array to another library")
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class TracedScalar(Traced):
    """What stands in for one of NumPy's scalars, which functions return in place of 0-d arrays."""

    __slots__ = ()

    base = property(lambda self: None)


for _name in words(
    """all any argmax argmin argpartition argsort astype choose clip conj conjugate copy cumprod
    cumsum diagonal dot flatten max mean min prod ravel repeat reshape round searchsorted squeeze
    std sum swapaxes take trace transpose var view"""
):
    setattr(Traced, _name, _method(_name))
for _name in ("fill", "partition", "put", "sort"):
    setattr(Traced, _name, _in_place_method(_name))

_OPERANDS = (Traced, np.ndarray, np.generic, Number)


def _is_slice(index: Any) -> bool:
    """Whether the index is one of slices and the like, so that it gives a view."""
    entries = index if isinstance(index, tuple) else (index,)
    return all(x is Ellipsis or x is None or isinstance(x, slice) for x in entries)


def _has_mask(index: Any) -> bool:
    entries = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(x, (bool, np.bool_))
        or (isinstance(x, list) and np.asarray(x).dtype == bool)
        or getattr(getattr(x, "dtype", None), "kind", "") == "b"
        for x in entries
    )
