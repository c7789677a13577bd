"""Copies that need not be made: what is copied into a larger array is computed there at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_analysis import Analysis, arguments, values_in
from autograd_gpu.backends.numpy_values import Step, Value


class Copies:
    """The copies of a tape that are left out.

    `dropped` are their steps; `within` says for a root, by its id, in which other root it lives,
    and at how many bytes from its start.
    """

    def __init__(self, facts: Analysis) -> None:
        self.facts = facts
        self.dropped: set[int] = set()
        self.within: dict[int, tuple[Value, int]] = {}
        self._used: dict[int, list[tuple[int, int, int]]] = {}
        """For each root the steps that use it, and which bytes of it."""
        for number, step in enumerate(facts.steps):
            if step.how != "view" and number not in facts.folded:
                for value in [*values_in(arguments(step)), *values_in(step.result)]:
                    self._used.setdefault(id(value.root), []).append((number, *_range(value)))
        for number, step in enumerate(facts.steps):
            if _is_copy(step) and self._can_drop(number, step.args[1], step.args[0]):
                self._drop(number, step.args[1], step.args[0])

    def _can_drop(self, number: int, source: Value, target: Value) -> bool:
        """Whether `source` may live in `target` from the start."""
        if source.root is not source or source.layout != target.layout:
            return False
        if not (self._is_planned(source) and self._is_planned(target.root)):
            return False
        if source is target.root or id(source) in self.within:
            return False
        first, last = self.facts.life[id(source)]
        if last != number:
            return False
        users = {step for step, _, _ in self._used[id(source)]}
        low, high = _range(target)
        return all(
            # NumPy takes another loop where operands of one call touch
            step not in users and (high <= start or end <= low)
            for step, start, end in self._used[id(target.root)]
            if first <= step < number
        )

    def _is_planned(self, root: Value) -> bool:
        key = id(root)
        return (
            root.kind in ("temp", "empty")
            and key not in self.facts.local
            and key not in self.facts.constants
        )

    def _drop(self, number: int, source: Value, target: Value) -> None:
        self.dropped.add(number)
        root, offset = target.root, target.offset
        self.within[id(source)] = (root, offset)
        moved = [(i, low + offset, high + offset) for i, low, high in self._used[id(source)]]
        self._used[id(root)] += moved
        life = self.facts.life[id(root)]
        life[0] = min(life[0], self.facts.life[id(source)][0])

    def home(self, root: Value) -> tuple[Value, int]:
        """Where a root lives: the root that has memory of its own, and the place in it."""
        offset = 0
        while id(root) in self.within:
            root, further = self.within[id(root)]
            offset += further
        return root, offset


def _is_copy(step: Step) -> bool:
    values: Iterable[Any] = step.args[:2]
    return (
        step.how == "effect"
        and step.function is np.copyto
        and len(step.args) >= 2
        and not step.kwargs
        and all(isinstance(x, Value) for x in values)
    )


def _range(value: Value) -> tuple[int, int]:
    """The bytes of its root that a view covers, from the first to behind the last."""
    low = high = value.offset
    for n, stride in zip(value.shape, value.strides, strict=True):
        if n == 0:
            return value.offset, value.offset
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return low, high + value.dtype.itemsize
