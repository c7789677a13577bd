"""Arrays that are not there: running elementwise code on them writes down a Program.

A Symbol stands for an array; the forwards and derivatives of ops run on it as they do on arrays,
and so does the engine.  It has a shape and a dtype but no elements: whoever looks at these, or asks
for a function that is not elementwise, gets NotFusable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from autograd_gpu.backend import Array, load_backend, register
from autograd_gpu.program import NotFusable, Program, Ref, Step, constant_key

FUNCTIONS = frozenset(
    (
        "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "astype", "atan", "atan2",
        "atanh", "bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor", "cbrt", "ceil",
        "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "erf", "exp", "exp2",
        "expm1", "floor", "floor_divide", "full_like", "greater", "greater_equal", "hypot",
        "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p",
        "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
        "maximum", "masked", "minimum", "multiply", "negative", "not_equal", "ones_like",
        "positive", "power", "real", "reciprocal", "remainder", "round", "sign", "signbit",
        "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where",
        "zeros_like",
    )
)  # fmt: skip
"""The functions of a namespace that are elementwise; ufuncs among them take an `out`."""

# What a namespace has besides functions of arrays.
_ASIDE = frozenset(("pi", "e", "inf", "nan", "finfo", "iinfo", "isdtype", "result_type"))

_REPLACED = {"arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2"}


class Trace:
    """The steps of one program, each written once however often it is computed."""

    def __init__(
        self, kind: type[Symbol], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[Any]
    ) -> None:
        self.kind, self.shapes, self.dtypes = kind, list(shapes), tuple(dtypes)
        self.xp = load_backend("numpy").xp
        self.steps: list[Step] = []
        # one element of each value, from which the dtypes of results follow
        self.examples: list[Array] = [self.xp.ones((1,), dtype=dtype) for dtype in dtypes]
        self.known: dict[Any, int] = {}

    def inputs(self) -> list[Symbol]:
        """A new Symbol for each input."""
        return [self.kind(self, i) for i in range(len(self.dtypes))]

    def record(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Symbol:
        """The Symbol of a function's result."""
        out = kwargs.pop("out", None)
        kwargs.pop("device", None)
        if name == "conj" and args[0].dtype.kind != "c":
            return args[0]  # type: ignore[no-any-return]
        if name == "astype":
            args, kwargs = self._astype(*args, **kwargs)
            if args[0].dtype == args[1]:
                return self.kind(self, args[0].index)
        elif isinstance(getattr(self.xp, name), _ufunc_type(self.xp)):
            inputs = getattr(self.xp, name).nin
            if len(args) > inputs:  # the array into which the result is written
                (out,) = args[inputs:]
                args = args[:inputs]
        index = self._index(name, args, kwargs)
        if out is not None:
            out.index = index
            return out  # type: ignore[no-any-return]
        return self.kind(self, index)

    def _astype(self, x: Any, dtype: Any, copy: bool = True) -> tuple[tuple[Any, Any], Any]:
        return (x, self.xp.empty(0, dtype=dtype).dtype), {}

    def _index(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
        made = tuple([self._argument(x) for x in args])
        key = (name, *map(_key, made), *[(k, _key(v)) for k, v in sorted(kwargs.items())])
        index = self.known.get(key)
        if index is None:
            values = [self.examples[x.index] if isinstance(x, Ref) else x for x in made]
            with self.xp.errstate(all="ignore"):
                example = self.xp.asarray(getattr(self.xp, name)(*values, **kwargs))
            if example.shape not in ((1,), ()):
                raise NotFusable(f"{name} changes the shape")
            index = self.known[key] = len(self.examples)
            self.examples.append(example.reshape(1))
            self.shapes.append(joint([self.shapes[x.index] for x in made if isinstance(x, Ref)]))
            self.steps.append(Step(name, made, kwargs, example.dtype))
        return index

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Symbol):
            if x.trace is not self:
                raise NotFusable("an array of another trace")
            return Ref(x.index)
        if getattr(x, "ndim", 0):
            raise NotFusable("it uses an array that is no argument of the function")
        if hasattr(x, "get"):  # CuPy's 0-d arrays live on the device
            raise NotFusable("it uses an array on a device that is no argument of the function")
        return x

    def program(self, outputs: Sequence[Symbol]) -> Program:
        """The steps that the outputs need."""
        n = len(self.dtypes)
        needed: set[int] = set()
        stack = [self._argument(y).index for y in outputs]
        while stack:
            index = stack.pop()
            if index not in needed:
                needed.add(index)
                if index >= n:
                    args = self.steps[index - n].args
                    stack += [x.index for x in args if isinstance(x, Ref)]
        place = {i: i for i in range(n)}
        steps: list[Step] = []
        for i in sorted(needed - place.keys()):
            step = self.steps[i - n]
            args = tuple([Ref(place[x.index]) if isinstance(x, Ref) else x for x in step.args])
            place[i] = n + len(steps)
            steps.append(Step(step.name, args, step.kwargs, step.dtype))
        return Program(self.dtypes, tuple(steps), tuple([Ref(place[y.index]) for y in outputs]))


def joint(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The one shape to which these broadcast; NotFusable if there is none."""
    out = [1] * max(map(len, shapes))
    for shape in shapes:
        for i, n in enumerate(shape, len(out) - len(shape)):
            if n != out[i] and n != 1:
                if out[i] != 1:
                    raise NotFusable("its arguments do not broadcast to one shape")
                out[i] = n
    return tuple(out)


def _ufunc_type(xp: Any) -> type:
    return type(xp.exp)


def _key(x: Any) -> Any:
    return x.index if isinstance(x, Ref) else constant_key(x)


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


class _Namespace:
    """The elementwise functions of a namespace, on Symbols."""

    def __getattr__(self, name: str) -> Any:
        name = _REPLACED.get(name, name)
        if name in FUNCTIONS:
            return partial(_record, name)
        if name in _ASIDE or name.startswith(("float", "int", "uint", "complex", "bool")):
            return getattr(load_backend("numpy").xp, name)
        # an AttributeError, as the ops ask for optional functions of a namespace
        raise AttributeError(f"{name} is not an elementwise function")

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        """`x` in that dtype."""
        if not isinstance(x, Symbol):
            return load_backend("numpy").xp.asarray(x, dtype=dtype)
        return x if dtype is None or x.dtype == dtype else _record("astype", x, dtype)


def _record(name: str, *args: Any, **kwargs: Any) -> Any:
    for x in args:
        if isinstance(x, Symbol):
            return x.trace.record(name, args, kwargs)
    return getattr(load_backend("numpy").xp, name)(*args, **kwargs)


class _Backend:
    """As much of a backend as the engine and the ops ask for."""

    is_symbolic = True

    def __init__(self, name: str, kind: type[Symbol]) -> None:
        self.name, self.array_type, self.xp = f"fuse on {name}", kind, _Namespace()

    def asarray(self, data: Any, dtype: Any = None) -> Any:
        """`data` if it is a Symbol."""
        if not isinstance(data, Symbol):
            raise NotFusable("it makes an array")
        return self.xp.asarray(data, dtype)

    def constant(self, data: Any, dtype: Any = None) -> Any:
        """Raises NotFusable: kernels have numbers, and no arrays, of their own."""
        raise NotFusable("it makes an array")

    def is_shared(self, x: Any) -> bool:
        """True: an update in place makes a copy."""
        return True

    def device_count(self) -> int:
        """Nothing is computed, and so nowhere in particular."""
        return 1

    def device(self, x: Symbol) -> str:
        """Nowhere."""
        return x.device


_kinds: dict[str, type[Symbol]] = {}


def symbol_type(backend: str) -> type[Symbol]:
    """The type that stands for arrays of that backend."""
    kind = _kinds.get(backend)
    if kind is None:
        kind = _kinds[backend] = type("Symbol", (Symbol,), {"__slots__": ()})
        made: Any = _Backend(backend, kind)
        register(made)
    return kind
