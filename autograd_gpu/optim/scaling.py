"""Loss scaling for gradients in float16."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from autograd_gpu.backend import BACKENDS, backend_of
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.placement import near
from autograd_gpu.recorder import live, recorder
from autograd_gpu.variable import Variable

_log = logging.getLogger("autograd_gpu")


class GradScaler:
    """Multiplies losses so that small gradients do not vanish in float16, and skips steps whose
    gradients are not finite.

    The scale shrinks by `backoff_factor` after such a step and grows by `growth_factor` after
    `growth_interval` good ones.  A skipped step is logged to the logger "autograd_gpu".  Whether
    gradients are finite is the one thing that a step waits for the device to know.

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
        self._scale = float(init_scale)
        self._good = 0
        self._found: bool | None = None
        self._checked: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def get_scale(self) -> float:
        """The factor of losses."""
        return self._scale if self.enabled else 1.0

    def scale(self, loss: Variable) -> Variable:
        """`loss` times the scale; in float32 where it has a half type, which would overflow."""
        if not self.enabled:
            return loss
        if loss.dtype.itemsize == 2:
            loss = loss.astype("float32")
        if recorder.get() is None:
            return loss * self._scale
        # An array, so that nothing takes the number for a constant of the recorded step.
        (scale,) = live(lambda: (self._scale,))
        factor = Variable(backend_of(loss.value).asarray(scale, loss.dtype))
        return loss * factor

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients by the scale, before they are clipped for instance; once a step."""
        if not self.enabled:
            return
        if id(optimizer) in self._checked:
            raise RuntimeError("GradScaler: unscale_ was called twice without update")
        inverse = 1 / self._scale
        bad: dict[Any, Any] = {}
        params = [x for x in optimizer.parameters() if x.grad is not None]
        for x in params:  # before any is changed
            optimizer.check_grad(x, x.grad)
        for x in params:
            grad: Any = x.grad
            if not grad.size:
                continue
            backend = BACKENDS[type(grad)]
            place = (backend.name, str(backend.device(grad)))
            with near(grad):
                flag = _not_finite(backend.xp, grad)
                bad[place] = flag if place not in bad else bad[place] | flag
                if backend.is_shared(grad):
                    x.grad = grad * inverse
                else:
                    grad *= inverse
        try:
            found = any(bool(backend_of(flag).to_host(flag)) for flag in bad.values())
        except Exception as error:
            error.add_note("raised in GradScaler.unscale_, which waits to see the gradients")
            raise
        self._checked[id(optimizer)] = found
        self._found = found or bool(self._found)

    def step(self, optimizer: Optimizer) -> bool:
        """Step if all gradients are finite, unscaling them if that has not been done.

        Returns whether there was a step.
        """
        if not self.enabled:
            optimizer.step()
            return True
        if id(optimizer) in self._stepped:  # new gradients would not be unscaled
            raise RuntimeError("GradScaler: step was called twice without update")
        if id(optimizer) not in self._checked:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        if self._checked[id(optimizer)]:
            _log.warning(
                "GradScaler: a step was skipped, its gradients are not finite (scale %g)",
                self._scale,
            )
            return False
        optimizer.step()
        return True

    def update(self) -> None:
        """Change the scale by what the gradients of this step were; after all `step`s."""
        if not self.enabled:
            return
        if self._found is None:
            raise RuntimeError("GradScaler: update without a step or unscale_ before")
        if self._found:
            self._scale *= self.backoff_factor
            self._good = 0
        else:
            self._good += 1
            if self._good >= self.growth_interval:
                self._scale *= self.growth_factor
                self._good = 0
        self._found = None
        self._checked = {}
        self._stepped = set()

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {"scale": self._scale, "good": self._good}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        self._scale, self._good = float(state["scale"]), int(state["good"])


def _not_finite(xp: Any, grad: Any) -> Any:
    """A 0-d bool: extremes are not finite where any element is not, and need no array."""
    if grad.dtype.kind != "f":  # complex, or a half type whose extremes NumPy does not know
        return ~xp.all(xp.isfinite(grad))
    return ~(xp.isfinite(xp.max(grad)) & xp.isfinite(xp.min(grad)))
