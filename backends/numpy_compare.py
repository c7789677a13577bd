"""Comparing two recordings of one step: what is a constant in both, but not the same one."""

from __future__ import annotations

from sys import getrefcount
from types import CodeType
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_analysis import values_in
from autograd_gpu.backends.numpy_tape import Tape
from autograd_gpu.backends.numpy_values import Step, Value

Array = np.ndarray[Any, Any]


class Differs(Exception):
    """Two recordings are not of the same program."""


class Comparison:
    """`difference` says in words what differs; `lasting` are the ids of those of the later tape's
    arrays from outside that are the same memory in both, and not just equal."""

    def __init__(self, earlier: tuple[Tape, list[Value]], later: tuple[Tape, list[Value]]) -> None:
        (self.earlier, earlier_outputs), (self.later, later_outputs) = earlier, later
        self.lasting: set[int] = set()
        self.difference: str | None = None
        self._same: dict[int, int] = {}
        handed = [*later_outputs, *values_in([x.args for x in self.later.steps if x.how == "set"])]
        self._handed_out = {id(value.root) for value in handed}
        try:
            self._tapes()
            self.place = "the result"
            self._arguments(earlier_outputs, later_outputs)
        except Differs as error:
            self.difference = str(error)

    def _tapes(self) -> None:
        pairs = zip(self.earlier.steps, self.later.steps, strict=False)
        for a, b in pairs:
            self._steps(a, b)
        if len(self.earlier.steps) != len(self.later.steps):
            raise Differs("it makes more array calls in one call than in another")

    def _steps(self, a: Step, b: Step) -> None:
        if a.how != b.how or not _is_same_function(a.function, b.function):
            names = [getattr(x.function, "__name__", x.how) for x in (a, b)]
            raise Differs(f"it calls {names[0]} where another call has {names[1]}")
        self.place = getattr(a.function, "__name__", a.how)
        self._arguments(a.args, b.args)
        self._arguments(a.kwargs, b.kwargs)
        self._arguments(a.result, b.result)

    def _arguments(self, a: Any, b: Any) -> None:
        if isinstance(a, Value) and isinstance(b, Value):
            self._values(a, b)
        elif type(a) is not type(b):
            raise Differs(f"an argument of {self.place} is {a!r:.60} in one call, {b!r:.60} later")
        elif type(a) in (tuple, list):
            if len(a) != len(b):
                raise Differs(f"{self.place} gets {len(a)} operands in one call, {len(b)} later")
            for x, y in zip(a, b, strict=True):
                self._arguments(x, y)
        elif type(a) is dict and a is not b:
            if a.keys() != b.keys():
                raise Differs(f"{self.place} gets other keywords from call to call")
            for key in a:
                self._arguments(a[key], b[key])
        elif type(a) is slice:
            self._arguments((a.start, a.stop, a.step), (b.start, b.stop, b.step))
        elif a is not b and not _is_equal(a, b):
            raise Differs(
                f"{self.place} gets {a!r:.60} in one call and {b!r:.60} in a later one; a number "
                f"that changes is seen as an argument of the compiled function only"
            )

    def _values(self, a: Value, b: Value) -> None:
        known = self._same.get(id(a))
        if known is not None:
            if known != id(b):
                raise Differs(f"{self.place} reads another array from call to call")
            return
        if a.layout != b.layout or a.kind != b.kind or a.offset != b.offset:
            raise Differs(f"{self.place} gets {_words(a)} in one call, {_words(b)} in a later one")
        self._same[id(a)] = id(b)
        if a.root is not a:
            self._values(a.root, b.root)
        elif a.kind in ("slot", "late", "given"):
            if a.kind == "given":
                same = a.content == b.content
            else:
                same = _is_equal(a.content[0], b.content[0]) and a.content[1] == b.content[1]
            if not same:
                raise Differs(f"{self.place} reads another Variable from call to call")
        elif a.kind == "array":
            if a.pointer == b.pointer:
                self.lasting.add(id(b))
            elif not _is_equal_array(
                self.earlier.before.get(id(a.content)), self.later.before.get(id(b.content))
            ):
                raise Differs(
                    f"{self.place} gets an array of shape {b.shape} that NumPy has made with other "
                    f"numbers in each call; make it of the function's arguments, or pass it as one"
                )
            elif self._is_held(b):
                self.lasting.add(id(b))

    def _is_held(self, x: Value) -> bool:
        """Whether anything but the recording keeps an array, and might change it."""
        if id(x) in self._handed_out:
            return False
        return getrefcount(x.content) > 2 or x.content.base is not None


def _words(x: Value) -> str:
    return f"{x.dtype}{list(x.shape)}"


def _is_equal_array(a: Array | None, b: Array | None) -> bool:
    if a is None or b is None:  # too large to be kept
        return False
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if hasattr(a, "requires_grad"):  # Variables: == compares their elements
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    if isinstance(a, (complex, np.generic)):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    if callable(a) and not isinstance(a, type):
        return _is_same_function(a, b)
    try:
        return bool(a == b)
    except Exception:
        return False


def _is_same_function(a: Any, b: Any) -> bool:
    """Equal functions, and closures that are made anew in each call, with equal contents."""
    if a is b:
        return True
    code: CodeType | None = getattr(a, "__code__", None)
    if code is None or code is not getattr(b, "__code__", None):
        return bool(a == b)
    if getattr(a, "__self__", None) is not getattr(b, "__self__", None):
        return False
    cells = zip(a.__closure__ or (), b.__closure__ or (), strict=True)
    return all(
        x.cell_contents is y.cell_contents or _is_equal(x.cell_contents, y.cell_contents)
        for x, y in cells
    )
