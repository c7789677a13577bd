"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.optim.groups import Group, moment_options
from autograd_gpu.optim.optimizer import Optimizer, Target
from autograd_gpu.optim.plans import Plan, counting
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

    def plan(self, group: Group) -> Plan:
        largest = ("largest",) if group["amsgrad"] else ()
        options = {"decoupled": self.decoupled}
        return Plan(
            "amsgrad" if largest else "adam",
            ("m", "v", *largest),
            counting(lambda: moment_options(group) | options),
            is_counted=True,
        )

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        plan = Adam.plan(self, group)
        for t in targets:
            if "step" not in t.state:
                begun(t.state, "m", t.x)
                begun(t.state, "v", t.x)
            if group["amsgrad"]:
                begun(t.state, "largest", t.x)
        self.counted(plan, targets)

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
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
