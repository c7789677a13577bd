"""What a backend does to record a step and to replay it, and how the layers below tell it.

While a step is recorded, `recorder` holds the Recorder of this thread.  All reads and writes of a
Variable's `value` and `grad` pass through it (`autograd_gpu.slots`), and those few places where the
host decides something from call to call ask it: random numbers (`numbers`), optimisers (`update`)
and the training mode of a Module (`depends`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol


class NotReplayable(Exception):
    """A step does something that can't be recorded.

    A Recorder raises it from `record` only where everything is as it was before the call.
    """


class NotYet(NotReplayable):
    """What keeps a step from being recorded is over after an eager run of it, or may be."""


class DeviceScale(Protocol):
    """A loss scale on the device, and how many good steps it has seen since it changed.

    Numbers are those that a Recorder's `numbers` gives.
    """

    def is_here(self) -> bool:
        """Whether it is on the current device."""
        ...

    @property
    def scale(self) -> Any:
        """A 0-d float64 array."""
        ...

    @property
    def inverse(self) -> Any:
        """1 / scale, likewise."""
        ...

    def begin(self, is_new: Any, scale: Any, good: Any) -> None:
        """Take the host's scale and count if `is_new` is not 0."""
        ...

    def update(self, found: Any, growth: Any, backoff: Any, interval: Any) -> None:
        """Change the scale by whether a gradient was found that is not finite."""
        ...

    def read(self) -> tuple[float, int]:
        """The scale and the count; waits."""
        ...


class DeviceCount(Protocol):
    """How often something was so, counted on the device."""

    def is_here(self) -> bool:
        """Whether it is on the current device."""
        ...

    @property
    def array(self) -> Any:
        """A 0-d float64 array."""
        ...

    def add(self, is_new: Any, flag: Any) -> None:
        """Count from 0 on if `is_new` is not 0, then one more if `flag`, or None, holds."""
        ...

    def read(self) -> int:
        """The count; waits."""
        ...


class Counters(Protocol):
    """Makes what outlives a recording."""

    def scale(self) -> DeviceScale: ...

    def count(self) -> DeviceCount: ...


class Replay(Protocol):
    """A recorded step."""

    def __call__(self, given: Sequence[Any]) -> list[Any] | None:
        """Run the step on other inputs, of the same kinds; its outputs, or None if it has to be
        recorded again and nothing has been done.

        Outputs are the caller's own: nothing that a later replay writes into.  Variables among the
        inputs, and those that the step reads from elsewhere, end up as after an eager step.
        """
        ...

    def difference(self, earlier: Replay) -> str | None:
        """What differs between this recording and an earlier one of the same step, in words, if
        a number or array differs that later calls would not see; None where replays are right."""
        ...


class Recorder(Protocol):
    """Records one run of a step."""

    recordings: int
    """How many recordings it takes before the last one is replayed: 2 where they are compared."""

    def record(
        self, run: Callable[[Sequence[Any]], list[Any]], given: Sequence[Any]
    ) -> tuple[list[Any], Replay | str]:
        """Call `run` once, and return its outputs and what replays them, or why nothing can.

        `given` are the Variables and arrays among the step's arguments.  `run` takes the same
        Variables, and for each array what stands in for it; it returns arrays and Variables that
        existed before.  The outputs are those of an eager run, arrays of their own.  Errors of the
        step come through, with everything as after an eager error.
        """
        ...

    def rehearsal(self) -> AbstractContextManager[None]:
        """For an eager run before `record`, which goes better for it."""
        ...

    def reads(self, variable: Any, slot: str, held: Any) -> Any:
        """The step reads `variable.value` or `.grad`, which is `held`; what it gets, and the slot
        holds from now on."""
        ...

    def writes(self, variable: Any, slot: str, array: Any, is_new: bool) -> None:
        """The step sets `variable.value` or `.grad`, or writes into the array `variable.value`.

        `is_new`: the Variable is the step's.
        """
        ...

    def numbers(self, read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """`read()`, which is called once in every replay too, and whose numbers array calls get."""
        ...

    def on_failure(self, undo: Callable[[], object]) -> None:
        """`undo()` takes back a change on the host, should the recording not be completed."""
        ...

    by_update: bool
    """Whether an optimiser changes the parameters of a group by `update`; otherwise it does as
    ever, and the backend's `steps` asks for their `numbers`."""

    counters: Counters | None
    """What a GradScaler counts with where nothing is executed while a step is recorded, and so the
    host does not know if a step is skipped; None where it does."""

    def update(self, change: Callable[..., None], variables: Any, *args: Any) -> None:
        """`change(variables, *args)`: an optimiser's update of Variables by their gradients, or of
        something else by them; of one Variable or of a list.

        It is called in every replay too, or what it does on the host is: step counts go on and
        learning rates are read.
        """
        ...

    def depends(self, read: Callable[[], Any]) -> None:
        """What the step does depends on `read()`: a replay with another value is none."""
        ...

    def refuse(self, reason: str) -> None:
        """The step does what can't be replayed; this run goes on all the same."""
        ...


recorder: ContextVar[Recorder | None] = ContextVar("autograd_gpu.recorder", default=None)


def live(read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """`read()`: numbers that the host changes from call to call."""
    watcher = recorder.get()
    return read() if watcher is None else watcher.numbers(read)
