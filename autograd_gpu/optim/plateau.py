"""A learning rate that falls when nothing improves any more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autograd_gpu.callers import require_keys
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.optim.schedules import for_groups, not_replayed, same_groups


class ReduceLROnPlateau:
    """Multiplies the learning rate by `factor` when a metric has not improved for more than
    `patience` steps.

    It improves, for mode 'min', when it is below the best by `threshold`, relative to that or
    absolute ('rel', 'abs').  After a change `cooldown` steps do not count.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if not 0 < factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor={factor} must be in (0, 1)")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode is 'min' or 'max', threshold_mode 'rel' or 'abs', not "
                f"{mode!r} and {threshold_mode!r}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.least = for_groups("ReduceLROnPlateau", optimizer, "min_lr", min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.bad = self.cooling = 0

    def step(self, metric: Any) -> None:
        """Tell the newest value of the metric, a number; one on a GPU is waited for."""
        not_replayed("ReduceLROnPlateau.step gets a number")
        value = float(metric.item() if hasattr(metric, "item") else metric)
        if self._is_better(value):
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.cooling:
            self.cooling -= 1
            self.bad = 0
        if self.bad > self.patience:
            for group, least in same_groups("ReduceLROnPlateau", self.optimizer, self.least):
                lr = max(group["lr"] * self.factor, least)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr
            self.cooling, self.bad = self.cooldown, 0

    def _is_better(self, value: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs" or math.isinf(self.best):
            return sign * value > sign * self.best + self.threshold
        return sign * value > sign * self.best * (1 + sign * self.threshold)

    def get_last_lr(self) -> list[float]:
        """The learning rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {"best": self.best, "bad": self.bad, "cooling": self.cooling}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        require_keys("ReduceLROnPlateau", state, ("best", "bad", "cooling"))
        self.best, self.bad, self.cooling = state["best"], state["bad"], state["cooling"]
