"""Relatives of Adam: Adamax, NAdam, RAdam and LAMB, made of array operations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from autograd_gpu.backend import BACKENDS, Array
from autograd_gpu.optim.blocks import in_blocks
from autograd_gpu.optim.optimizer import Group, Optimizer
from autograd_gpu.optim.state import State
from autograd_gpu.variable import Variable

Parameters = Iterable[Variable] | Iterable[Mapping[str, Any]]


class _Moments(Optimizer):
    """Two running moments of the gradient, `m` and `v`, and the number of steps."""

    arrays = ("m", "v")

    def begin(self, x: Variable, state: State) -> int:
        """Make the moments at the first step; the number of this step, from 1 on."""
        if not state:
            xp = BACKENDS[type(x.value)].xp
            state.update(step=0, m=xp.zeros_like(x.value), v=xp.zeros_like(x.value))
        state["step"] += 1
        return state["step"]  # type: ignore[no-any-return]


def _move(m: Array, v: Array, g: Array, betas: tuple[float, float]) -> None:
    """Move the means `m` of gradients and `v` of their squares, in place."""
    m *= betas[0]
    m += (1 - betas[0]) * g
    v *= betas[1]
    v += (1 - betas[1]) * g * g


def _decayed(p: Array, g: Array, group: Group) -> Array:
    """The gradient with the weight decay, or, decoupled, `p` shrunk in place."""
    if not group["weight_decay"]:
        return g
    if group.get("decoupled_weight_decay"):
        p *= 1 - group["lr"] * group["weight_decay"]
        return g
    return g + group["weight_decay"] * p


class Adamax(_Moments):
    """Adam with the largest gradient, which fades, in place of the second moment (Kingma and Ba,
    2014), as PyTorch's Adamax."""

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

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        size = group["lr"] / (1 - beta1 ** self.begin(x, state))

        def update(xp: Any, p: Array, g: Array, m: Array, v: Array) -> None:
            g = _decayed(p, g, group)
            m *= beta1
            m += (1 - beta1) * g
            v *= beta2
            v[...] = xp.maximum(v, xp.abs(g) + group["eps"])
            p -= size * m / v

        in_blocks(update, x.writable(), grad, state["m"], state["v"])


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat, 2016), as PyTorch's NAdam.

    `weight_decay` is added to the gradient, or, with `decoupled_weight_decay`, shrinks the
    parameters.
    """

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
        if not group["momentum_decay"] >= 0:
            raise ValueError(f"NAdam: momentum_decay={group['momentum_decay']} is negative")

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        n, lr, betas = self.begin(x, state), group["lr"], group["betas"]
        now, following = (
            betas[0] * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (n, n + 1)
        )
        product = state["product"] = state.get("product", 1.0) * now
        of_grad, of_mean = (
            lr * (1 - now) / (1 - product),
            lr * following / (1 - product * following),
        )
        root = math.sqrt(1 - betas[1] ** n)

        def update(xp: Any, p: Array, g: Array, m: Array, v: Array) -> None:
            g = _decayed(p, g, group)
            _move(m, v, g, betas)
            p -= (of_grad * g + of_mean * m) / (xp.sqrt(v) / root + group["eps"])

        in_blocks(update, x.writable(), grad, state["m"], state["v"])


class RAdam(_Moments):
    """Adam without its second moment as long as that is uncertain (Liu et al., 2019), as PyTorch's
    RAdam.

    `weight_decay` is added to the gradient, or, with `decoupled_weight_decay`, shrinks the
    parameters.
    """

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

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        n, betas = self.begin(x, state), group["betas"]
        size = group["lr"] / (1 - betas[0] ** n)
        left = 1 - betas[1] ** n
        # how many gradients the second moment is the mean of, in the end and now
        most = 2 / (1 - betas[1]) - 1
        many = most - 2 * n * betas[1] ** n / left
        if many > 5:
            size *= math.sqrt(
                left * (many - 4) * (many - 2) * most / ((most - 4) * (most - 2) * many)
            )

        def update(xp: Any, p: Array, g: Array, m: Array, v: Array) -> None:
            g = _decayed(p, g, group)
            _move(m, v, g, betas)
            p -= size * m / (xp.sqrt(v) + group["eps"]) if many > 5 else size * m

        in_blocks(update, x.writable(), grad, state["m"], state["v"])


class LAMB(_Moments):
    """Adam whose step for each parameter is as long as the parameter itself, times `lr` (You et
    al., 2019): for very large batches.

    With r = m̂ / (sqrt(v̂) + eps) + weight_decay · x the step is lr · norm(x) / norm(r) · r, and
    lr · r where one of the norms is 0.
    """

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

    def update(self, x: Variable, grad: Array, state: State, group: Group) -> None:
        n, betas, eps = self.begin(x, state), group["betas"], group["eps"]
        left, root = 1 - betas[0] ** n, math.sqrt(1 - betas[1] ** n)
        xp = BACKENDS[type(grad)].xp
        direction = xp.empty_like(x.value)

        def update(xp: Any, p: Array, g: Array, m: Array, v: Array, r: Array) -> None:
            _move(m, v, g, betas)
            r[...] = m / left / (xp.sqrt(v) / root + eps) + group["weight_decay"] * p

        value = x.writable()
        in_blocks(update, value, grad, state["m"], state["v"], direction)
        norms = xp.linalg.vector_norm(value), xp.linalg.vector_norm(direction)
        # asked on the device, where nothing waits
        known = (norms[0] > 0) & (norms[1] > 0)
        ratio = xp.where(known, norms[0] / xp.where(known, norms[1], 1), 1)
        direction *= group["lr"] * ratio
        value -= direction
