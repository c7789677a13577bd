"""What functions make of their arguments: pairs, labels, shapes that have to agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, Backend, current_backend, find_backend
from autograd_gpu.callers import named
from autograd_gpu.placement import backend_beside
from autograd_gpu.values import as_value, from_python
from autograd_gpu.variable import Variable

AXES = {1: "L", 2: "H, W", 3: "D, H, W"}
_MANY = {1: "one in a tuple", 2: "a pair of them", 3: "a triple of them"}


def as_sizes(
    op: str, name: str, value: int | Sequence[int], count: int, least: int = 1
) -> tuple[int, ...]:
    """One number for all axes, or one for each of `count`."""
    sizes = (value,) * count if isinstance(value, int) else tuple(value)
    if len(sizes) == 1 < count:
        sizes = sizes * count
    if len(sizes) != count or not all(isinstance(n, int) for n in sizes):
        raise ValueError(f"{op}: {name} is an integer or {_MANY[count]}, not {value!r}")
    if min(sizes) < least:
        raise ValueError(f"{op}: {name}={value!r} must be at least {least}")
    return sizes


def as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape that may be given as one number."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def raw(x: Any) -> Any:
    """The array of a Variable; anything else as it is."""
    return x.value if isinstance(x, Variable) else x


def as_raw(x: Any, like: Any) -> Array:
    """`x`, also a list, as a raw array beside `like`."""
    x = raw(x)
    if isinstance(x, (list, tuple, bool, int, float)) and not hasattr(x, "dtype"):
        return from_python(x, backend=backend_near(like))
    return as_value(x)


def backend_near(*operands: Any) -> Backend:
    """The backend of the first operand that has one, making arrays on its device; or the current
    one."""
    for x in operands:
        if find_backend(raw(x)) is not None:
            return backend_beside(raw(x))
    return current_backend()


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a Variable, an array, a number or a list."""
    if x.__class__ is Variable:  # which every layer and loss asks first
        return x.value.shape  # type: ignore[no-any-return]
    if hasattr(x, "shape"):
        return tuple(x.shape)
    return tuple(as_value(x).shape) if isinstance(x, (list, tuple)) else ()


def check_equal_shapes(op: str, **operands: Any) -> None:
    """ValueError unless all operands have one shape: a loss never broadcasts."""
    shapes = {name: shape_of(x) for name, x in operands.items()}
    if len(set(shapes.values())) > 1:
        given = " and ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
        raise ValueError(named(op, f"shapes differ, {given}; losses do not broadcast"))


def is_floating(x: Any) -> bool:
    """Whether a raw array holds floating-point numbers."""
    return bool(x.dtype.kind in "fcV")


def check_probability(op: str, p: float) -> None:
    """ValueError unless `p` is in [0, 1]."""
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p={p} must be a probability")
