"""NumPy's ufuncs and their methods on Variables: `np.exp(v)`, `np.add.reduce(v)`, `array * v`.

NumPy hands over its own object; which op it is follows from its name, so that NumPy need not be
imported.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_gpu import numpy_adapters, numpy_names, ops, special
from autograd_gpu.numpy_arguments import no_derivative, op_named, supported
from autograd_gpu.numpy_outputs import (
    are_arrays,
    check_target,
    delivered,
    on_values,
    outputs,
    values,
)
from autograd_gpu.numpy_reductions import PARTIAL
from autograd_gpu.operands import ForeignOperand
from autograd_gpu.ops.arguments import beside, namespace_of, variable
from autograd_gpu.variable import Variable

_ops: dict[Any, Callable[..., Any]] = {}
_reducers: dict[Any, Callable[..., Any]] = {}

PLAIN = {"axis", "keepdims"}
"""The keywords of `reduce` that reductions have too."""


def array_ufunc(self: Variable, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy ufunc, or one of its methods, on Variables."""
    op = _ops.get(ufunc)
    if op is None:
        op = _ops[ufunc] = _op(ufunc.__name__)
    try:
        if method == "__call__" and not kwargs:
            return op(*inputs)
        return _with_options(op, ufunc, method, inputs, kwargs)
    except ForeignOperand:
        return NotImplemented


def override_elementwise_kernel(self: Variable, kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """A CuPy ufunc on Variables, as `array_ufunc`."""
    name = kernel.name.removeprefix("cupy_")
    op = _ops.get(kernel)
    if op is None:
        op = _ops[kernel] = _op(name)
    inputs, out = args[: kernel.nin], outputs(kwargs.pop("out", None) or args[kernel.nin :] or None)
    if are_arrays(out):
        return on_values(kernel.name, kernel, (*inputs, *out), kwargs)
    if out:
        return delivered(kernel.name, out, lambda: _called(op, kernel.name, inputs, kwargs))
    return _called(op, kernel.name, inputs, kwargs)


def _op(name: str) -> Callable[..., Any]:
    """The op of a ufunc; what has none gets a function that says so when it is called."""
    adapter = numpy_adapters.UFUNC_ADAPTERS.get(name)
    if adapter is not None:
        return adapter
    ours = numpy_names.UFUNCS.get(name, name)
    op = getattr(ops, ours, None) or getattr(special, ours, None)
    if op is not None:
        return op  # type: ignore[no-any-return]

    def refuse(*inputs: Any) -> Any:
        raise no_derivative(f"np.{name}")

    return refuse


def _with_options(
    op: Callable[..., Any], ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A ufunc's method, or the ufunc itself with keywords."""
    if method == "reduce" and len(inputs) == 1 and kwargs.keys() <= PLAIN:
        reduce = _reducers.get(ufunc)
        if reduce is not None:
            return reduce(*inputs, **{"axis": 0, **kwargs})
    label = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    if method == "at":
        return _at(label, ufunc, inputs)
    out = outputs(kwargs.pop("out", None))
    if are_arrays(out):
        arrays = {**kwargs, "out": out if ufunc.nout > 1 or method == "__call__" else out[0]}
        return on_values(label, getattr(ufunc, method), inputs, arrays)
    where = kwargs.pop("where", True)
    if method == "__call__" and where is not True:
        return _masked(label, op, ufunc, inputs, out, where, kwargs)

    def compute() -> Any:
        if method == "__call__":
            return _widened(_called(op, label, inputs, kwargs), out)
        if method == "outer":
            a, b = inputs
            shape = getattr(a, "shape", ())
            return _called(
                op, label, (ops.reshape(a, shape + (1,) * getattr(b, "ndim", 0)), b), kwargs
            )
        if method == "reduceat":
            return _reduceat(label, ufunc.__name__, *inputs, **kwargs)
        return _reduced(label, ufunc, method, inputs, {**kwargs, "where": where})

    return delivered(label, out, compute) if out else compute()


def _called(
    op: Callable[..., Any], label: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    casting = kwargs.get("casting", "same_kind")
    kept = supported(label, kwargs)
    dtype = kept.pop("dtype", None)
    if label == "np.vecdot" and kept.keys() == {"axis"}:
        return op(*inputs, **kept)
    if kept:
        raise TypeError(f"{label}: {', '.join(kept)} is not supported for Variables")
    if dtype is None:
        return op(*inputs)
    result = op(*[_cast(x, dtype, casting) for x in inputs])
    if isinstance(result, tuple):
        return result
    if casting != "unsafe" and not _same_kind(result, dtype):
        raise TypeError(f"{label}: the result is {result.dtype}, which is not cast to {dtype}")
    return ops.astype(result, dtype)


def _widened(result: Any, out: tuple[Any, ...]) -> Any:
    """`result` in the shape of its target, which operands may broadcast to."""
    if len(out) != 1 or result.shape == out[0].shape:
        return result
    if ops.broadcast_shapes(result.shape, out[0].shape) != out[0].shape:
        return result  # too large: the error is the target's
    return ops.broadcast_to(result, out[0].shape)


def _same_kind(x: Variable, dtype: Any) -> bool:
    return bool(namespace_of(x).can_cast(x.dtype, dtype, "same_kind"))


def _cast(x: Any, dtype: Any, casting: str) -> Any:
    """An operand in the dtype in which the ufunc is to compute, if it is one for this operand:
    the modulus of complex numbers is real, and what is compared is no bool."""
    if not hasattr(x, "dtype"):
        return x
    x = variable(x)
    fits = namespace_of(x).can_cast(x.dtype, dtype, casting)
    return ops.astype(x, dtype) if fits else x


def _masked(
    label: str,
    op: Callable[..., Any],
    ufunc: Any,
    inputs: Sequence[Any],
    out: tuple[Any, ...],
    where: Any,
    kwargs: Mapping[str, Any],
) -> Any:
    """A ufunc where `where` holds, the elements of `out` elsewhere.

    It is computed for these elements only: what an infinite derivative elsewhere would do to the
    gradient, 0 times infinity, does not happen.
    """
    if len(out) != 1 or ufunc.signature is not None:
        raise TypeError(
            f"{label}: where= needs out=, whose elements stay where it is False; or use ag.where"
        )
    (target,) = out
    check_target(label, target)
    shape = ops.broadcast_shapes(target.shape, *[getattr(x, "shape", ()) for x in inputs])
    if shape != target.shape:
        raise ValueError(f"{label}: out {list(target.shape)} can't hold a result of {list(shape)}")
    mask = ops.broadcast_to(values(where), shape)
    picked = [ops.broadcast_to(x, shape)[mask] if getattr(x, "ndim", 0) else x for x in inputs]
    target[mask] = _called(op, label, picked, kwargs)
    return target


# Methods ---------------------------------------------------------------------------------------


def _reduced(
    label: str, ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """`reduce` or `accumulate`."""
    table = numpy_names.REDUCE if method == "reduce" else numpy_names.ACCUMULATE
    name = table.get(ufunc.__name__)
    if name is None:
        raise no_derivative(label)
    op = op_named(ops, name, label)
    x, *rest = inputs
    x = variable(x)
    given = {"axis": 0, **kwargs, **dict(zip(("axis", "dtype"), rest, strict=False))}
    axis, where = given.pop("axis"), given.pop("where")
    partial = where is not True or given.get("initial") is not None
    if method == "reduce":
        _reducers[ufunc] = op
        if partial and name in PARTIAL:
            op = functools.partial(PARTIAL[name], where=where)
    given = supported(label, given)
    unknown = given.keys() - inspect.signature(op).parameters.keys()
    if "dtype" in unknown:
        x = ops.astype(x, given.pop("dtype"))
        unknown.remove("dtype")
    if unknown or (partial and not isinstance(op, functools.partial)):
        raise TypeError(
            f"{label}: {', '.join(unknown or ['where'])} is not supported for Variables"
        )
    return op(x, axis=axis, **given)


def _reduceat(label: str, name: str, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """The reductions of the stretches from each index to the next."""
    if name not in numpy_names.REDUCE:
        raise no_derivative(label)
    reduce = op_named(ops, numpy_names.REDUCE[name], label)
    x = ops.moveaxis(x if dtype is None else ops.astype(x, dtype), axis, 0)
    starts = [operator.index(i) for i in values(indices)]
    if any(not 0 <= i < len(x) for i in starts):
        raise IndexError(f"{label}: indices {starts} are out of range for {len(x)} elements")
    stops = [*starts[1:], len(x)]
    pairs = zip(starts, stops, strict=True)
    parts = [reduce(x[i : max(i + 1, j)], axis=0) for i, j in pairs]
    return ops.moveaxis(ops.stack(parts), 0, axis)


def _at(label: str, ufunc: Any, inputs: Sequence[Any]) -> None:
    """In place, adding up repeated indices; NumPy returns None."""
    target, index, *rest = inputs
    if not isinstance(target, Variable):
        on_values(label, ufunc.at, inputs, {})
        return
    sign = {"add": 1, "subtract": -1}.get(ufunc.__name__)
    if sign is None:
        raise no_derivative(label)
    check_target(label, target)
    added = ops.broadcast_to(beside(target, rest[0]) * sign, target[index].shape)
    target += ops.scatter_add(added, values(index), target.shape)
