"""The backend of Symbols: as much of a namespace as elementwise code and the engine ask for."""

from __future__ import annotations

from functools import partial
from typing import Any

from autograd_gpu.backend import BACKENDS, load_backend, register
from autograd_gpu.program import NotFusable
from autograd_gpu.symbols import Symbol
from autograd_gpu.tracing import tracing

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


class _Namespace:
    """The elementwise functions of a namespace, on Symbols; and sums, of which nothing is
    computed but with numbers and other sums."""

    def __getattr__(self, name: str) -> Any:
        name = _REPLACED.get(name, name)
        if name in FUNCTIONS:
            return partial(_record, name)
        if name in _ASIDE or name.startswith(("float", "int", "uint", "complex", "bool")):
            return getattr(load_backend("numpy").xp, name)
        # an AttributeError, as the ops ask for optional functions of a namespace
        raise AttributeError(f"{name} is not an elementwise function")

    def sum(
        self, x: Symbol, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Symbol:
        """The sum, which comes last."""
        return x.trace.sum(x, axis, dtype, keepdims)

    def mean(
        self, x: Symbol, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Symbol:
        """The mean, which comes last."""
        return x.trace.sum(x, axis, dtype, keepdims, mean=True)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any = None) -> Any:
        """A number, which programs keep as a constant."""
        trace = tracing.get()
        if shape != () or trace is None:
            raise NotFusable("it makes an array")
        return trace.number(value, dtype)

    def reshape(self, x: Symbol, shape: tuple[int, ...]) -> Symbol:
        """`x`, where it is the gradient of a sum."""
        return x.reshape(shape)

    def broadcast_to(self, x: Symbol, shape: tuple[int, ...]) -> Symbol:
        """`x`, where it is the gradient of a sum."""
        return x.reshape(shape)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        """`x` in that dtype."""
        if not isinstance(x, Symbol):
            if type(x) in BACKENDS or not isinstance(x, (bool, int, float, complex)):
                raise NotFusable("it uses an array that is no argument of the function")
            return self.full((), x, dtype)
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
