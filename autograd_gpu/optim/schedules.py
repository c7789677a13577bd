"""Learning rates that change over time, with PyTorch's names and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.callers import require_keys
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.recorder import recorder

Factor = Callable[[int], float]


class Schedule:
    """The base of schedules: a subclass says in `rate` what a group has after n calls of `step`."""

    def __init__(self, optimizer: Optimizer) -> None:
        _check(type(self).__name__, optimizer)
        self.optimizer = optimizer
        self.initial = [group["lr"] for group in optimizer.param_groups]
        self.steps = -1
        self.step()

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        """The learning rate after `n` steps of the group of that number, which began with
        `initial`."""
        raise NotImplementedError

    def step(self) -> None:
        """One step further."""
        on_the_host(self, self._advance)

    def _advance(self) -> None:
        self.steps += 1
        self.apply()

    def apply(self) -> None:
        """Set the learning rates of now."""
        groups = same_groups(type(self).__name__, self.optimizer, self.initial)
        for i, (group, initial) in enumerate(groups):
            group["lr"] = self.rate(initial, self.steps, i)

    def get_last_lr(self) -> list[float]:
        """The learning rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {"steps": self.steps, "initial": list(self.initial)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        require_keys(type(self).__name__, state, ("steps", "initial"))
        if len(state["initial"]) != len(self.optimizer.param_groups):
            raise ValueError(
                f"{type(self).__name__}: the state is of {len(state['initial'])} groups, here are "
                f"{len(self.optimizer.param_groups)}"
            )
        self.steps, self.initial = state["steps"], list(state["initial"])
        self.apply()


class LambdaLR(Schedule):
    """Multiplies the initial learning rates by `lr_lambda(n)` after n calls of `step`; or by one of
    several, a function for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor]) -> None:
        self.factors = for_groups(type(self).__name__, optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer)

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        factor: float = self.factors[group](n)
        return initial * factor


class MultiplicativeLR(LambdaLR):
    """Multiplies the learning rates of now by `lr_lambda(n)` at the nth call of `step`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor]) -> None:
        many = for_groups("MultiplicativeLR", optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer, [_running_product(factor) for factor in many])


class StepLR(LambdaLR):
    """Multiplies the learning rate by `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        positive("StepLR", step_size=step_size)
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


class ConstantLR(LambdaLR):
    """Multiplies the learning rate by `factor` for the first `total_iters` steps."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        super().__init__(optimizer, lambda n: factor if n < total_iters else 1.0)


class PolynomialLR(LambdaLR):
    """Lowers the learning rate to 0 in `total_iters` steps, as (1 - n / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0) -> None:
        positive("PolynomialLR", total_iters=total_iters)
        super().__init__(optimizer, lambda n: (1 - min(n, total_iters) / total_iters) ** power)


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
        positive("LinearLR", total_iters=total_iters)
        rise = end_factor - start_factor
        super().__init__(
            optimizer, lambda n: start_factor + rise * min(n, total_iters) / total_iters
        )


class CosineAnnealingLR(Schedule):
    """Lowers the learning rate to `eta_min` along half a cosine, in `T_max` steps."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        positive("CosineAnnealingLR", T_max=T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, initial: float, n: int, group: int = 0) -> float:
        return cosine(initial, self.eta_min, min(n, self.T_max) / self.T_max)


def on_the_host(schedule: Any, advance: Callable[[], None]) -> None:
    """`advance()`, a step of a schedule or of several: it is called in every replay of a step."""
    watcher = recorder.get()
    if watcher is not None and watcher.by_update:
        watcher.update(lambda none: advance(), ())
        return
    not_replayed(f"{type(schedule).__name__}.step changes numbers of the host")
    advance()


def not_replayed(what: str) -> None:
    """Refuse to be part of a recorded step."""
    watcher = recorder.get()
    if watcher is not None:
        watcher.refuse(f"{what}; call it outside of the compiled step")


def _check(name: str, optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{name}: an Optimizer is needed, not {type(optimizer).__name__}")


def for_groups(name: str, optimizer: Optimizer, option: str, given: Any) -> list[Any]:
    """One for each group, or `given` for all."""
    _check(name, optimizer)
    many = list(given) if isinstance(given, (tuple, list)) else [given]
    groups = len(optimizer.param_groups)
    many = many * groups if len(many) == 1 else many
    if len(many) != groups:
        raise ValueError(f"{name}: {len(many)} {option} for {groups} groups")
    return many


def same_groups(name: str, optimizer: Optimizer, each: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each group with what a schedule keeps for it; ValueError if groups came or went since."""
    groups = optimizer.param_groups
    if len(groups) != len(each):
        raise ValueError(
            f"{name}: the optimizer had {len(each)} groups of parameters when this schedule was "
            f"made, and has {len(groups)} now; make a new schedule"
        )
    return list(zip(groups, each, strict=True))


def _running_product(factor: Factor) -> Factor:
    products = [1.0]

    def product(n: int) -> float:
        while len(products) <= n:
            products.append(products[-1] * factor(len(products)))
        return products[n]

    return product


def cosine(start: float, end: float, part: float) -> float:
    """From `start` to `end` along half a cosine, as `part` goes from 0 to 1."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def line(start: float, end: float, part: float) -> float:
    """From `start` to `end` along a line."""
    return start + (end - start) * part


def curve_of(name: str, anneal_strategy: str) -> Callable[[float, float, float], float]:
    """`cosine` or `line`, by PyTorch's names."""
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(f"{name}: anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
    return cosine if anneal_strategy == "cos" else line


def positive(name: str, **numbers: int) -> None:
    """ValueError unless all of them are."""
    for option, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name}: {option}={value} must be positive")
