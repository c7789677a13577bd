"""RMSprop, Adagrad and Lion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.groups import Group
from autograd_gpu.optim.optimizer import Optimizer, Target
from autograd_gpu.optim.plans import Plan, counting
from autograd_gpu.optim.state import State, begun
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
        self.refuse_negative(group, "momentum")

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        buffer = "buffer" if group["momentum"] else ""
        average = "average" if group["centered"] else ""
        for t in targets:
            for name in ("square", buffer, average):
                if name:
                    begun(t.state, name, t.x)

        def options(states: Sequence[State]) -> dict[str, Any]:
            names = ("lr", "alpha", "eps", "weight_decay", "momentum")
            return {name: group[name] for name in names}

        self.steps("rmsprop", targets, ("square", buffer, average), options)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        RMSprop.update_all(self, [Target(x, grad, state)], group)


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
        self.refuse_negative(group, "lr_decay", "initial_accumulator_value")

    def plan(self, group: Group) -> Plan:
        names = ("lr", "lr_decay", "eps", "weight_decay")
        options = counting(lambda: {name: group[name] for name in names})
        return Plan("adagrad", ("sum",), options, is_counted=True)

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            start = group["initial_accumulator_value"]
            if t.x.dtype.kind == "c":  # the parts are parameters of their own
                start = complex(start, start)
            begun(t.state, "sum", t.x, start)
        self.counted(Adagrad.plan(self, group), targets)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        Adagrad.update_all(self, [Target(x, grad, state)], group)


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

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            begun(t.state, "m", t.x)

        def options(states: Sequence[State]) -> dict[str, Any]:
            beta1, beta2 = group["betas"]
            return {
                "lr": group["lr"],
                "beta1": beta1,
                "beta2": beta2,
                "weight_decay": group["weight_decay"],
            }

        self.steps("lion", targets, ("m",), options)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        Lion.update_all(self, [Target(x, grad, state)], group)
