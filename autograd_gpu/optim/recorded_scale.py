"""The scale of a GradScaler: on the host, or on the device where recorded steps change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any
from weakref import ref

from autograd_gpu.backend import Array
from autograd_gpu.recorder import DeviceScale, NotReplayable, Recorder


class RecordedScale:
    """A scale and the number of good steps since it changed.

    Host and device have one each.  `_is_known`: the host's are right, and the next replay takes
    them to the device; otherwise a replay has changed the device's.
    """

    def __init__(self, scale: float) -> None:
        self._scale, self._good = scale, 0
        self._is_known = True
        self._device: DeviceScale | None = None
        self._recording: ref[Recorder] | None = None
        self._flags: set[int] = set()
        """The ids of what this recording knows of gradients, which would hold its memory."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_recording": None}

    def known(self) -> tuple[float, int]:
        """Scale and number, for which the host waits if the device has changed them."""
        if not self._is_known:
            self._scale, self._good = self.device.read()
            self._is_known = True
        return self._scale, self._good

    def set(self, scale: float, good: int) -> None:
        """Change both."""
        self._scale, self._good, self._is_known = scale, good, True

    @property
    def device(self) -> DeviceScale:
        """What a recorded step computes with."""
        assert self._device is not None, "no step was recorded"
        return self._device

    def begin(self, watcher: Recorder) -> bool:
        """Have the device know the scale, when a step that is recorded first asks for it; whether
        this is the first time."""
        if self._recording is not None and self._recording() is watcher:
            return False
        assert watcher.counters is not None
        if self._device is None:
            self._device = watcher.counters.scale()
        device, was_known = self._device, self._is_known
        if not device.is_here():
            raise NotReplayable("the scale of its GradScaler is on another device")
        self._recording, self._flags = ref(watcher), set()

        def undo() -> None:
            self._is_known = was_known

        watcher.on_failure(undo)
        device.begin(
            *watcher.numbers(lambda: (float(self._is_known), self._scale, float(self._good)))
        )
        return True

    def flag_of(self, flags: Sequence[Array]) -> Array:
        """One flag of those of an optimiser's gradients, which are all on this device."""
        if len(flags) != 1:
            raise NotReplayable("an optimiser has gradients on several devices, or none")
        self._flags.add(id(flags[0]))
        return flags[0]

    def check_flags(self, flags: Sequence[Any]) -> None:
        """Refuse flags that are none of this recording's."""
        if not all(id(flag) in self._flags for flag in flags):
            raise NotReplayable("its GradScaler has looked at gradients outside of it")

    def each_time(self, watcher: Recorder, note: Callable[[], None]) -> None:
        """Call `note` now and in every replay."""

        def read() -> tuple[float, ...]:
            note()
            return (0.0,)

        watcher.numbers(read)

    def update(
        self,
        watcher: Recorder,
        flags: Sequence[Any],
        factors: Callable[[], tuple[float, float, float]],
        note: Callable[[], None],
    ) -> None:
        """Change the scale on the device, now and in every replay, by `factors`: of growth, of
        backing off, and the number of steps after which it grows; `note` is called then."""
        self.check_flags(flags)

        def read() -> tuple[float, ...]:
            note()
            self._is_known = False
            return factors()

        self.device.update(reduce(or_, flags), *watcher.numbers(read))
