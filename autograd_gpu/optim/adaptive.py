"""RMSprop, Adagrad and Lion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from autograd_gpu.backend import BACKENDS, Array
from autograd_gpu.optim.optimizer import Group, Optimizer, State
from autograd_gpu.variable import Variable

Parameters = Iterable[Variable] | Iterable[Mapping[str, Any]]


class RMSprop(Optimizer):
    """Steps over the root of a running mean of squares (Hinton, 2012), as PyTorch's RMSprop.

    `centered` subtracts the square of the running mean first; `weight_decay` is added to the
    gradient.
    """

    arrays = ("square", "buffer", "average")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "maximize": maximize,
            },
        )

    def check(self, group: Group) -> None:
        super().check(group)
        if not 0 <= group["alpha"] < 1:
            raise ValueError(f"RMSprop: alpha={group['alpha']} must be in [0, 1)")
        if not group["momentum"] >= 0:
            raise ValueError(f"RMSprop: momentum={group['momentum']} is negative")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        backend = BACKENDS[type(grad)]
        wanted = {"square": True, "buffer": group["momentum"], "average": group["centered"]}
        for name, is_wanted in wanted.items():
            if is_wanted and name not in state:
                state[name] = backend.xp.zeros_like(x.value)
        backend.rmsprop_step(
            x.writable(),
            grad,
            state["square"],
            state["buffer"] if group["momentum"] else None,
            state["average"] if group["centered"] else None,
            lr=group["lr"],
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
        )


class Adagrad(Optimizer):
    """Steps over the root of the sum of all squares (Duchi et al., 2011), as PyTorch's Adagrad."""

    arrays = ("sum",)

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "eps": eps,
                "maximize": maximize,
            },
        )

    def check(self, group: Group) -> None:
        super().check(group)
        for option in ("lr_decay", "initial_accumulator_value"):
            if not group[option] >= 0:
                raise ValueError(f"Adagrad: {option}={group[option]} is negative")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        backend = BACKENDS[type(grad)]
        if not state:
            state["step"] = 0
            start = group["initial_accumulator_value"]
            if x.dtype.kind == "c":  # the parts are parameters of their own
                start = complex(start, start)
            state["sum"] = backend.xp.full_like(x.value, start)
        lr = group["lr"] / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        backend.adagrad_step(
            x.writable(),
            grad,
            state["sum"],
            lr=lr,
            eps=group["eps"],
            weight_decay=group["weight_decay"],
        )


class Lion(Optimizer):
    """Steps of equal size, by the sign of a running mean of gradients (Chen et al., 2023).

    A tenth of AdamW's learning rate and ten times its weight decay are a good start.
    """

    arrays = ("m",)

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize}
        )

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        backend = BACKENDS[type(grad)]
        if not state:
            state["m"] = backend.xp.zeros_like(x.value)
        beta1, beta2 = group["betas"]
        backend.lion_step(
            x.writable(),
            grad,
            state["m"],
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
        )
