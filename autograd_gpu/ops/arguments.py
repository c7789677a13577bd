"""Arguments of functions that are made of ops."""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import BACKENDS, Backend, Namespace
from autograd_gpu.placement import backend_beside
from autograd_gpu.values import from_python
from autograd_gpu.variable import Variable


def variable(x: Any) -> Variable:
    """`x` as a Variable."""
    return x if isinstance(x, Variable) else Variable(x)


def variables(*operands: Any) -> list[Variable]:
    """`operands` as Variables; Python numbers and lists of them on the backend of the others, and
    as precise as these."""
    raw = [x.value if isinstance(x, Variable) else x for x in operands]
    array = next((x for x in raw if type(x) in BACKENDS), None)
    backend = None if array is None else backend_beside(array)
    return [
        x
        if isinstance(x, Variable)
        else Variable(x if hasattr(x, "dtype") else from_python(x, None, backend, operands))
        for x in operands
    ]


def backend_of_value(x: Variable) -> Backend:
    """The backend of the value of `x`, making arrays on its device."""
    return backend_beside(x.value)


def namespace_of(x: Variable) -> Namespace:
    """The namespace of raw arrays beside `x`."""
    return backend_beside(x.value).xp


def beside(x: Variable, other: Any) -> Variable:
    """`other` as a Variable on the backend of `x`; Python numbers in a dtype that fits."""
    if isinstance(other, Variable):
        return other
    backend = backend_of_value(x)
    if isinstance(other, (bool, int, float, complex)) and not hasattr(other, "dtype"):
        exact = x.dtype.kind in "fcV" and not (isinstance(other, complex) and x.dtype.kind != "c")
        return Variable(backend.asarray(other, x.dtype if exact else None))
    return Variable(backend.asarray(other) if isinstance(other, (list, tuple)) else other)


def axis_of(op: str, axis: int, ndim: int) -> int:
    """`axis` from 0 on; IndexError if it is out of range."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"{op}: axis {axis} is out of range for {ndim} axes")
    return axis % ndim


def axes_of(axes: Any) -> tuple[int, ...]:
    """One axis, of Python's or NumPy's integers, or several ones, as a tuple."""
    return tuple(axes) if hasattr(axes, "__iter__") else (axes,)


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index `part` on `axis`, all of the axes before it."""
    return (*(slice(None),) * axis, part)
