"""Learning rates that change over time, with PyTorch's names and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.optim.optimizer import Optimizer


class Schedule:
    """The base of schedules: a subclass says in `rate` what a group has after n calls of `step`."""

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}: an Optimizer is needed, not {type(optimizer).__name__}"
            )
        self.optimizer = optimizer
        self.initial = [group["lr"] for group in optimizer.param_groups]
        self.steps = -1
        self.step()

    def rate(self, initial: float, n: int) -> float:
        """The learning rate after `n` steps of a group that began with `initial`."""
        raise NotImplementedError

    def step(self) -> None:
        """One step further."""
        self.steps += 1
        self.apply()

    def apply(self) -> None:
        """Set the learning rates of now."""
        for group, initial in zip(self.optimizer.param_groups, self.initial, strict=True):
            group["lr"] = self.rate(initial, self.steps)

    def get_last_lr(self) -> list[float]:
        """The learning rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {"steps": self.steps, "initial": list(self.initial)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        if len(state["initial"]) != len(self.optimizer.param_groups):
            raise ValueError(
                f"{type(self).__name__}: the state is of {len(state['initial'])} groups, here are "
                f"{len(self.optimizer.param_groups)}"
            )
        self.steps, self.initial = state["steps"], list(state["initial"])
        self.apply()


class LambdaLR(Schedule):
    """Multiplies the initial learning rates by `factor(n)` after n calls of `step`."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        self.factor = factor
        super().__init__(optimizer)

    def rate(self, initial: float, n: int) -> float:
        return initial * self.factor(n)


class StepLR(LambdaLR):
    """Multiplies the learning rate by `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        _positive("StepLR", step_size=step_size)
        super().__init__(optimizer, lambda n: gamma ** (n // step_size))


class MultiStepLR(LambdaLR):
    """Multiplies the learning rate by `gamma` at each of `milestones`, numbers of steps."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1) -> None:
        marks = sorted(milestones)
        super().__init__(optimizer, lambda n: gamma ** sum(mark <= n for mark in marks))


class ExponentialLR(LambdaLR):
    """Multiplies the learning rate by `gamma` at every step."""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer, lambda n: gamma**n)


class LinearLR(LambdaLR):
    """From `start_factor` to `end_factor` times the learning rate in `total_iters` steps: a
    warm-up."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
    ) -> None:
        _positive("LinearLR", total_iters=total_iters)
        rise = end_factor - start_factor
        super().__init__(
            optimizer, lambda n: start_factor + rise * min(n, total_iters) / total_iters
        )


class CosineAnnealingLR(Schedule):
    """Lowers the learning rate to `eta_min` along half a cosine, in `T_max` steps."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        _positive("CosineAnnealingLR", T_max=T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, initial: float, n: int) -> float:
        return _cosine(initial, self.eta_min, min(n, self.T_max) / self.T_max)


class CosineAnnealingWarmRestarts(Schedule):
    """Half cosines down to `eta_min`, the first of `T_0` steps, each `T_mult` times as long as the
    one before (Loshchilov and Hutter, 2016)."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0
    ) -> None:
        _positive("CosineAnnealingWarmRestarts", T_0=T_0, T_mult=T_mult)
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer)

    def rate(self, initial: float, n: int) -> float:
        length = self.T_0
        if self.T_mult == 1:
            n %= length
        while n >= length:
            n -= length
            length *= self.T_mult
        return _cosine(initial, self.eta_min, n / length)


class OneCycleLR(Schedule):
    """Up to `max_lr` and down to nearly 0 in `total_steps` steps (Smith and Topin, 2017).

    It begins at max_lr / div_factor, is highest after `pct_start` of the steps, and ends at that
    beginning over `final_div_factor`.  With `cycle_momentum` the momentum, or the first beta, goes
    from `max_momentum` to `base_momentum` and back.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        _positive("OneCycleLR", total_steps=total_steps)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start={pct_start} must be in [0, 1]")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}"
            )
        groups = optimizer.param_groups
        peaks: list[Any] = list(max_lr) if isinstance(max_lr, (tuple, list)) else [max_lr]
        peaks = peaks * len(groups) if len(peaks) == 1 else peaks
        if len(peaks) != len(groups):
            raise ValueError(f"OneCycleLR: {len(peaks)} max_lr for {len(groups)} groups")
        self.total_steps = total_steps
        self.curve = _cosine if anneal_strategy == "cos" else _line
        self.top, self.end = pct_start * total_steps - 1, total_steps - 1
        self.momentum = (max_momentum, base_momentum) if cycle_momentum else None
        if cycle_momentum and not all(_has_momentum(group) for group in groups):
            raise ValueError("OneCycleLR: cycle_momentum needs an optimizer with momentum or betas")
        self.div, self.final_div = div_factor, final_div_factor
        for group, peak in zip(groups, peaks, strict=True):
            group["lr"] = peak / div_factor
        super().__init__(optimizer)

    def _between(self, n: int, first: float, peak: float, last: float) -> float:
        if n <= self.top or self.end <= self.top:
            return self.curve(first, peak, n / self.top if self.top > 0 else 1.0)
        return self.curve(peak, last, (n - self.top) / (self.end - self.top))

    def rate(self, initial: float, n: int) -> float:
        if n >= self.total_steps:
            raise ValueError(f"OneCycleLR: step {n + 1} of {self.total_steps}")
        return self._between(n, initial, initial * self.div, initial / self.final_div)

    def apply(self) -> None:
        super().apply()
        if self.momentum:
            high, low = self.momentum
            momentum = self._between(self.steps, high, low, high)
            for group in self.optimizer.param_groups:
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum


class SequentialLR:
    """One schedule after the other, the next from each of `milestones` on: a warm-up and then a
    decay, for instance."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Schedule], milestones: Sequence[int]
    ) -> None:
        if len(milestones) != len(schedulers) - 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} growing "
                f"milestones, not {list(milestones)}"
            )
        if any(schedule.optimizer is not optimizer for schedule in schedulers):
            raise ValueError("SequentialLR: a schedule is of another optimizer")
        self.optimizer, self.schedulers = optimizer, list(schedulers)
        self.milestones = list(milestones)
        self.steps = 0
        # each has multiplied what the one before made of the learning rate
        for schedule in self.schedulers:
            schedule.initial = list(self.schedulers[0].initial)
        self.schedulers[0].apply()

    def step(self) -> None:
        """One step further."""
        self.steps += 1
        at = sum(mark <= self.steps for mark in self.milestones)
        schedule = self.schedulers[at]
        if at and self.steps == self.milestones[at - 1]:
            schedule.steps = 0
            schedule.apply()
        else:
            schedule.step()

    def get_last_lr(self) -> list[float]:
        """The learning rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {"steps": self.steps, "schedules": [s.state_dict() for s in self.schedulers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        for schedule, inner in zip(self.schedulers, state["schedules"], strict=True):
            schedule.load_state_dict(inner)
        self.steps = state["steps"]
        self.schedulers[sum(mark <= self.steps for mark in self.milestones)].apply()


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
        min_lr: float = 0.0,
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
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.bad = self.cooling = 0

    def step(self, metric: Any) -> None:
        """Tell the newest value of the metric, a number; one on a GPU is waited for."""
        value = float(metric.item() if hasattr(metric, "item") else metric)
        if self._is_better(value):
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.cooling:
            self.cooling -= 1
            self.bad = 0
        if self.bad > self.patience:
            for group in self.optimizer.param_groups:
                lr = max(group["lr"] * self.factor, self.min_lr)
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
        self.best, self.bad, self.cooling = state["best"], state["bad"], state["cooling"]


def _cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def _line(start: float, end: float, part: float) -> float:
    return start + (end - start) * part


def _has_momentum(group: Mapping[str, Any]) -> bool:
    return "betas" in group or bool(group.get("momentum"))


def _positive(name: str, **numbers: int) -> None:
    for option, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name}: {option}={value} must be positive")
