"""Fused programs for NumPy in the compiled core: NumPy's own loops on pieces of a tile.

What is not made of ufuncs whose loops are known, of choices and of a few casts, is left to calls of
NumPy (`numpy_fuse_source.py`), and so is a tile in which arithmetic raises a flag, for the warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_fuse_source import UFUNCS
from autograd_gpu.extension import extension
from autograd_gpu.program import Program, Ref, Step

UFUNC, COPY, SELECT = range(3)
CASTS = {"?f": 3, "?d": 4, "fd": 5, "df": 6}
"""The kinds of ops (autograd_gpu/c/loops.c); casts by the characters of their types."""

_FILLED = {"zeros_like": 0, "ones_like": 1}

Slot = tuple[str, int]
Way = tuple[int | None, Any] | None


class Unknown(Exception):
    """The core has no form of it."""


def loops(program: Program, ways: Sequence[Way], dtypes: Sequence[Any], xp: Any) -> Any:
    """The program for `extension.loops_run`, or None; `ways` say which outputs, of these `dtypes`,
    are summed, over which axis of a matrix (None: both) and in which dtype."""
    if extension is None:
        return None
    if any(way is not None and way[1] != x for way, x in zip(ways, dtypes, strict=True)):
        return None
    try:
        return _Encoded(program, ways, xp).program()
    except Unknown:
        return None


class _Encoded:
    """Ops on slots: inputs `i`, constants `c`, outputs `o` and buffers `b`."""

    def __init__(self, program: Program, ways: Sequence[Way], xp: Any) -> None:
        self.dtypes, self.xp = program.dtypes, xp
        self.inputs = program.inputs
        self.constants: list[np.ndarray[Any, Any]] = []
        self.buffers: list[np.dtype[Any]] = []
        self.free: dict[int, list[Slot]] = {}
        self.ops: list[tuple[Any, ...]] = []
        n = len(program.inputs)
        self.slots: dict[int, Slot] = {i: ("i", i) for i in range(n)}
        outputs = list(zip(program.outputs, ways, strict=True))
        written = [y.index for y, way in outputs if way is None]
        self.outputs = [program.dtypes[i] for i in written]
        self.target = {i: ("o", k) for k, i in reversed(list(enumerate(written))) if i >= n}
        last = program.last_uses() | {y.index: len(program.steps) for y in program.outputs}
        for number, step in enumerate(program.steps):
            index = n + number
            dying = [
                slot
                for i in {x.index for x in step.args if isinstance(x, Ref)}
                if last[i] == number and (slot := self.slots[i])[0] == "b"
            ]
            self._step(step, index, dying)
        for k, i in enumerate(written):
            if self.slots[i] != ("o", k):
                self._op(COPY, None, 0, self.slots[i], ("o", k))
        self.sums = []
        for y, way in outputs:
            if way is not None:
                char = program.dtypes[y.index].char
                loop = _loop(np.add, f"{char}{char}->{char}")
                self.sums.append((self.slots[y.index], -1 if way[0] is None else way[0], loop))

    def program(self) -> Any:
        """As the core keeps it."""
        dtypes = [*self.inputs, *[c.dtype for c in self.constants], *self.outputs, *self.buffers]
        starts = {"i": 0, "c": len(self.inputs)}
        starts["o"] = starts["c"] + len(self.constants)
        starts["b"] = starts["o"] + len(self.outputs)

        def number(slot: Slot) -> int:
            return starts[slot[0]] + slot[1]

        return extension.loops_program(
            np.add,
            len(self.inputs),
            tuple(self.constants),
            tuple([dtype.itemsize for dtype in dtypes]),
            len(self.outputs),
            tuple([(*op[:3], *map(number, op[3:])) for op in self.ops]),
            tuple([(number(slot), axis, loop) for slot, axis, loop in self.sums]),
        )

    def _op(self, kind: int, ufunc: Any, loop: int, *slots: Slot) -> None:
        self.ops.append((kind, ufunc, loop, *slots))

    def _step(self, step: Step, index: int, dying: list[Slot]) -> None:
        name, args = step.name, list(step.args)
        fill = _FILLED.get(name)
        if name == "full_like":
            fill = args[1]
        if fill is not None:
            out = self._out(index, step.dtype)
            self._op(COPY, None, 0, self._constant(fill, step.dtype), out)
        elif name == "astype":
            slot = self._operand(args[0], step.dtype)
            out = self._out(index, step.dtype)
            self._op(COPY, None, 0, slot, out)
        elif name == "where":
            slots = [self._operand(x, step.dtype) for x in args[1:]]
            condition = self._operand(args[0], np.dtype(bool))
            out = self._out(index, step.dtype)
            self._op(SELECT, None, 0, condition, *slots, out)
        elif name == "clip" and not step.kwargs:
            self._clip(index, step, dying)
            return
        elif step.kwargs:
            raise Unknown(name)
        else:
            ufunc = UFUNCS.get(name) or getattr(self.xp, name)
            self._ufunc(ufunc, args, index, step.dtype, dying)
            return
        self._give_back(dying)

    def _ufunc(
        self, ufunc: Any, args: Sequence[Any], index: int, dtype: Any, dying: list[Slot]
    ) -> None:
        if not isinstance(ufunc, np.ufunc) or ufunc.nin != len(args) or ufunc.nout != 1:
            raise Unknown(ufunc)
        kinds = [self.dtypes[x.index] if isinstance(x, Ref) else _kind(x) for x in args]
        try:
            found = ufunc.resolve_dtypes((*kinds, None))
        except TypeError:
            raise Unknown(ufunc) from None
        if found[-1] != dtype:
            raise Unknown(ufunc)
        loop = _loop(ufunc, f"{''.join(x.char for x in found[:-1])}->{found[-1].char}")
        slots = [self._operand(x, want) for x, want in zip(args, found[:-1], strict=True)]
        self._give_back(dying)  # loops may write where they read
        self._op(UFUNC, ufunc, loop, *slots, self._out(index, dtype))

    def _clip(self, index: int, step: Step, dying: list[Slot]) -> None:
        """As the larger and the smaller one, which is what the loops of clip compute."""
        x, low, high = (*step.args, None, None)[:3]
        steps = [(np.maximum, low)] * (low is not None) + [(np.minimum, high)] * (high is not None)
        if not steps:
            raise Unknown("clip")
        slot: Any = self._operand(x, step.dtype)
        char = step.dtype.char
        slots = [self._operand(bound, step.dtype) for _, bound in steps]
        self._give_back(dying)
        out = self._out(index, step.dtype)
        if slots[-1] == out and len(steps) == 2:
            raise Unknown("clip")
        for (ufunc, _), bound in zip(steps, slots, strict=True):
            self._op(UFUNC, ufunc, _loop(ufunc, f"{char}{char}->{char}"), slot, bound, out)
            slot = out

    def _operand(self, x: Any, dtype: np.dtype[Any]) -> Slot:
        """Where an argument is in that dtype."""
        if not isinstance(x, Ref):
            return self._constant(x, dtype)
        given = self.dtypes[x.index]
        if given == dtype:
            return self.slots[x.index]
        kind = CASTS.get(given.char + dtype.char)
        if kind is None:
            raise Unknown(f"{given} as {dtype}")
        out = ("b", len(self.buffers))
        self.buffers.append(dtype)
        self._op(kind, None, 0, self.slots[x.index], out)
        return out

    def _constant(self, x: Any, dtype: np.dtype[Any]) -> Slot:
        if x is None or isinstance(x, str):
            raise Unknown(x)
        self.constants.append(np.asarray(x, dtype))
        return ("c", len(self.constants) - 1)

    def _out(self, index: int, dtype: np.dtype[Any]) -> Slot:
        slot = self.target.get(index)
        if slot is None:
            known = self.free.get(dtype.itemsize)
            if known:
                slot = known.pop()
            else:
                slot = ("b", len(self.buffers))
                self.buffers.append(dtype)
        self.slots[index] = slot
        return slot

    def _give_back(self, slots: list[Slot]) -> None:
        for slot in slots:
            self.free.setdefault(self.buffers[slot[1]].itemsize, []).append(slot)


def _kind(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else type(x)


def _loop(ufunc: np.ufunc, types: str) -> int:
    try:
        return ufunc.types.index(types)
    except ValueError:
        raise Unknown(ufunc) from None
