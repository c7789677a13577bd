"""Operators and NumPy's methods of Variable, bound to the class here.

Variable itself is below the ops and cannot name them; its class body declares what follows for type
checkers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autograd_gpu import engine, ops
from autograd_gpu.ops.reductions import Axis
from autograd_gpu.primitive import PRIMITIVES
from autograd_gpu.variable import Variable

# Each operator is the op itself, compiled to return NotImplemented for operands of foreign types,
# so that these (units, labelled arrays) get their turn.
BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
UNARY = {
    "__neg__": "negative",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_invert",
}
# Methods with the function's own name and parameters.
METHODS = (
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "clip",
    "conj",
    "cpu",
    "cuda",
    "cumulative_prod",
    "cumulative_sum",
    "diagonal",
    "dot",
    "flatten",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "sum",
    "swapaxes",
    "take",
    "to",
    "to_device",
    "trace",
)


def _reflected(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def reflected(self: Variable, other: Any) -> Any:
        return operator(other, self)

    return reflected


def reshape(self: Variable, *shape: Any, **keywords: Any) -> Variable:
    """The same elements in another shape, given as one tuple or as separate sizes."""
    return ops.reshape(self, _one_or_many(shape), **keywords)


def transpose(self: Variable, *axes: Any) -> Variable:
    """Axes permuted: reversed by default, or in the given order."""
    return ops.permute_dims(self, _one_or_many(axes) if axes and axes != (None,) else None)


def cumsum(self: Variable, axis: int | None = None, dtype: Any = None) -> Variable:
    """Running sums along `axis`, or of the flat array without one."""
    x = ops.ravel(self) if axis is None else self
    return ops.cumulative_sum(x, axis or 0, dtype)


def cumprod(self: Variable, axis: int | None = None, dtype: Any = None) -> Variable:
    """Running products along `axis`, or of the flat array without one."""
    x = ops.ravel(self) if axis is None else self
    return ops.cumulative_prod(x, axis or 0, dtype)


def std(
    self: Variable,
    axis: Axis = None,
    correction: float = 0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Variable:
    """The standard deviation over `axis`; NumPy's `ddof` is another name for `correction`."""
    return ops.std(self, axis, correction if ddof is None else ddof, keepdims)


def var(
    self: Variable,
    axis: Axis = None,
    correction: float = 0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Variable:
    """The variance over `axis`; NumPy's `ddof` is another name for `correction`."""
    return ops.var(self, axis, correction if ddof is None else ddof, keepdims)


def compress(self: Variable, condition: Any, axis: int | None = None) -> Variable:
    """The slices along `axis` for which the condition holds."""
    return ops.compress(condition, self, axis)


def copy(self: Variable) -> Variable:
    """A copy that is connected to this Variable in the graph."""
    return ops.asarray(self, copy=True)


def _one_or_many(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def iterate(self: Variable) -> Iterator[Variable]:
    """The Variables along the first axis."""
    if not self.ndim:
        raise TypeError("iteration over a 0-d Variable")
    return iter(ops.unstack(self))  # one stack in the backward, not an array of zeros for each


def contains(self: Variable, element: Any) -> bool:
    """Whether an element equals `element`, as for NumPy's arrays; read on the host."""
    return bool(ops.any(ops.equal(self, element)))


def rounded(self: Variable, decimals: int | None = None) -> Variable:
    """`round(v)`: a Variable, with gradient 0."""
    return ops.round(self, decimals or 0)


def divmod_(self: Any, other: Any) -> Any:
    """`divmod(v, w)`: the quotient rounded down, and what is left."""
    quotient = PRIMITIVES["floor_divide"].operator(self, other)
    if quotient is NotImplemented:
        return quotient
    return quotient, PRIMITIVES["remainder"].operator(self, other)


def _bind() -> None:
    for name, op in BINARY.items():
        setattr(Variable, f"__{name}__", PRIMITIVES[op].operator)
        setattr(Variable, f"__r{name}__", PRIMITIVES[op].reflected)
        setattr(Variable, f"__i{name}__", ops.inplace(getattr(ops, op)))
    for name, op in COMPARISONS.items():
        setattr(Variable, f"__{name}__", PRIMITIVES[op].operator)
    for name, op in UNARY.items():
        setattr(Variable, name, getattr(ops, op))
    for name in METHODS:
        setattr(Variable, name, getattr(ops, name))
    others: dict[str, Any] = {
        "__pow__": ops.power_operator,
        "__rpow__": _reflected(ops.power_operator),
        "__ipow__": ops.inplace(ops.pow),
        "__contains__": contains,
        "__divmod__": divmod_,
        "__rdivmod__": _reflected(divmod_),
        "__round__": rounded,
        "__getitem__": ops.getitem,
        "__setitem__": ops.setitem,
        "__iter__": iterate,
        "backward": engine.backward,
        "compress": compress,
        "conjugate": ops.conj,
        "copy": copy,
        "cumprod": cumprod,
        "cumsum": cumsum,
        "reshape": reshape,
        "std": std,
        "transpose": transpose,
        "var": var,
        "T": property(ops.permute_dims, doc="The array with its axes reversed."),
        "mT": property(ops.matrix_transpose, doc="The last two axes swapped."),
        "real": property(ops.real, doc="The real part."),
        "imag": property(ops.imag, doc="The imaginary part."),
    }
    for name, method in others.items():
        setattr(Variable, name, method)


_bind()
