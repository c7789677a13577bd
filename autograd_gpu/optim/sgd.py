"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from autograd_gpu.backend import BACKENDS, Array
from autograd_gpu.optim.optimizer import Group, Optimizer, State
from autograd_gpu.variable import Variable


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for; the arguments and steps of PyTorch's SGD.

    >>> x = Variable([1.0], requires_grad=True)
    >>> optimizer = SGD([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [0.800000011920929]
    """

    arrays = ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable[Variable] | Iterable[Mapping[str, Any]],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def check(self, group: Group) -> None:
        super().check(group)
        if not group["momentum"] >= 0:
            raise ValueError(f"SGD: momentum={group['momentum']} is negative")
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            raise ValueError("SGD: nesterov needs a momentum and no dampening")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        backend = BACKENDS[type(grad)]
        buffer = None
        first = False
        if group["momentum"]:
            first = "momentum_buffer" not in state
            if first:
                state["momentum_buffer"] = backend.xp.zeros_like(x.value)
            buffer = state["momentum_buffer"]
        backend.sgd_step(
            x.writable(),
            grad,
            buffer,
            lr=group["lr"],
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=group["weight_decay"],
            nesterov=group["nesterov"],
            first=first,
        )
