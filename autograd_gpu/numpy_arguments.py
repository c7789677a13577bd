"""The arguments of NumPy's functions: which matter for Variables, and what ours call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

INDIFFERENT = {"casting", "copy", "like", "optimize", "order", "subok"}
"""Parameters that do not matter for Variables, or were seen to have their default."""


def supported(label: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments without those that ask for what happens anyway."""
    kept = {}
    for key, value in kwargs.items():
        if is_no_value(value):
            continue
        if key == "where" and value is not True:
            raise TypeError(f"{label}: where= is not supported for Variables; use ag.where")
        if key == "order" and value not in ("C", "K", "A", None):
            raise TypeError(f"{label}: order={value!r} is not supported for Variables")
        if key in INDIFFERENT or key == "where" or value is None:
            continue
        kept[key] = value
    return kept


def op_named(space: Any, name: str, label: str) -> Callable[..., Any]:
    """The function of this name; TypeError if there is none."""
    op = getattr(space, name, None)
    if not callable(op):
        raise no_derivative(label)
    return op  # type: ignore[no-any-return]


def no_derivative(label: str) -> TypeError:
    """The error for what is not differentiated here."""
    return TypeError(
        f"{label} has no derivative here; to compute with NumPy alone, use v.detach().numpy()"
    )


def is_no_value(x: Any) -> bool:
    """Whether `x` is NumPy's mark for an argument that was not given."""
    return type(x).__name__ == "_NoValueType"
