"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.groups import Group
from autograd_gpu.optim.optimizer import Optimizer, Target
from autograd_gpu.optim.plans import Plan
from autograd_gpu.optim.state import State, begun
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
        self.refuse_negative(group, "momentum")
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            raise ValueError("SGD: nesterov needs a momentum and no dampening")

    def plan(self, group: Group, first: Container[int] = ()) -> Plan:
        """`first` are the ids of states whose momentum begins with this step."""

        def options(states: Sequence[State]) -> dict[str, Any]:
            return {
                "lr": group["lr"],
                "momentum": group["momentum"],
                "dampening": group["dampening"],
                "weight_decay": group["weight_decay"],
                "nesterov": group["nesterov"],
                "first": id(states[0]) in first,
            }

        return Plan("sgd", ("momentum_buffer" if group["momentum"] else "",), options)

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        first: set[int] = set()
        for t in targets if group["momentum"] else ():
            if "momentum_buffer" not in t.state:
                begun(t.state, "momentum_buffer", t.x)
                first.add(id(t.state))
        plan = SGD.plan(self, group, first)
        by = (lambda state: id(state) in first) if first else None
        self.steps(plan.name, targets, plan.states, plan.options, by)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        SGD.update_all(self, [Target(x, grad, state)], group)
