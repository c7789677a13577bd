"""Loss scaling for gradients in float16."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from autograd_gpu.backend import backend_of
from autograd_gpu.callers import require_keys
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.optim.recorded_scale import RecordedScale
from autograd_gpu.optim.state import check_gradient
from autograd_gpu.placement import copied, near, place_of
from autograd_gpu.recorder import Recorder, live, recorder
from autograd_gpu.variable import Variable

_log = logging.getLogger("autograd_gpu")


class GradScaler:
    """Multiplies losses so that small gradients do not vanish in float16, and skips steps whose
    gradients are not finite.

    The scale shrinks by `backoff_factor` after such a step and grows by `growth_factor` after
    `growth_interval` good ones.  A skipped step is logged to the logger "autograd_gpu".  Whether
    gradients are finite is the one thing that a step waits for the device to know.

    In a step that `compile` captures on CuPy nothing waits: the device skips steps and changes the
    scale, and the host hears of both when it asks, by `get_scale()` or the optimiser's `state`.

    >>> x = Variable([1.0], requires_grad=True)
    >>> optimizer, scaler = SGD([x], lr=0.5), GradScaler()
    >>> scaler.scale((x * x).sum()).backward()
    >>> scaler.step(optimizer)
    True
    >>> scaler.update()
    >>> x.tolist()
    [0.0]
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not init_scale > 0 or not growth_factor > 1 or not 0 < backoff_factor < 1:
            raise ValueError(
                f"GradScaler: init_scale={init_scale} must be positive, "
                f"growth_factor={growth_factor} above 1 and backoff_factor={backoff_factor} "
                f"between 0 and 1"
            )
        self.growth_factor, self.backoff_factor = growth_factor, backoff_factor
        self.growth_interval, self.enabled = growth_interval, enabled
        self._state = RecordedScale(float(init_scale))
        self._found: dict[int, Any] = {}
        """By optimiser, whether its gradients are not all finite: a bool, or a 0-d array where
        that is not known yet."""
        self._stepped: set[int] = set()

    def get_scale(self) -> float:
        """The factor of losses."""
        if not self.enabled:
            return 1.0
        self._refuse_to_tell()
        return self._state.known()[0]

    def scale(self, loss: Variable) -> Variable:
        """`loss` times the scale; in float32 where it has a half type, which would overflow."""
        if not self.enabled:
            return loss
        if loss.dtype.itemsize == 2:
            loss = loss.astype("float32")
        if recorder.get() is None:
            return loss * self._state.known()[0]
        # An array, so that nothing takes the number for a constant of the recorded step.
        scale: Any
        if self._later() is None:
            (scale,) = live(lambda: self._state.known()[:1])
        else:
            scale = self._state.device.scale
        return loss * Variable(backend_of(loss.value).asarray(scale, loss.dtype))

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the scale, before they are clipped for instance; once a step."""
        if not self.enabled:
            return
        self._refuse_to_unscale_again(optimizer)
        watcher = self._later()
        inverse: Any = 1 / self._state.known()[0] if watcher is None else self._state.device.inverse
        flags = _unscaled(optimizer, inverse)
        if watcher is not None:
            flag = self._state.flag_of(flags)
            self._state.each_time(watcher, lambda: self._note_unscaled(optimizer, flag))
            return
        try:
            found = any(map(_holds, flags))
        except Exception as error:
            error.add_note("raised in GradScaler.unscale_, which waits to see the gradients")
            raise
        self._note_unscaled(optimizer, found)

    def step(self, optimizer: Optimizer) -> bool | Variable:
        """Step if all gradients are finite, unscaling them if that has not been done.

        Returns whether there was a step; where a step is captured, a Variable that holds it.
        """
        if not self.enabled:
            optimizer.step()
            return True
        self._refuse_to_step_again(optimizer)
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        found = self._found[id(optimizer)]
        watcher = self._later()
        if watcher is not None:
            self._state.check_flags([found])
            self._state.each_time(watcher, lambda: self._note_step(optimizer))
            optimizer.step_unless(found)
            return Variable(backend_of(found).xp.logical_not(found))
        self._note_step(optimizer)
        if _holds(found):
            _log.warning(
                "GradScaler: a step was skipped, its gradients are not finite (scale %g)",
                self._state.known()[0],
            )
            return False
        optimizer.step()
        return True

    def update(self) -> None:
        """Change the scale by what the gradients of this step were; after all `step`s."""
        if not self.enabled:
            return
        self._refuse_to_update_again()
        watcher = self._later()
        if watcher is not None:
            flags = list(self._found.values())
            self._state.update(watcher, flags, self._factors, self._note_update)
            return
        scale, good = self._state.known()
        good += 1
        if any(map(_holds, self._found.values())):
            scale, good = scale * self.backoff_factor, 0
        elif good >= self.growth_interval:
            scale, good = scale * self.growth_factor, 0
        self._state.set(scale, good)
        self._note_update()

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        self._refuse_to_tell()
        scale, good = self._state.known()
        return {"scale": scale, "good": good}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        require_keys("GradScaler", state, ("scale", "good"))
        self._state.set(float(state["scale"]), int(state["good"]))

    # Where a step is recorded ---------------------------------------------------------------------

    def _later(self) -> Recorder | None:
        """Who records this step, if nothing is executed until it is replayed."""
        watcher = recorder.get()
        if watcher is None or watcher.counters is None:
            return None
        if self._state.begin(watcher):
            found, stepped = dict(self._found), set(self._stepped)

            def undo() -> None:
                self._found, self._stepped = found, stepped

            watcher.on_failure(undo)
        return watcher

    def _factors(self) -> tuple[float, float, float]:
        return self.growth_factor, self.backoff_factor, float(self.growth_interval)

    def _refuse_to_tell(self) -> None:
        watcher = recorder.get()
        if watcher is not None:
            watcher.refuse("it looks at the scale of a GradScaler, which other steps change")

    # What has been done since the last `update`, in replays too -----------------------------------

    def _refuse_to_unscale_again(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self._found:
            raise RuntimeError("GradScaler: unscale_ was called twice without update")

    def _note_unscaled(self, optimizer: Optimizer, found: Any) -> None:
        self._refuse_to_unscale_again(optimizer)
        self._found[id(optimizer)] = found

    def _refuse_to_step_again(self, optimizer: Optimizer) -> None:
        if id(optimizer) in self._stepped:  # new gradients would not be unscaled
            raise RuntimeError("GradScaler: step was called twice without update")

    def _note_step(self, optimizer: Optimizer) -> None:
        self._refuse_to_step_again(optimizer)
        self._stepped.add(id(optimizer))

    def _refuse_to_update_again(self) -> None:
        if not self._found:
            raise RuntimeError("GradScaler: update without a step or unscale_ before")

    def _note_update(self) -> None:
        self._refuse_to_update_again()
        self._found, self._stepped = {}, set()


def _unscaled(optimizer: Optimizer, inverse: Any) -> list[Any]:
    """Multiply all gradients by `inverse`; for each device a flag: whether any is not finite."""
    params = [x for x in optimizer.parameters() if x.grad is not None]
    for x in params:  # before any is changed
        check_gradient(type(optimizer).__name__, x, x.grad)
    grads: dict[Any, list[Any]] = {}
    for x in params:
        grad: Any = x.grad
        if grad.size:
            if backend_of(grad).is_shared(grad):
                x.grad = grad = copied(grad)
            grads.setdefault(place_of(grad), []).append(grad)
    flags = []
    for some in grads.values():
        with near(some[0]):
            flags.append(backend_of(some[0]).unscale(some, inverse))
    return flags


def _holds(flag: Any) -> bool:
    """Whether a flag holds, for which the host waits if it is an array."""
    return flag if isinstance(flag, bool) else bool(backend_of(flag).to_host(flag))
