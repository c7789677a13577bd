"""A straight-line program of elementwise array functions: what `fuse` hands to a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class NotFusable(Exception):
    """A function cannot be made one program, or a backend has no form of it; the message says
    why."""


@dataclass(frozen=True)
class Ref:
    """A value of a program: the inputs are numbered first, then the steps."""

    index: int


@dataclass(frozen=True)
class Step:
    """`name(*args, **kwargs)`, a function of the array API or of NumPy, with a result of `dtype`.

    An argument is a Ref or a constant (a number, or an array without axes).
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dtype: Any


@dataclass(frozen=True)
class Program:
    """Steps on inputs that broadcast to one shape, which every value then has."""

    inputs: tuple[Any, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Ref, ...]
    dtypes: tuple[Any, ...] = field(init=False)
    """The dtype of every value."""

    def __post_init__(self) -> None:
        dtypes = (*self.inputs, *(step.dtype for step in self.steps))
        object.__setattr__(self, "dtypes", dtypes)

    def last_uses(self) -> dict[int, int]:
        """For each value that a step reads the number of the last step that does."""
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for arg in step.args:
                if isinstance(arg, Ref):
                    last[arg.index] = number
        return last
