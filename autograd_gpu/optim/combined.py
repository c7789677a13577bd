"""Schedules made of others: one after the other, or all at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from autograd_gpu.callers import require_keys
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.optim.schedules import Schedule, curve_of, for_groups, on_the_host, positive


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
        on_the_host(self, self._advance)

    def _advance(self) -> None:
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
        require_keys("SequentialLR", state, ("steps", "schedules"))
        if len(state["schedules"]) != len(self.schedulers):
            raise ValueError(
                f"SequentialLR: the state is of {len(state['schedules'])} schedules, here are "
                f"{len(self.schedulers)}"
            )
        for schedule, inner in zip(self.schedulers, state["schedules"], strict=True):
            schedule.load_state_dict(inner)
        self.steps = state["steps"]
        self.schedulers[sum(mark <= self.steps for mark in self.milestones)].apply()


class ChainedScheduler(Schedule):
    """Several schedules at once: each multiplies the initial learning rate by its factor."""

    def __init__(self, schedulers: Sequence[Schedule], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: there are no schedules")
        first = schedulers[0]
        if any(s.optimizer is not (optimizer or first.optimizer) for s in schedulers):
            raise ValueError("ChainedScheduler: a schedule is of another optimizer")
        self.schedulers = list(schedulers)
        for schedule in self.schedulers:  # each has changed what the one before left
            schedule.initial = list(first.initial)
        for group, lr in zip(first.optimizer.param_groups, first.initial, strict=True):
            group["lr"] = lr
        super().__init__(first.optimizer)

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        if not initial:
            return 0.0
        return initial * math.prod(s.rate(initial, n, group) / initial for s in self.schedulers)


class SWALR(Schedule):
    """From the learning rate of now to `swa_lr` in `anneal_epochs` steps, and no further: for the
    epochs whose parameters `SWA` averages."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
    ) -> None:
        positive("SWALR", anneal_epochs=anneal_epochs)
        self.goals = for_groups("SWALR", optimizer, "swa_lr", swa_lr)
        self.anneal_epochs, self.curve = anneal_epochs, curve_of("SWALR", anneal_strategy)
        super().__init__(optimizer)

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        return self.curve(
            initial, self.goals[group], min(n, self.anneal_epochs) / self.anneal_epochs
        )
