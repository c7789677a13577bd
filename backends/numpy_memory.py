"""Memory of a program: where its arrays live, and arrays by the address of their memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_analysis import Analysis, values_in
from autograd_gpu.backends.numpy_copies import Copies
from autograd_gpu.backends.numpy_values import Step, Value

Array = np.ndarray[Any, Any]

ALIGNMENT = 64
"""Bytes: a cache line."""

# Their results are the nearest numbers to the true ones, whichever loop NumPy takes.  Others can
# differ in the last bit where a result takes the place of an operand.
_ROUNDED = frozenset(
    (
        *(np.absolute, np.add, np.divide, np.maximum, np.minimum, np.multiply, np.negative),
        *(np.positive, np.square, np.sqrt, np.subtract, np.ndarray.clip),
    )
)


def lay_out(facts: Analysis, copies: Copies) -> tuple[Array, dict[int, int]]:
    """One block of memory, and the addresses in it of all roots that live there.

    Arrays whose lives do not meet share memory, most recently used first: it is in the cache.
    """
    plan = _Plan()
    beginning: dict[int, list[Value]] = {}
    ending: dict[int, list[Value]] = {}
    for key, root in facts.roots.items():
        if root.kind not in ("temp", "empty") or key in facts.local or key in facts.constants:
            continue
        if key in copies.within:
            continue
        first, last = facts.life[key]
        beginning.setdefault(first, []).append(root)
        ending.setdefault(last, []).append(root)
    for number, step in enumerate(facts.steps):
        dying = ending.get(number, [])
        early = _overwritten(step, dying) if id(step.result) not in copies.within else []
        for root in early:
            plan.release(root)
        for root in beginning.get(number, []):
            plan.take(root)
        for root in dying:
            if root not in early:
                plan.release(root)
    memory = np.empty(plan.size + ALIGNMENT, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
    places = {key: start + offset for key, offset in plan.offsets.items()}
    for key in copies.within:
        home, offset = copies.home(facts.roots[key])
        places[key] = places[id(home)] + offset
    return memory, places


def _overwritten(step: Step, dying: Sequence[Value]) -> list[Value]:
    """An array that dies at a step, and whose place the result may take."""
    if step.into is None or step.into.function not in _ROUNDED:
        return []
    if step.result.dtype.kind not in "fiu":
        return []
    operands = list(values_in(step.args))
    return [
        root
        for root in dying
        if root.layout == step.result.layout
        and all(x is root or x.root is not root for x in operands)
        and root is not step.result
    ][:1]


class _Plan:
    """Where in one block of memory each array lives."""

    def __init__(self) -> None:
        self.size = 0
        self.offsets: dict[int, int] = {}
        self._free: list[tuple[int, int]] = []  # the last one was used last
        self._taken: dict[int, tuple[int, int]] = {}

    def take(self, root: Value) -> None:
        # With a gap behind it: NumPy takes another loop where operands touch.
        size = (size_of(root) // ALIGNMENT + 1) * ALIGNMENT
        best = None
        for i in range(len(self._free) - 1, -1, -1):
            found = self._free[i][1]
            if size <= found <= 2 * size and (best is None or found < self._free[best][1]):
                best = i
        if best is None:
            block = (self.size, size)
            self.size += size
        else:
            block = self._free.pop(best)
        self._taken[id(root)] = block
        self.offsets[id(root)] = block[0]

    def release(self, root: Value) -> None:
        block = self._taken.pop(id(root), None)
        if block is not None:
            self._free.append(block)


POOLED: set[int] = set()
"""The ids of arrays that a Kept holds besides those who got them."""


class Kept:
    """Memory for a result that is handed out in every call: the last one's, once all who got that
    have let go of it.  Fresh pages cost more than the arithmetic on them."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self._array = self._new()

    def _new(self) -> Array:
        array = np.empty(self._value.shape, self._value.dtype)
        POOLED.add(id(array))
        return array

    def take(self) -> Array:
        """An array that nobody else has."""
        if getrefcount(self._array) > 2:
            POOLED.discard(id(self._array))
            self._array = self._new()
        return self._array

    def __del__(self) -> None:
        POOLED.discard(id(self._array))


class _Memory:
    """Memory by its address, for `np.asarray`.

    A Variable's array is known by its address alone, and not held: who holds an array decides
    whether it is written in place.
    """

    def __init__(self, address: int, value: Value, keep: Any) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": value.shape,
            "strides": value.strides,
            "typestr": value.dtype.str,
        }


def array_at(address: int, value: Value, keep: Any) -> Array:
    """An array of this layout in memory that `keep` keeps, if anything has to."""
    array = np.asarray(_Memory(address, value, keep))
    # some dtypes of other packages are plain bytes to the interface
    return array if array.dtype == value.dtype else array.view(value.dtype)


def size_of(value: Value) -> int:
    """In bytes."""
    return prod(value.shape) * value.dtype.itemsize


def is_in_c_order(value: Value) -> bool:
    """Whether a root is as `np.empty` lays it out."""
    expected = value.dtype.itemsize
    for n, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
        if stride != expected:
            return False
        expected *= n
    return True
