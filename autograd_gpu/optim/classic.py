"""Adadelta and Rprop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.groups import Group
from autograd_gpu.optim.optimizer import Optimizer, Target
from autograd_gpu.optim.state import State, begun
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

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            begun(t.state, "square", t.x)
            begun(t.state, "steps", t.x)

        def options(states: Sequence[State]) -> dict[str, Any]:
            return {name: group[name] for name in ("lr", "rho", "eps", "weight_decay")}

        self.steps("adadelta", targets, ("square", "steps"), options)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        Adadelta.update_all(self, [Target(x, grad, state)], group)


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

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            lr = group["lr"]
            begun(t.state, "before", t.x)
            # the parts of complex numbers are parameters of their own
            begun(t.state, "size", t.x, complex(lr, lr) if t.x.dtype.kind == "c" else lr)

        def options(states: Sequence[State]) -> dict[str, Any]:
            (less, more), (least, most) = group["etas"], group["step_sizes"]
            return {"less": less, "more": more, "least": least, "most": most}

        self.steps("rprop", targets, ("before", "size"), options)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        Rprop.update_all(self, [Target(x, grad, state)], group)
