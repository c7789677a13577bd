"""What a Function keeps, and whether the graph knows where it came from."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autograd_gpu.values import DIFFERENTIABLE

if TYPE_CHECKING:
    from autograd_gpu.function import Function


_OWN = ("_saved", "needs_input_grad")  # what Function itself keeps in an instance


def origin_of(x: Any, arrays: list[Any], values: list[Any]) -> tuple[str, int] | None:
    """Which input or output of the forward a saved value is."""
    for kind, candidates in (("input", arrays), ("output", values)):
        for i, candidate in enumerate(candidates):
            if x is candidate:
                return kind, i
    return None


def unconnected(
    function: Function,
    before: Mapping[str, Any],
    constants: list[Any],
    origins: list[tuple[str, int] | None],
) -> list[str]:
    """The names of what forward kept that may depend on the inputs, unknown to the graph.

    Integers and bools have no derivative, and parameters and inputs without a gradient are
    constant.
    """

    def may_depend(x: Any) -> bool:
        if any(x is constant for constant in constants):
            return False
        if isinstance(x, Mapping):
            return any(map(may_depend, x.values()))
        if isinstance(x, (list, tuple)):
            return any(map(may_depend, x))
        return is_differentiable_array(x)

    names = [
        f"self.{name}"
        for name, x in members(function)
        if not (name in before and before[name] is x) and may_depend(x)
    ]
    names += [
        f"self.saved[{i}]"
        for i, (x, origin) in enumerate(zip(function._saved, origins, strict=True))
        if origin is None and may_depend(x)
    ]
    return names


def members(function: Any) -> Iterator[tuple[str, Any]]:
    for name, x in vars(function).items():
        if name not in _OWN:
            yield name, x
    cls: Any = type(function)
    for name in _slots(cls):
        if hasattr(function, name):
            yield name, getattr(function, name)


@functools.cache
def _slots(cls: type) -> tuple[str, ...]:
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += (slots,) if isinstance(slots, str) else slots
    return tuple([name for name in names if name not in ("__dict__", "__weakref__")])


def is_differentiable_array(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and (dtype.kind in DIFFERENTIABLE or dtype.name == "bfloat16")
