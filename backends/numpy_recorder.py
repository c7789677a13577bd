"""The recorder for NumPy: stand-ins take the place of arrays, and two recordings are compared."""

from __future__ import annotations

import gc
import pickle
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from sys import getrefcount
from types import CellType
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from autograd_gpu.backend import BACKENDS, NAMESPACES
from autograd_gpu.backends.numpy_compare import Comparison
from autograd_gpu.backends.numpy_guards import Leaf
from autograd_gpu.backends.numpy_program import Program
from autograd_gpu.backends.numpy_tape import Tape
from autograd_gpu.backends.numpy_traced_backend import TracedBackend
from autograd_gpu.backends.numpy_values import Argument, Step, Value, is_same_subject
from autograd_gpu.backends.traced import Traced
from autograd_gpu.recorder import Replay, recorder

Array = np.ndarray[Any, Any]


class NumpyRecorder:
    """See `autograd_gpu.recorder.Recorder` for what the members mean."""

    recordings = 2
    by_update = True
    counters = None

    def __init__(self) -> None:
        self.tape = Tape()
        self.guards: list[tuple[Callable[[], Any], Any]] = []
        self.empty: list[tuple[Any, str]] = []
        """The slots that held nothing when they were read first."""
        self.leaves: dict[int, Leaf] = {}
        """What decided of the Variables from outside how a backward runs, by their ids."""
        self._given: dict[int, int] = {}
        self._seen: set[tuple[int, str]] = set()
        self._touched: dict[int, Any] = {}
        self._new: dict[int, Any] = {}

    def rehearsal(self) -> AbstractContextManager[None]:
        return nullcontext()

    def on_failure(self, undo: Callable[[], object]) -> None:
        pass  # a step runs eagerly while it is recorded

    def record(
        self, run: Callable[[Sequence[Any]], list[Any]], given: Sequence[Any]
    ) -> tuple[list[Any], Replay | str]:
        if Traced not in BACKENDS:
            _register()
        for replay in list(_waiting):
            replay.source.watch_what_it_used(self.tape)
        is_variable = [type(x) not in BACKENDS for x in given]
        self._given = {id(x): i for i, x in enumerate(given) if is_variable[i]}
        stand_ins = []
        for i, x in enumerate(given):
            stand_ins.append(x if is_variable[i] else self.tape.root(x, "given", i))
        drawn = _states()
        try:
            returned = run(stand_ins)
            self.tape.check()
        finally:
            del stand_ins
            self._put_back()
        outputs, values = [], []
        for y in returned:
            traced = y if isinstance(y, Traced) else self.tape.adopted(y)
            outputs.append(traced.array)
            values.append(traced.value)
            del traced
        returned.clear()
        y = None
        self._look_for_survivors()
        if _states() != drawn:
            self.refuse(
                "it draws from the random numbers of NumPy or Python; pass them, or use ours"
            )
        if any(read() != found for read, found in self.guards):
            self.refuse(
                "it changes the training mode or another attribute of a module that it calls"
            )
        for root in (root for step in self.tape.steps for root in step.writes):
            if root.kind == "given":
                self.tape.refuse("it writes into an array that it is given")
        if self.tape.reason is not None:
            return outputs, self.tape.reason
        return outputs, NumpyReplay(self, values, is_variable)

    def watch_what_it_used(self, tape: Tape) -> None:
        """Let another recording know from its start what is in the arrays that this one used."""
        for value in self.tape.arrays.values():
            tape.watch(value.content)
        for root in self.tape.slots:
            variable, slot = root.content
            array = None if isinstance(variable, Argument) else getattr(variable, slot)
            if type(array) is np.ndarray:
                tape.watch(array)

    def _put_back(self) -> None:
        """Arrays in place of the stand-ins that Variables hold."""
        variables = list(self._touched.values())
        variables += [x for known in self._new.values() if (x := known()) is not None]
        for variable in variables:
            for slot in ("value", "grad"):
                held = getattr(variable, slot)
                if isinstance(held, Traced):
                    setattr(variable, slot, held.array)

    def _look_for_survivors(self) -> None:
        """What the step has made is gone now, but for what it returned; anything else is kept by
        code that would miss it in a replay."""

        def survivors() -> list[Any]:
            found = [x() for x in (*self._new.values(), *self.tape.alive)]
            return [x for x in found if x is not None]

        if survivors():
            gc.collect()
            for x in survivors():
                self.tape.refuse(
                    "an array or Variable that it makes is kept outside of it (as an attribute, in "
                    "a list, by a closure), where a replay would not put the next one; return it"
                )
                if isinstance(x, Traced):
                    _put_in_place(x)

    def _subject(self, variable: Any) -> Any:
        """A Variable, as the tape knows it."""
        place = self._given.get(id(variable))
        return variable if place is None else Argument(place)

    # What the step does --------------------------------------------------------------------------

    def reads(self, variable: Any, slot: str, held: Any) -> Any:
        key = (id(variable), slot)
        if isinstance(held, Traced):
            return held
        if held is None:
            if key not in self._seen and key[0] not in self._new:
                self._seen.add(key)
                self.empty.append((self._subject(variable), slot))
                self._touched[key[0]] = variable
            return None
        if type(held) is not np.ndarray and key[0] in self._new:
            return held  # fuse writes a function down
        if type(held) is not np.ndarray:
            self.tape.refuse(f"a Variable holds a {type(held).__name__}")
            return held
        if key[0] in self._new:
            return self.tape.adopted(held)
        self._touched[key[0]] = variable
        if key in self._seen:  # something has set it unseen: an optimiser
            place = (self._subject(variable), slot)
            late = self.tape.root(held, "late", place)
            self.tape.add(Step("late", None, place, {}, late.value))
            return late
        self._seen.add(key)
        self.tape.watch(held)
        if slot == "value" and key[0] in self._given:
            return self.tape.root(held, "given", self._given[key[0]])
        if key[0] not in self._given:  # of arguments the signature tells
            self.leaves.setdefault(key[0], Leaf.of(variable))
        first = self.tape.root(held, "slot", (self._subject(variable), slot))
        self.tape.slots.append(first.value)
        return first

    def writes(self, variable: Any, slot: str, array: Any, is_new: bool) -> None:
        key = (id(variable), slot)
        if is_new:
            if key[0] not in self._new or self._new[key[0]]() is not variable:
                self._new[key[0]] = ref(variable)
            return
        self._touched[key[0]] = variable
        value = array
        if isinstance(array, Traced):
            value = array.value
            if value.kind in ("slot", "late") and self._holds(variable, slot, array):
                return  # an in-place operator: x.value *= 2
        elif array is not None:
            value = self.tape.outside(array)
        self._seen.add(key)
        self.tape.add(Step("set", None, (self._subject(variable), slot, value), {}))

    def _holds(self, variable: Any, slot: str, array: Traced) -> bool:
        """Whether a slot that was read holds this stand-in."""
        whose, of = array.value.content
        is_its_own = of == slot and is_same_subject(whose, self._subject(variable))
        return is_its_own and getattr(variable, slot) is array

    def numbers(self, read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        return self.tape.numbers(read)

    def update(self, change: Callable[..., None], variables: Any, *args: Any) -> None:
        several = variables if isinstance(variables, (list, tuple)) else [variables]
        seen = [x for x in several if (id(x), "value") in self._seen]
        old = [ref(x.value) for x in seen if isinstance(x.value, Traced)]
        token = recorder.set(None)
        try:
            for x in several:
                x.value, x.grad = x.value, x.grad  # without stand-ins
            if any(value() is not None for value in old):
                # an eager step would change a copy
                self.tape.refuse("it holds the old value of a parameter that an optimiser changes")
            change(variables, *args)
        finally:
            recorder.reset(token)
        self.tape.written()
        for x in several:
            self._seen |= {(id(x), "value"), (id(x), "grad")}
            self._touched[id(x)] = x
        self.tape.add(Step("update", None, (change, self._subject(variables), args), {}))

    def depends(self, read: Callable[[], Any]) -> None:
        self.guards.append((read, read()))

    def refuse(self, reason: str) -> None:
        self.tape.refuse(reason)


_waiting: WeakSet[NumpyReplay] = WeakSet()
"""Recordings that have not been replayed so far: they may be compared with the next one."""


class NumpyReplay:
    """See `autograd_gpu.recorder.Replay` for what the members mean."""

    def __init__(
        self, source: NumpyRecorder, outputs: list[Value], is_variable: list[bool]
    ) -> None:
        self.source, self.outputs, self.is_variable = source, outputs, is_variable
        self.lasting: set[int] = set()
        self._run: Callable[[Sequence[Any]], list[Any] | None] | None = None
        _waiting.add(self)

    def __call__(self, given: Sequence[Any]) -> list[Any] | None:
        if self._run is None:
            self.program = Program(
                self.source.tape,
                self.outputs,
                self.source.guards,
                self.source.empty,
                self.source.leaves.values(),
                self.is_variable,
                self.lasting,
            )
            self._run = self.program.run
            self.source.tape.forget()
            _waiting.discard(self)
        try:
            return self._run(given)
        except Exception as error:
            error.add_note("raised in the replay of a compiled step")
            raise

    def difference(self, earlier: Replay) -> str | None:
        assert isinstance(earlier, NumpyReplay)
        comparison = Comparison(
            (earlier.source.tape, earlier.outputs), (self.source.tape, self.outputs)
        )
        self.lasting = comparison.lasting
        return comparison.difference


def _states() -> tuple[bytes, Any]:
    """The states of the global generators of NumPy and of Python."""
    return pickle.dumps(np.random.get_state(legacy=False)), random.getstate()  # noqa: NPY002


def is_held(x: Traced) -> bool:
    """Whether anything but a Variable's slot holds the array of a stand-in that is in that slot."""
    return getrefcount(x.array) > (3 if x.value.root.kind == "array" else 2)


def _put_in_place(x: Traced) -> None:
    """Give those who keep a stand-in the array itself."""
    for holder in gc.get_referrers(x):  # no comprehensions here, which hold x themselves
        if isinstance(holder, list):
            for i, item in enumerate(holder):
                if item is x:
                    holder[i] = x.array
        elif isinstance(holder, dict):
            for key, item in list(holder.items()):
                if item is x:
                    holder[key] = x.array
        elif isinstance(holder, CellType):
            holder.cell_contents = x.array


def _register() -> None:
    backend = TracedBackend(is_held)
    BACKENDS[Traced] = backend
    NAMESPACES[Traced] = backend.xp
