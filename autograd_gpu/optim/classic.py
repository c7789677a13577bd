"""Adadelta and Rprop, made of array operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from autograd_gpu.backend import BACKENDS, Array
from autograd_gpu.optim.blocks import in_blocks
from autograd_gpu.optim.optimizer import Group, Optimizer
from autograd_gpu.optim.state import State
from autograd_gpu.variable import Variable

Parameters = Iterable[Variable] | Iterable[Mapping[str, Any]]


class Adadelta(Optimizer):
    """Steps in the parameters' own units, by running means of squares of gradients and of steps
    (Zeiler, 2012), as PyTorch's Adadelta."""

    arrays = ("square", "steps")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})

    def check(self, group: Group) -> None:
        super().check(group)
        if not 0 <= group["rho"] <= 1:
            raise ValueError(f"Adadelta: rho={group['rho']} must be in [0, 1]")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        if not state:
            xp = BACKENDS[type(grad)].xp
            state.update(square=xp.zeros_like(x.value), steps=xp.zeros_like(x.value))
        rho, eps = group["rho"], group["eps"]

        def update(xp: Any, p: Array, g: Array, square: Array, steps: Array) -> None:
            if group["weight_decay"]:
                g = g + group["weight_decay"] * p
            square *= rho
            square += (1 - rho) * g * g
            step = xp.sqrt(steps + eps) / xp.sqrt(square + eps) * g
            steps *= rho
            steps += (1 - rho) * step * step
            p -= group["lr"] * step

        in_blocks(update, x.writable(), grad, state["square"], state["steps"])


class Rprop(Optimizer):
    """Steps by the signs of gradients, for whole batches: each element's step grows by `etas[1]`
    while its sign stays, and shrinks by `etas[0]` where it turns (Riedmiller and Braun, 1993), as
    PyTorch's Rprop."""

    arrays = ("before", "size")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, defaults)

    def check(self, group: Group) -> None:
        super().check(group)
        if not 0 < group["etas"][0] < 1 < group["etas"][1]:
            raise ValueError(f"Rprop: etas={group['etas']} must be below and above 1")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        if not state:
            xp = BACKENDS[type(grad)].xp
            lr = group["lr"]
            if x.dtype.kind == "c":  # the parts are parameters of their own
                lr = complex(lr, lr)
            state.update(before=xp.zeros_like(x.value), size=xp.full_like(x.value, lr))
        (less, more), (least, most) = group["etas"], group["step_sizes"]

        def update(xp: Any, p: Array, g: Array, before: Array, size: Array) -> None:
            turn = g * before
            size *= xp.where(turn > 0, more, xp.where(turn < 0, less, 1.0)).astype(size.dtype)
            size[...] = xp.clip(size, least, most)
            before[...] = xp.where(turn < 0, 0, g)  # no step where the sign turned
            p -= xp.sign(before) * size

        in_blocks(update, x.writable(), grad, state["before"], state["size"])
