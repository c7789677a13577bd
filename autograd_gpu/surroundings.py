"""What a function refers to outside of itself: by name, and as attributes and entries of that.

A recording is right only as long as all of that is what it was.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from weakref import ref

from autograd_gpu.backend import BACKENDS

_FOREIGN = ("autograd_gpu", "numpy", "cupy", "scipy", "math", "builtins")
"""Packages whose objects and functions are not looked into."""

_LOOKED_AT = 16
"""Elements of a list or tuple that are looked at."""

_DEPTH = 3
"""How far attributes and entries are followed: `self.options.rate` is two away from `self`."""


class Place(NamedTuple):
    """One thing that a function refers to: where it is found, and what was there."""

    name: str
    where: Any
    key: Any
    found: Any
    is_weak: bool

    def now(self) -> Any:
        """What is there now; `_MISSING` if nothing is."""
        if self.where.__class__ is types.CellType:
            return _content(self.where)
        if self.where.__class__ in (list, tuple):
            return self.where[self.key] if self.key < len(self.where) else _MISSING
        return self.where.get(self.key, _MISSING)


_MISSING = object()


class Surroundings:
    """What a function, called with `args`, refers to, as it is now.

    Numbers and the like are compared by value, other objects by identity.  Of attributes and
    entries those are looked at whose names are in the code.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any] = ()) -> None:
        self.places: list[Place] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._items: list[tuple[Any, Any, Any]] = []
        self._weak: list[Place] = []
        self._generators: list[tuple[str, Any, Any]] = []
        self._lengths: list[tuple[str, Any, int]] = []
        self._seen: set[tuple[int, Any]] = set()
        used = self._follow(function)
        for i, x in enumerate(args):
            if used is not None and hasattr(x, "__dict__"):
                self._look_into(x, f"argument {i}", used.attributes, 0)

    def changed(self) -> str | None:
        """The name of something that is not what it was."""
        if self._is_same():
            return None
        for place in self.places:
            now = place.now()
            found = place.found() if place.is_weak else place.found
            if now is not found and (place.is_weak or not _is_equal(now, found)):
                return place.name
        for name, items, length in self._lengths:
            if len(items) != length:
                return name
        return None

    def _is_same(self) -> bool:
        """Whether everything is the very same object, which is told fast."""
        try:
            for cell, found in self._cells:
                if cell.cell_contents is not found:
                    return False
            for items, key, found in self._items:
                if items[key] is not found:
                    return False
            for place in self._weak:
                if place.now() is not place.found():
                    return False
        except (LookupError, ValueError):  # it is gone
            return False
        return all(len(items) == length for _, items, length in self._lengths)

    def drawn(self) -> str | None:
        """The name of a generator of random numbers that has been used."""
        for name, generator, state in self._generators:
            if _state_of(generator) != state:
                return name
        return None

    # Finding it -------------------------------------------------------------------------------

    def _follow(self, function: Any) -> _Used | None:
        given: list[tuple[str, Any]] = []
        while isinstance(function, functools.partial):
            given += [(f"argument {i}", x) for i, x in enumerate(function.args)]
            given += function.keywords.items()
            function = function.func
        if not hasattr(function, "__code__") and not isinstance(function, type):
            function = function.__call__  # of an object, which is then `self`
        owner = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if code is None or (id(function), id(owner)) in self._seen:
            return None
        self._seen.add((id(function), id(owner)))
        used = _used(code)
        for name, x in given:
            self._look_into(x, name, used.attributes, 0)
        if owner is not None:
            self._look_into(owner, "self", used.attributes, 0)
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            self._add(name, cell, None, _content(cell), used.attributes, 0)
        for i, x in enumerate(function.__defaults__ or ()):
            self._look_into(x, f"default {i}", used.attributes, 0)
        for name, x in (function.__kwdefaults__ or {}).items():
            self._look_into(x, name, used.attributes, 0)
        for name in used.globals:
            if name in function.__globals__:
                found = function.__globals__[name]
                self._add(name, function.__globals__, name, found, used.attributes, 0)
        return used

    def _add(
        self, name: str, where: Any, key: Any, found: Any, attributes: frozenset[Any], depth: int
    ) -> None:
        is_array = type(found) in BACKENDS
        # who holds an array decides whether it is written in place
        place = Place(name, where, key, ref(found) if is_array else found, is_array)
        self.places.append(place)
        if is_array:
            self._weak.append(place)
        elif where.__class__ is types.CellType:
            self._cells.append((where, found))
        else:
            self._items.append((where, key, found))
        self._look_into(found, name, attributes, depth)

    def _look_into(self, x: Any, name: str, attributes: frozenset[Any], depth: int) -> None:
        if type(x) in BACKENDS or isinstance(x, type) or depth == _DEPTH:
            return
        if _state_of(x) is not None:
            self._generators.append((name, x, _state_of(x)))
        elif isinstance(x, (types.FunctionType, types.MethodType)):
            if not _is_foreign(x):
                self._follow(x)
        elif isinstance(x, (list, tuple)):
            self._lengths.append((name, x, len(x)))
            for i, item in enumerate(x[:_LOOKED_AT]):
                self._add(f"{name}[{i}]", x, i, item, attributes, depth + 1)
        elif isinstance(x, dict):
            for key in x.keys() & attributes:
                self._add(f"{name}[{key!r}]", x, key, x[key], attributes, depth + 1)
        elif hasattr(x, "__dict__") and not _is_foreign(x):
            if (id(x), attributes) in self._seen:
                return
            self._seen.add((id(x), attributes))
            for key in x.__dict__.keys() & attributes:
                found = x.__dict__[key]
                self._add(f"{name}.{key}", x.__dict__, key, found, attributes, depth + 1)
            for key in attributes:
                method = getattr(type(x), key, None) if isinstance(key, str) else None
                method = method.fget if isinstance(method, property) else method
                if isinstance(method, types.FunctionType) and not _is_foreign(method):
                    self._follow(types.MethodType(method, x))


class _Used(NamedTuple):
    globals: tuple[str, ...]
    attributes: frozenset[Any]
    """Names of attributes, and constants, which may be keys."""


@functools.cache
def _used(code: types.CodeType) -> _Used:
    """What the code and the functions within it look up."""
    names: set[str] = set()
    attributes: set[Any] = set()
    for part in _codes(code):
        instructions = list(dis.get_instructions(part))
        names |= {x.argval for x in instructions if x.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        attributes |= {*part.co_names}
        attributes |= {x for x in part.co_consts if isinstance(x, (str, int, tuple))}
    return _Used(tuple(sorted(names)), frozenset(attributes))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_foreign(x: Any) -> bool:
    """Whether it belongs to a package that takes care of itself, or is of a class of one."""
    if isinstance(x, types.ModuleType):
        module = x.__name__
    elif isinstance(x, (types.FunctionType, types.MethodType)):
        module = x.__module__
    else:
        module = type(x).__module__
    return str(module).partition(".")[0] in _FOREIGN


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing in it yet
        return _MISSING


def _state_of(x: Any) -> Any:
    """The state of a generator of random numbers, NumPy's or Python's; None for anything else."""
    if isinstance(x, (type, types.ModuleType)):
        return None
    bits = getattr(x, "bit_generator", None) or getattr(x, "_bit_generator", None)
    if bits is not None and hasattr(bits, "state"):
        return repr(bits.state)
    return x.getstate() if hasattr(x, "getstate") and hasattr(x, "random") else None


def _is_equal(a: Any, b: Any) -> bool:
    """Whether numbers and the like are the same, to the sign of a zero."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, str, bytes, float, complex)):
        return repr(a) == repr(b)
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_is_equal, a, b))
    return False
