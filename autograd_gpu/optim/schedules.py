"""Learning rates that change over time."""

from __future__ import annotations

import math
from collections.abc import Callable

from autograd_gpu.optim.optimizer import Optimizer


class LambdaLR:
    """Multiplies the initial learning rates by `factor(n)` after n calls of `step`."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        self.optimizer = optimizer
        self.factor = factor
        self.initial = [group["lr"] for group in optimizer.param_groups]
        self.steps = -1
        self.step()

    def step(self) -> None:
        """One step further."""
        self.steps += 1
        for group, lr in zip(self.optimizer.param_groups, self.initial, strict=True):
            group["lr"] = lr * self.factor(self.steps)


class StepLR(LambdaLR):
    """Multiplies the learning rate by `gamma` every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, lambda n: gamma ** (n // step_size))


class CosineAnnealingLR(LambdaLR):
    """Lowers the learning rate to 0 along half a cosine, in `T_max` steps."""

    def __init__(self, optimizer: Optimizer, T_max: int) -> None:
        super().__init__(optimizer, lambda n: (1 + math.cos(math.pi * min(n, T_max) / T_max)) / 2)
