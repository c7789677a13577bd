"""Assignments and in-place operators, with value semantics.

They change one Variable, and write into its buffer only if nothing else holds that: what was saved
for a backward, a view or a user's array never changes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from autograd_gpu.backend import (
    BACKENDS,
    NAMESPACES,
    SEVERAL_DEVICES,
    backend_mismatch,
    find_backend,
    same_home,
)
from autograd_gpu.graph import edges_of, make_result
from autograd_gpu.modes import recording
from autograd_gpu.operands import describe, explain
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.indexing import no_room, normal_index
from autograd_gpu.placement import near, require_together
from autograd_gpu.primitive import PRIMITIVES
from autograd_gpu.values import DIFFERENTIABLE, from_python
from autograd_gpu.variable import Variable

SetAt = PRIMITIVES["set_at"].node_type

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "remainder": operator.imod,
    "pow": operator.ipow,
    "power": operator.ipow,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_right_shift": operator.irshift,
}


def _check_leaf(x: Variable, change: str) -> None:
    if x.grad_fn is None and x._requires_grad:
        raise RuntimeError(
            f"{change} would change a leaf that requires a gradient while recording; "
            f"put it under no_grad, or compute a new Variable"
        )


def _raw(x: Variable, value: Any, change: str) -> Any:
    """`value` as something that an array of the backend of `x` can take in."""
    if isinstance(value, Variable):
        value = value.value
    backend = BACKENDS[x.value.__class__]
    if isinstance(value, (list, tuple)):
        return from_python(value, backend=backend, beside=[x])
    found = find_backend(value)
    if found is not None and not same_home(found, backend) and value.ndim:
        raise backend_mismatch(change, [x.value, value])
    if SEVERAL_DEVICES and type(value) is backend.array_type:
        require_together(change, x.value, value)
    return value


def setitem(x: Variable, index: Any, value: Any) -> None:
    """`x[index] = value`: `x` takes on a new value, and is recorded as the result of `set_at`.

    `value` is cast to the dtype of `x` and broadcasts.  Where the index repeats an element, the
    last write wins and gets the gradient.  While recording, raises RuntimeError for a leaf that
    requires a gradient, and TypeError where integers or bools would lose that of `value`.

    >>> x = Variable([1.0, 2.0, 3.0])
    >>> x[1:] = 0.0
    >>> x
    Variable(array([1., 0., 0.], dtype=float32))
    """
    index = normal_index(x, index, "setitem")
    edges = edges_of((x, value))
    if edges is not None and x.value.dtype.kind in f"{DIFFERENTIABLE}V":
        _check_leaf(x, "x[index] = v")
        shape = getattr(value, "shape", ())
        _assign(x, index, value)
        node = SetAt()
        node.edges = edges
        for name, saved in (("index", index), ("x_shape", x.shape), ("v_shape", shape)):
            setattr(node, f"s_{name}", saved)
        _becomes(x, make_result(x.value, node))
    else:
        if edges is not None:
            raise no_room(x, value)
        _assign(x, index, value)


def _becomes(x: Variable, result: Variable) -> None:
    """`x` takes over the node of `result`, and so does its wish to retain a gradient.

    Hooks stay with the value that they were registered for.
    """
    if x.grad_fn is not None and x.grad_fn.stop_keeping(x):
        x.grad_fn = result.grad_fn
        x.retain_grad()
    else:
        x.grad_fn = result.grad_fn


def _assign(x: Variable, index: Any, value: Any) -> None:
    value = _raw(x, value, "x[index] = v")
    xp = NAMESPACES[x.value.__class__]
    try:
        with near(x.value):
            xp.assign(x.writable(), index, value)
    except Exception as error:
        explain(error, "setitem", ("x", "v"), (x.value, value), {"index": index})


def inplace(op: Callable[[Any, Any], Variable]) -> Callable[[Variable, Any], Variable]:
    """The in-place operator of a binary op: `iadd = inplace(add)`, then `iadd(x, y)` is `x += y`.

    `x` keeps its shape and dtype: a `y` to whose shape `x` would broadcast is a ValueError, and one
    of another kind (a float for integers) a TypeError, as in NumPy.
    """
    name = op.__name__
    in_place = IN_PLACE.get(name)
    change = f"{name} in place"

    def operate(x: Variable, y: Any) -> Variable:
        if recording.get():
            _check_leaf(x, change)
            recorded = x.grad_fn is not None or (isinstance(y, Variable) and y.requires_grad)
        else:
            recorded = False
        if recorded or in_place is None:
            result = op(x, y)
            _check_result(change, x, result)
            if result.value.dtype != x.value.dtype:
                result = astype(result, x.value.dtype)
            x.value = result.value
            if recorded:
                _becomes(x, result)
            return x
        raw = _raw(x, y, change)
        try:
            with near(x.value):
                in_place(x.writable(), raw)
        except Exception as error:
            explain(error, change, ("x", "y"), (x.value, raw), {})
        return x

    operate.__name__ = operate.__qualname__ = f"i{name}"
    operate.__doc__ = f"`{name}` whose result `x` takes on."
    return operate


def _check_result(change: str, x: Variable, result: Variable) -> None:
    before, after = x.value, result.value
    if after.shape != before.shape:
        raise ValueError(
            f"{change}: {describe(before)} would become {describe(after)}; its shape stays"
        )
    if after.dtype != before.dtype:
        xp = NAMESPACES[before.__class__]
        if not xp.can_cast(after.dtype, before.dtype, "same_kind"):
            raise TypeError(
                f"{change}: {describe(before)} would become {describe(after)}, of another "
                f"kind; use x = x.astype(...) first"
            )


def take_on(x: Variable, result: Any, change: str) -> Variable:
    """`x` with the value of `result`, cast to its dtype, and with its graph.

    Raises as the in-place operators do.
    """
    result = result if isinstance(result, Variable) else Variable(result)
    if recording.get():
        _check_leaf(x, change)
    _check_result(change, x, result)
    if result.dtype != x.dtype:
        result = astype(result, x.dtype)
    x.value = result.value
    if recording.get():
        _becomes(x, result)
    return x
