"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.blocks import in_blocks
from autograd_gpu.optim.optimizer import Group, Optimizer, Target
from autograd_gpu.optim.state import State, begun
from autograd_gpu.variable import Variable


class Adam(Optimizer):
    """Steps scaled by running moments of the gradient (Kingma and Ba, 2014), as PyTorch's Adam.

    `weight_decay` is added to the gradient.  With `amsgrad` the largest second moment so far counts
    (Reddi et al., 2018).
    """

    arrays = ("m", "v", "largest")
    decoupled = False

    def __init__(
        self,
        params: Iterable[Variable] | Iterable[Mapping[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        for t in targets:
            if "step" not in t.state:
                begun(t.state, "m", t.x)
                begun(t.state, "v", t.x)
                t.state["step"] = 0
        if group["amsgrad"]:
            self.each_alone(self._amsgrad, targets, group)
            return

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

    def _amsgrad(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        state["step"] += 1
        beta1, beta2 = group["betas"]
        root = math.sqrt(1 - beta2 ** state["step"])
        size = group["lr"] / (1 - beta1 ** state["step"])
        decay, eps = group["weight_decay"], group["eps"]
        begun(state, "largest", x)

        def update(xp: Any, p: Array, g: Array, m: Array, v: Array, largest: Array) -> None:
            if decay and self.decoupled:
                p *= 1 - group["lr"] * decay
            elif decay:
                g = g + decay * p
            m *= beta1
            m += (1 - beta1) * g
            v *= beta2
            v += (1 - beta2) * g * g
            largest[...] = xp.maximum(largest, v)
            p -= size * m / (xp.sqrt(largest) / root + eps)

        in_blocks(update, x.writable(), grad, state["m"], state["v"], state["largest"])


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
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
