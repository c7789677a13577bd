"""What a tape is made of: Values, which name memory, and Steps, which say what is done with it."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np


class Value:
    """An array of the step, or a view of one: its layout, and where its memory comes from.

    `root` is the Value that owns the memory; `kind` says where a root's comes from:

    - 'given': argument number `content`
    - 'slot': what the slot `content`, a Variable and a name, held when the step began
    - 'late': what such a slot holds after an optimiser's update, read at that point
    - 'array': an array from outside, `content`
    - 'empty': memory that the step asked for
    - 'temp': the result of a call that can be told where to write
    - 'made': what a function returns that can't be told where to write
    """

    __slots__ = ("content", "dtype", "kind", "offset", "pointer", "root", "shape", "strides")

    def __init__(self, array: Any, kind: str, content: Any = None, root: Value | None = None):
        self.kind = kind
        self.content = content
        self.root = self if root is None else root
        self.shape: tuple[int, ...] = array.shape
        self.strides: tuple[int, ...] = array.strides
        self.dtype: np.dtype[Any] = array.dtype
        self.pointer = array.ctypes.data if isinstance(array, np.ndarray) else 0
        self.offset = self.pointer - self.root.pointer

    def of_another(self, root: Value) -> Value:
        """The same view of another root, which has the layout of this one's."""
        view = copy(self)
        view.root = root
        return view

    @property
    def layout(self) -> tuple[Any, ...]:
        """What two arrays have in common that take the same path through NumPy."""
        return self.shape, self.strides, self.dtype


class HostNumber(NamedTuple):
    """Stands in a call for a number that is read again in every replay."""

    reader: int
    place: int


class Argument(NamedTuple):
    """Stands for a Variable that is an argument of the step: another one in each call."""

    place: int


def is_same_subject(a: Any, b: Any) -> bool:
    """Whether both are one Variable, or stand for one; `==` would compare elements."""
    return a is b or (type(a) is type(b) is Argument and a.place == b.place)


class LiveInt(int):
    """An integer that a replay reads anew."""

    source: HostNumber


class LiveFloat(float):
    """A float that a replay reads anew."""

    source: HostNumber


class Step:
    """One entry of the tape.

    `how` says what becomes of it in a replay: 'into' (a call that writes its result into a temp,
    spelled by `into`), 'made' (a call whose result gets a name), 'view' (the same, or an array made
    once), 'effect' (a call for what it writes), 'set' (a Variable's slot is set), 'update' and
    'numbers' (Python code of optimisers and generators is called).
    """

    __slots__ = ("args", "function", "how", "into", "kwargs", "result", "writes")

    def __init__(
        self,
        how: str,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any = None,
        into: Into | None = None,
        writes: tuple[Value, ...] = (),
    ) -> None:
        self.how, self.function, self.args, self.kwargs = how, function, args, kwargs
        self.result, self.into, self.writes = result, into, writes


class Into(NamedTuple):
    """The form of a call that writes into an array, `OUT` among its arguments."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


OUT = object()
