"""Steps that the device leaves out, and of which the host hears later."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from autograd_gpu.backend import Array
from autograd_gpu.optim.state import State
from autograd_gpu.recorder import DeviceCount, NotYet, Recorder, recorder
from autograd_gpu.variable import Variable

_log = logging.getLogger("autograd_gpu")


class Skips:
    """How many recorded steps of `params` the device has left out since the host knew it.

    Until it does, their counts of steps on the host are those of all that were tried.
    """

    def __init__(self, count: DeviceCount, params: Sequence[Variable]) -> None:
        self.count, self.params = count, params
        self.is_known = True

    def fits(self, params: Sequence[Variable]) -> bool:
        """Whether it is these parameters that are counted for, and here."""
        return [*map(id, params)] == [*map(id, self.params)] and self.count.is_here()

    def add(self, watcher: Recorder, flag: Array | None) -> None:
        """Let the device count a step that is left out if there is a `flag` and it holds."""
        was_known = self.is_known

        def read() -> tuple[float, ...]:
            is_new, self.is_known = self.is_known, False
            return (float(is_new),)

        def undo() -> None:
            self.is_known = was_known

        watcher.on_failure(undo)
        (is_new,) = watcher.numbers(read)
        self.count.add(is_new, flag)

    def settle(self, name: str, states: Mapping[Variable, State]) -> None:
        """Take the steps that were left out off the counts, waiting for the device."""
        if self.is_known:
            return
        if recorder.get() is not None:
            raise NotYet(f"only the device knows how many steps {name} has taken")
        left_out = self.count.read()
        self.is_known = True
        for x in self.params:
            state = states.get(x, {})
            if "step" in state:
                state["step"] -= left_out
        if left_out:
            _log.warning(
                "GradScaler: %d steps of %s were skipped, their gradients were not finite",
                left_out,
                name,
            )
