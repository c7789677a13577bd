"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.optimizer import Group, Optimizer, State, Target, begun
from autograd_gpu.variable import Variable


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient (Kingma and Ba, 2014), as PyTorch's Adam.

    `weight_decay` is added to the gradient.
    """

    decoupled = False

    def __init__(
        self,
        params: Iterable[Variable] | Iterable[Mapping[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def check(self, group: Group) -> None:
        super().check(group)
        if not all(0 <= beta < 1 for beta in group["betas"]):
            raise ValueError(f"{type(self).__name__}: betas={group['betas']} must be in [0, 1)")

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            begun(t.state, "m", t.x)
            begun(t.state, "v", t.x)
            t.state.setdefault("step", 0)

        def options(states: Sequence[State]) -> dict[str, Any]:
            for state in states:
                state["step"] += 1
            beta1, beta2 = group["betas"]
            return {
                "lr": group["lr"],
                "beta1": beta1,
                "beta2": beta2,
                "eps": group["eps"],
                "weight_decay": group["weight_decay"],
                "decoupled": self.decoupled,
                "step": states[0]["step"],
            }

        self.steps("adam", targets, ("m", "v"), options, by=lambda state: state["step"])

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        Adam.update_all(self, [Target(x, grad, state)], group)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves (Loshchilov and Hutter, 2017)."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Variable] | Iterable[Mapping[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
