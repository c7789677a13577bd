"""Learning rates that go up and down: cosines that begin anew, one cycle, and many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.optim.schedules import (
    Schedule,
    cosine,
    curve_of,
    for_groups,
    not_replayed,
    positive,
)


class CosineAnnealingWarmRestarts(Schedule):
    """Half cosines down to `eta_min`, the first of `T_0` steps, each `T_mult` times as long as the
    one before (Loshchilov and Hutter, 2016)."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0
    ) -> None:
        positive("CosineAnnealingWarmRestarts", T_0=T_0, T_mult=T_mult)
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer)

    def step(self, epoch: float | None = None) -> None:
        """One step further, or to `epoch`, which may lie between two whole numbers."""
        if epoch is None:
            super().step()
            return
        not_replayed(f"{type(self).__name__}.step gets a number")
        self.steps = epoch  # type: ignore[assignment]
        self.apply()

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        length = self.T_0
        if self.T_mult == 1:
            n %= length
        while n >= length:
            n -= length
            length *= self.T_mult
        return cosine(initial, self.eta_min, n / length)


class OneCycleLR(Schedule):
    """Up to `max_lr` and down to nearly 0 in `total_steps`, or `epochs` · `steps_per_epoch`, steps
    (Smith and Topin, 2017).

    It begins at max_lr / div_factor, is highest after `pct_start` of the steps, and ends at that
    beginning over `final_div_factor`.  With `cycle_momentum` the momentum, or the first beta, goes
    from `max_momentum` to `base_momentum` and back.  With `three_phase` it goes down to the
    beginning in as many steps as up, and only then to the end.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "OneCycleLR: total_steps, or epochs and steps_per_epoch, is needed"
                )
            total_steps = epochs * steps_per_epoch
        positive("OneCycleLR", total_steps=total_steps)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start={pct_start} must be in [0, 1]")
        groups = optimizer.param_groups
        peaks = for_groups("OneCycleLR", optimizer, "max_lr", max_lr)
        self.total_steps = total_steps
        self.curve = curve_of("OneCycleLR", anneal_strategy)
        self.top, self.end = pct_start * total_steps - 1, total_steps - 1
        self.middle = 2 * pct_start * total_steps - 2 if three_phase else None
        self.momentum = (max_momentum, base_momentum) if cycle_momentum else None
        if cycle_momentum and not all(has_momentum(group) for group in groups):
            raise ValueError("OneCycleLR: cycle_momentum needs an optimizer with momentum or betas")
        self.div, self.final_div = div_factor, final_div_factor
        for group, peak in zip(groups, peaks, strict=True):
            group["lr"] = peak / div_factor
        super().__init__(optimizer)

    def _between(self, n: int, first: float, peak: float, last: float) -> float:
        if n <= self.top or self.end <= self.top:
            return self.curve(first, peak, n / self.top if self.top > 0 else 1.0)
        if self.middle is None:
            return self.curve(peak, last, (n - self.top) / (self.end - self.top))
        if n <= self.middle or self.end <= self.middle:
            return self.curve(peak, first, (n - self.top) / (self.middle - self.top))
        return self.curve(first, last, (n - self.middle) / (self.end - self.middle))

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        if n >= self.total_steps:
            raise ValueError(f"OneCycleLR: step {n + 1} of {self.total_steps}")
        return self._between(n, initial, initial * self.div, initial / self.final_div)

    def apply(self) -> None:
        super().apply()
        if self.momentum:
            high, low = self.momentum
            momentum = self._between(self.steps, high, low, high)
            set_momentum(self.optimizer, momentum)


class CyclicLR(Schedule):
    """Between `base_lr` and `max_lr`: up in `step_size_up` steps, and down in `step_size_down`, as
    many unless given (Smith, 2015).

    Parameters
    ----------
    mode
        'triangular'; 'triangular2', whose height halves with each cycle; or 'exp_range', whose
        height is multiplied by `gamma` at each step.
    scale_fn, scale_mode
        In place of a mode: the factor of the height, a function of the number of the cycle, from 1
        on ('cycle'), or of steps ('iterations').
    cycle_momentum
        Whether the momentum, or the first beta, goes from `max_momentum` to `base_momentum` as the
        learning rate goes up.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[int], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
    ) -> None:
        name = "CyclicLR"
        down = step_size_up if step_size_down is None else step_size_down
        positive(name, step_size_up=step_size_up, step_size_down=down)
        modes: dict[str, Callable[[int], float]] = {
            "triangular": lambda n: 1.0,
            "triangular2": lambda n: 0.5 ** (n - 1),
            "exp_range": lambda n: gamma**n,
        }
        if mode not in modes or scale_mode not in ("cycle", "iterations"):
            raise ValueError(
                f"{name}: mode is one of {tuple(modes)} and scale_mode 'cycle' or 'iterations', "
                f"not {mode!r} and {scale_mode!r}"
            )
        if cycle_momentum and not all(has_momentum(group) for group in optimizer.param_groups):
            raise ValueError(f"{name}: cycle_momentum needs an optimizer with momentum or betas")
        self.scale = modes[mode] if scale_fn is None else scale_fn
        self.by_cycle = scale_mode == "cycle" if scale_fn is not None else mode != "exp_range"
        self.up, self.total = step_size_up, step_size_up + down
        self.highest = for_groups(name, optimizer, "max_lr", max_lr)
        self.momentum = (max_momentum, base_momentum) if cycle_momentum else None
        lowest = for_groups(name, optimizer, "base_lr", base_lr)
        for group, lr in zip(optimizer.param_groups, lowest, strict=True):
            group["lr"] = lr
        super().__init__(optimizer)

    def _height(self, n: int) -> float:
        cycle, at = divmod(n, self.total)
        height = at / self.up if at <= self.up else (self.total - at) / (self.total - self.up)
        return height * self.scale(cycle + 1 if self.by_cycle else n)

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        lr: float = initial + (self.highest[group] - initial) * self._height(n)
        return lr

    def apply(self) -> None:
        super().apply()
        if self.momentum:
            high, low = self.momentum
            set_momentum(self.optimizer, high - (high - low) * self._height(self.steps))


def has_momentum(group: Mapping[str, Any]) -> bool:
    """Whether a group has a momentum, by itself or as the first beta."""
    return "betas" in group or bool(group.get("momentum"))


def set_momentum(optimizer: Optimizer, momentum: float) -> None:
    """Set the momentum of all groups, or the first beta."""
    for group in optimizer.param_groups:
        if "betas" in group:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum
