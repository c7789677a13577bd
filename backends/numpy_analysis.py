"""What a tape says of its arrays: how long they live, which are handed out, which never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_values import HostNumber, Step, Value

Array = np.ndarray[Any, Any]


class Analysis:
    """Facts about the roots of a tape, by their ids.

    `slots` are those that the tape begins with, and `lasting` those arrays from outside that are
    the same memory in every call.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        slots: Sequence[Value],
        outputs: Sequence[Value],
        lasting: set[int],
    ) -> None:
        self.steps, self.lasting = steps, lasting
        self.roots: dict[int, Value] = {}
        self.life: dict[int, list[int]] = {}
        """The first and the last step that a root takes part in."""
        self.written: dict[int, list[int]] = {}
        """The steps that write into a root after it has been made."""
        self.handed_out: set[int] = set()
        """What the caller or a Variable gets, which must be new memory in every call."""
        rebound = set()
        for number, step in enumerate(steps):
            for value in [*values_in(arguments(step)), *values_in(step.result)]:
                root = value.root
                self.roots[id(root)] = root
                self.life.setdefault(id(root), [number, number])[1] = number
            for root in step.writes:
                self.written.setdefault(id(root), []).append(number)
            if step.how == "set":
                self._hand_out(values_in(step.args))
                rebound.add((id(step.args[0]), step.args[1]))
        self._hand_out(outputs)
        for root in slots:
            self.roots[id(root)] = root
        self.folded: set[int] = set()
        """The steps that give the same in every call."""
        self.constants: dict[int, Array] = {}
        """Their results, by the ids of the Values."""
        self._fold()
        self.local = {key for key, root in self.roots.items() if self._is_local(root, rebound)}
        """The roots whose memory is another one in every call."""

    def _hand_out(self, values: Any) -> None:
        for value in values:
            self.roots[id(value.root)] = value.root
            self.handed_out.add(id(value.root))

    def _is_local(self, root: Value, rebound: set[Any]) -> bool:
        key = id(root)
        if key in self.handed_out:
            return True
        if root.kind == "slot":
            variable, slot = root.content
            return slot == "grad" or (id(variable), slot) in rebound
        if root.kind == "array":
            return key not in self.lasting and key in self.written
        return root.kind in ("given", "late") or (root.kind == "made" and key not in self.constants)

    # Constants ----------------------------------------------------------------------------------

    def _fold(self) -> None:
        """Compute once what depends on nothing that changes."""
        for number, step in enumerate(self.steps):
            if step.how in ("into", "made", "view") and isinstance(step.result, Value):
                root = step.result.root
                if self._is_free(root) and self._are_constant(arguments(step)):
                    self.constants[id(step.result)] = self._computed(step)
                    self.folded.add(number)
            elif step.how == "effect" and step.function in (np.ndarray.fill, np.copyto):
                target = step.args[0]
                rest = (step.args[1:], step.kwargs)
                if target.kind == "empty" and self._is_filled_once(target):
                    if not self._are_constant(rest):
                        continue
                    self.constants[id(target)] = array = like(target)
                    step.function(array, *self._resolved(step.args[1:]), **step.kwargs)
                    self.folded.add(number)

    def _is_free(self, root: Value) -> bool:
        """Whether nothing writes into a root, and nobody gets it."""
        key = id(root)
        return key not in self.handed_out and (key not in self.written or key in self.constants)

    def _is_filled_once(self, root: Value) -> bool:
        first, _ = self.life[id(root)]
        return self.written[id(root)] == [first] and id(root) not in self.handed_out

    def _are_constant(self, x: Any) -> bool:
        return not any(True for _ in numbers_in(x)) and all(
            id(value) in self.constants or self._is_unchanging(value) for value in values_in(x)
        )

    def _is_unchanging(self, value: Value) -> bool:
        return value.kind == "array" and id(value) not in self.lasting and self._is_free(value)

    def _computed(self, step: Step) -> Array:
        result: Array = step.function(
            *self._resolved(step.args), **{k: self._resolved(x) for k, x in step.kwargs.items()}
        )
        return result

    def _resolved(self, x: Any) -> Any:
        if isinstance(x, Value):
            found = self.constants.get(id(x))
            return x.content if found is None else found
        if type(x) in (tuple, list):
            return type(x)([self._resolved(item) for item in x])
        return x


def arguments(step: Step) -> Any:
    """What a step gets, without what an optimiser gets, which is no business of the tape."""
    return () if step.how == "update" else (step.args, step.kwargs)


def values_in(x: Any) -> Iterator[Value]:
    """The Values among arguments or results."""
    return _found(x, Value)


def numbers_in(x: Any) -> Iterator[HostNumber]:
    """The numbers among arguments that are read in every replay."""
    return _found(x, HostNumber)


def _found(x: Any, kind: type) -> Iterator[Any]:
    if isinstance(x, kind):
        yield x
    elif type(x) in (tuple, list):
        for item in x:
            yield from _found(item, kind)
    elif type(x) is dict:
        for item in x.values():
            yield from _found(item, kind)
    elif type(x) is slice:
        yield from _found((x.start, x.stop, x.step), kind)


def like(value: Value) -> Array:
    """New memory in the layout of a root."""
    order = np.argsort([-abs(stride) for stride in value.strides], kind="stable")
    array = np.empty([value.shape[i] for i in order], value.dtype)
    return array.transpose(np.argsort(order))
