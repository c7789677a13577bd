"""Relatives of Adam: Adamax, NAdam, RAdam and LAMB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from autograd_gpu.backend import Array
from autograd_gpu.optim.groups import Group, moment_options
from autograd_gpu.optim.optimizer import Optimizer, Target
from autograd_gpu.optim.plans import Plan, counting
from autograd_gpu.optim.state import State, begun
from autograd_gpu.variable import Variable

Parameters = Iterable[Variable] | Iterable[Mapping[str, Any]]


class _Moments(Optimizer):
    """Two running moments of the gradient, `m` and `v`, and the number of steps.

    `kernel` is the backend's step, which takes Adam's options and `more` of them.
    """

    arrays = ("m", "v")
    kernel: ClassVar[str]
    more: ClassVar[dict[str, str]] = {}
    """The names of the group's options by those of the step's."""

    def plan(self, group: Group) -> Plan:
        def options() -> dict[str, Any]:
            return moment_options(group) | {name: group[own] for name, own in self.more.items()}

        return Plan(self.kernel, self.arrays, counting(options), is_counted=True)

    def update_all(self, targets: Sequence[Target], group: Group) -> None:
        plan = _Moments.plan(self, group)
        for t in targets:
            for name in plan.states:
                begun(t.state, name, t.x)
        self.counted(plan, targets)

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        _Moments.update_all(self, [Target(x, grad, state)], group)


class Adamax(_Moments):
    """Adam with the largest gradient, which fades, in place of the second moment (Kingma and Ba,
    2014), as PyTorch's Adamax."""

    kernel = "adamax"

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2016), as PyTorch's NAdam.

    `weight_decay` is added to the gradient, or, with `decoupled_weight_decay`, shrinks the
    parameters.
    """

    kernel = "nadam"
    more: ClassVar[dict[str, str]] = {
        "decoupled": "decoupled_weight_decay",
        "momentum_decay": "momentum_decay",
    }

    def __init__(
        self,
        params: Parameters,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
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
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
            },
        )

    def check(self, group: Group) -> None:
        super().check(group)
        self.refuse_negative(group, "momentum_decay")


class RAdam(_Moments):
    """Adam without its second moment as long as that is uncertain (Liu et al., 2019), as PyTorch's
    RAdam.

    `weight_decay` is added to the gradient, or, with `decoupled_weight_decay`, shrinks the
    parameters.
    """

    kernel = "radam"
    more: ClassVar[dict[str, str]] = {"decoupled": "decoupled_weight_decay"}

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
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
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
            },
        )


class LAMB(_Moments):
    """Adam whose step for each parameter is as long as the parameter itself, times `lr` (You et
    al., 2019): for very large batches.

    With r = m̂ / (sqrt(v̂) + eps) + weight_decay · x the step is lr · norm(x) / norm(r) · r, and
    lr · r where one of the norms is 0.
    """

    kernel = "lamb"

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})
