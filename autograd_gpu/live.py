"""Numbers that the host changes from step to step, in steps that are recorded once and repeated.

A recorded step would repeat the learning rate, the count of steps or the seed of a mask that it was
recorded with.  What computes such numbers asks the recorder for them instead, and gets an array
that has new numbers before each repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from autograd_gpu.backend import Array


class Recorder(Protocol):
    """What records a step, as far as the layers above the backends know it."""

    def live(self, advance: Callable[[], Sequence[float]], dtype: str = "float64") -> Array:
        """An array [n] of the numbers that `advance` returns, of a dtype with eight bytes.

        `advance` does what the host has to do for one step: it is called now and once before each
        repetition, in the order of the calls of `live`.
        """
        ...

    def forget(self, variables: Iterable[Any]) -> None:
        """The step drops the gradients that these Variables had before it."""
        ...


recorder: ContextVar[Recorder | None] = ContextVar("autograd_gpu.live.recorder", default=None)
"""The recorder of the step that this thread or task records now; None where it does not."""
