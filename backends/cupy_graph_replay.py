"""Launching a captured step: arguments in, the host's numbers on, results out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp
from cupy.cuda import device

from autograd_gpu.backends.cupy_graph_pools import retire
from autograd_gpu.backends.cupy_live import LiveNumbers
from autograd_gpu.recorder import NotReplayable, Replay

Array = Any


class Slot:
    """The value or gradient of a Variable that a captured step uses, from launch to launch.

    Of an array that the step reads the memory is held, not the array: whether something may be
    written in place depends on who else holds an array.
    """

    def __init__(self, variable: Any, name: str, static: Array | None, held: Any) -> None:
        if held is not None and not isinstance(held, cp.ndarray):
            raise NotReplayable(f"it uses a Variable with a {type(held).__name__} beside CuPy's")
        if held is not None and held.data.device_id != device.get_device_id():
            raise NotReplayable(f"it uses {held.device}, which is not the current one")
        self.variable, self.name, self.static = variable, name, static
        self.is_read = self.in_place = self.is_bound = False
        self.final: Array | None = None
        """What the slot is given after each launch, where `is_bound`."""
        self._start = None if held is None else (held.shape, held.dtype, held.data, held.strides)
        self._requires_grad = variable.requires_grad
        self._hooks = _hooks(variable)
        self._earlier = held if static is not None else None
        self._is_replaced = static is not None and name == "value"

    def read(self) -> None:
        """What the step does depends on what the slot holds before."""
        if self.static is not None and self.name == "grad" and self._start is not None:
            raise NotReplayable("it adds to the gradient of an argument")
        self.is_read = True

    def write(self, held: Any, array: Any) -> None:
        """The slot gets `array`; or it is written into, if that is what it holds."""
        if array is held and array is not None:
            self.in_place = True
        elif not self._is_replaced:
            self._earlier, self._is_replaced = held, True

    def restore(self) -> None:
        """As it was before the step."""
        if self._is_replaced:
            setattr(self.variable, self.name, self._earlier)

    def settle(self) -> None:
        """The step is captured: let go of what only `restore` needs."""
        self._earlier = None
        if not self.is_read:
            self._start = None

    def finish(self) -> None:
        """Still within the capture: let the step end where the next launch begins."""
        now = getattr(self.variable, self.name)
        if not self._is_replaced:
            return
        if self.static is not None:
            if now is self.static and not self.in_place:
                self.restore()
            else:
                self.final, self.is_bound = now, True
            return
        if not self.is_read or self._start is None or now is None:
            self.final, self.is_bound = now, True
            return
        shape, dtype, memory, strides = self._start
        if sys.getrefcount(self._earlier) != _HELD + _finals[id(self._earlier)]:
            raise NotReplayable(
                f"the {self.name} of a Variable of shape {shape} is held elsewhere, so that it "
                f"cannot be written in place"
            )
        if now.shape != shape or now.dtype != dtype:
            raise NotReplayable(
                f"the {self.name} of a Variable changes from {dtype}{list(shape)} to "
                f"{now.dtype}{list(now.shape)}"
            )
        array = cp.ndarray(shape, dtype, memory, strides)
        array[...] = now
        setattr(self.variable, self.name, array)
        self.in_place = True

    @property
    def is_checked(self) -> bool:
        """Whether launches depend on what the slot holds; arguments are copied into the graph's."""
        return self.is_read and (self.static is None or self.name == "grad")

    def fits(self, variable: Any) -> bool:
        """Whether a launch would find in the slot of `variable` what the step read there."""
        held = getattr(variable, self.name)
        if self._start is None or held is None:
            return held is None and self._start is None
        return bool(
            held.data.ptr == self._start[2].ptr
            and held.shape == self._start[0]
            and variable.requires_grad is self._requires_grad
            and _hooks(variable) == self._hooks
            and (not self.in_place or sys.getrefcount(held) == _HELD_AND_NAMED + _finals[id(held)])
        )


def _hooks(variable: Any) -> list[Any] | None:
    """What a backward calls with the gradient of a Variable; None if there is nothing."""
    if variable._hooks or variable._post_hooks:
        return [*(variable._hooks or ()), None, *(variable._post_hooks or ())]
    return None


def _references() -> tuple[int, int]:
    """What getrefcount says of an object in one container, and with a local name besides."""
    container = {0: object()}
    held = sys.getrefcount(container[0])
    named = container[0]
    return held, sys.getrefcount(named)


_HELD, _HELD_AND_NAMED = _references()

_finals: Counter[int] = Counter()
"""How many graphs hold an array, by its id, to give it to a slot after each launch.

They are no holders that forbid writing in place: their next launch writes it anew.  So one graph
may add to the gradients that another one gives.
"""


class GraphReplay:
    """See `autograd_gpu.recorder.Replay`.  `kept` is what has to live as long as the graph.

    `pool` is where its memory comes from, which goes back to CUDA with it.
    """

    def __init__(
        self,
        graph: Any,
        pool: Any,
        kept: Any,
        given: Sequence[Any],
        statics: Sequence[Array],
        slots: Sequence[Slot],
        outputs: Sequence[Any],
        numbers: LiveNumbers,
        depends: Sequence[tuple[Callable[[], Any], Any]],
    ) -> None:
        self._graph, self._pool, self._kept = graph, pool, kept
        self._statics, self._outputs = statics, outputs
        self._numbers, self._depends = numbers, depends
        places = {id(x): i for i, x in reversed(list(enumerate(given)))}
        placed: list[tuple[int | None, Slot]] = []
        for slot in slots:
            slot.settle()
            place = places.get(id(slot.variable)) if slot.static is not None else None
            if place is not None:
                slot.variable = None  # arguments come and go
            placed.append((place, slot))
        self._checked = [(place, slot) for place, slot in placed if slot.is_checked]
        self._bound = [(place, slot) for place, slot in placed if slot.is_bound]
        self._finals = Counter(id(slot.final) for _, slot in self._bound if slot.final is not None)
        _finals.update(self._finals)
        self._device = device.get_device_id()
        self._stream: Any = None

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        for key, count in self._finals.items():
            _finals[key] -= count
            if not _finals[key]:
                del _finals[key]
        pool, number = self._pool, self._device
        vars(self).clear()  # arrays go back to the pool before the pool is asked
        retire(pool, number)

    def __call__(self, given: Sequence[Any]) -> list[Any] | None:
        if device.get_device_id() != self._device:
            return None
        for read, value in self._depends:
            if read() != value:
                return None
        for place, slot in self._checked:
            if not slot.fits(slot.variable if place is None else given[place]):
                return None
        stream = cp.cuda.get_current_stream()
        if self._stream is not None and self._stream.ptr != stream.ptr:
            stream.wait_event(self._stream.record())
        for static, x in zip(self._statics, given, strict=True):
            _copy(static, x if isinstance(x, cp.ndarray) else x.value, stream)
        self._numbers.advance()
        return self.launch(given)

    def launch(self, given: Sequence[Any]) -> list[Any]:
        """Run the step on what the buffers hold, on the current stream."""
        self._numbers.write()
        self._stream = cp.cuda.get_current_stream()
        self._graph.launch(self._stream)
        for place, slot in self._bound:
            if place is None:
                setattr(slot.variable, slot.name, slot.final)
            else:
                setattr(given[place], slot.name, None if slot.final is None else slot.final.copy())
        return [y.copy() for y in self._outputs]

    def difference(self, earlier: Replay) -> str | None:
        return None


def _copy(to: Array, x: Array, stream: Any) -> None:
    """`to[...] = x`, by a copy of bytes where both are the same in memory."""
    if to.strides == x.strides and (x.flags.c_contiguous or x.flags.f_contiguous):
        to.data.copy_from_device_async(x.data, x.nbytes, stream)
    else:
        to[...] = x
