"""Arrays that are not there: running elementwise code on them writes down a Program.

A Symbol stands for an array; the forwards and derivatives of ops run on it as they do on arrays,
and so does the engine.  It has a shape and a dtype but no elements: whoever looks at these, or asks
for a function that is not elementwise, gets NotFusable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autograd_gpu.program import NotFusable

if TYPE_CHECKING:
    from autograd_gpu.tracing import Trace


def _no_elements(what: str) -> Callable[..., Any]:
    def refuse(self: Symbol, *args: Any) -> Any:
        raise NotFusable(f"the function {what}")

    return refuse


def _operator(name: str, swapped: bool = False, in_place: bool = False) -> Callable[..., Any]:
    def operate(self: Symbol, *others: Any) -> Any:
        for x in others:
            if not isinstance(x, (Symbol, bool, int, float, complex)) and not hasattr(x, "dtype"):
                return NotImplemented
        args = (*others, self) if swapped else (self, *others)
        result = self.trace.record(name, args, {})
        if not in_place:
            return result
        if result.dtype != self.dtype:
            result = self.trace.record("astype", (result, self.dtype), {})
        self.index = result.index
        return self

    return operate


class Symbol:
    """An array without elements.  It is a cell: writing into it changes what it stands for."""

    __slots__ = ("index", "trace")

    # NumPy's scalars leave operators to this class.
    __array_ufunc__ = None
    __hash__ = object.__hash__

    base = None
    nbytes = 0
    device = "none"

    def __init__(self, trace: Trace, index: int) -> None:
        self.trace, self.index = trace, index

    @property
    def dtype(self) -> Any:
        """Of the array."""
        return self.trace.examples[self.index].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return self.trace.shapes[self.index]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    def copy(self) -> Symbol:
        """Another cell for the same array."""
        return type(self)(self.trace, self.index)

    def conj(self) -> Symbol:
        """The complex conjugate."""
        return self.trace.record("conj", (self,), {})

    conjugate = conj

    @property
    def real(self) -> Symbol:
        """The real part."""
        return self if self.dtype.kind != "c" else self.trace.record("real", (self,), {})

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Symbol:
        """The array in another dtype."""
        return self.trace.record("astype", (self, dtype), {})

    def clip(self, min: Any = None, max: Any = None) -> Symbol:
        """The array between two bounds."""
        return self.trace.record("clip", (self, min, max), {})

    def reshape(self, shape: tuple[int, ...]) -> Symbol:
        """The same, for the gradient of a sum only: it is spread before it is given the axes that
        the sum has lost, or made that of each element."""
        if not self.trace.spread or len(shape) != self.ndim:
            raise NotFusable("it changes the shape of an array")
        return self

    __bool__ = _no_elements("branches on the elements of an array")
    __float__ = __int__ = __index__ = __complex__ = _no_elements("turns an array into a number")
    __getitem__ = __setitem__ = _no_elements("indexes an array")
    __iter__ = __len__ = _no_elements("looks at the elements of an array")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} is not elementwise")


for _name, _function in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}.items():
    setattr(Symbol, f"__{_name}__", _operator(_function))
    setattr(Symbol, f"__r{_name}__", _operator(_function, swapped=True))
    setattr(Symbol, f"__i{_name}__", _operator(_function, in_place=True))
for _name, _function in {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "neg": "negative",
    "pos": "positive",
    "abs": "abs",
    "invert": "bitwise_invert",
}.items():
    setattr(Symbol, f"__{_name}__", _operator(_function))
