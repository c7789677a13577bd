"""Products with the Jacobian and the Hessian of a network of two tanh layers, and these as a whole.

PyTorch has several ways to each of them; the rows take the fastest: dual numbers and gradients of
gradients for the products, `torch.func` for the matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from programs import Step, ag, hips, jax, torch
from rows import Data, Row, normal


class Transform(Row):
    """tanh(V tanh(W x + b)), or the sum of its squares."""

    family = "transforms"
    mode = "call"
    left_out = MappingProxyType(
        {
            "mygrad": "has first derivatives only",
            "torch_compile": "compiles forwards, not what transforms make of them",
        }
    )

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, k = (4, 5) if small else (64, 128)
        return Data(
            x=normal(rng, dtype, n),
            v=normal(rng, dtype, n),
            w1=normal(rng, dtype, k, n) / dtype(n**0.5),
            b=normal(rng, dtype, k),
            w2=normal(rng, dtype, n, k) / dtype(k**0.5),
        )


def network(xp: Any, d: Data) -> Callable[[Any], Any]:
    return lambda x: xp.tanh(d.w2 @ xp.tanh(d.w1 @ x + d.b))


def loss(xp: Any, d: Data) -> Callable[[Any], Any]:
    f = network(xp, d)
    return lambda x: xp.sum(f(x) ** 2)


def second_derivative(d: Data, du: np.ndarray) -> np.ndarray:
    """The Hessian of the loss times what `du` is W times: a vector [N, 1], or all of them."""
    h = np.tanh(d.w1 @ d.x + d.b)[:, None]
    y = np.tanh(d.w2 @ h)
    slope, q = 1 - h * h, 2 * y * (1 - y * y)
    dh = slope * du
    dq = (2 - 6 * y * y) * (1 - y * y) * (d.w2 @ dh)
    dp = (d.w2.T @ dq) * slope - 2 * (d.w2.T @ q) * h * dh
    return d.w1.T @ dp


class JacobianVectorProduct(Transform):
    name = "Jacobian-vector product, network 64-128-64"
    leaves = ("x", "v")

    def by_hand(self, d: Data) -> Step:
        def step() -> list[np.ndarray]:
            h = np.tanh(d.w1 @ d.x + d.b)
            y = np.tanh(d.w2 @ h)
            return [(1 - y * y) * (d.w2 @ ((1 - h * h) * (d.w1 @ d.v)))]

        return step

    def ours(self, d: Data, x: Any, v: Any) -> Any:
        return ag.jvp(network(ag, d), x, v)[1]

    def torch(self, d: Data, x: Any, v: Any) -> Any:
        with torch.autograd.forward_ad.dual_level():
            y = network(torch, d)(torch.autograd.forward_ad.make_dual(x, v))
            return torch.autograd.forward_ad.unpack_dual(y).tangent

    def jax(self, xp: Any, d: Data, x: Any, v: Any) -> Any:
        return jax.jvp(network(xp, d), (x,), (v,))[1]

    def autograd(self, xp: Any, d: Data, x: Any, v: Any) -> Any:
        return hips.make_jvp(network(xp, d))(x)(v)[1]


class HessianVectorProduct(Transform):
    name = "Hessian-vector product, network 64-128-64"
    leaves = ("x", "v")

    def by_hand(self, d: Data) -> Step:
        return lambda: [second_derivative(d, d.w1 @ d.v[:, None])[:, 0]]

    def ours(self, d: Data, x: Any, v: Any) -> Any:
        return ag.hvp(loss(ag, d))(x, v)

    def torch(self, d: Data, x: Any, v: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(loss(torch, d)(x), x, create_graph=True)
        return torch.autograd.grad(g, x, v)[0]

    def jax(self, xp: Any, d: Data, x: Any, v: Any) -> Any:
        return jax.jvp(jax.grad(loss(xp, d)), (x,), (v,))[1]

    def autograd(self, xp: Any, d: Data, x: Any, v: Any) -> Any:
        return hips.hessian_vector_product(loss(xp, d))(x, v)


class Jacobian(Transform):
    name = "Jacobian 64x64, network 64-128-64"
    leaves = ("x",)

    def by_hand(self, d: Data) -> Step:
        def step() -> list[np.ndarray]:
            h = np.tanh(d.w1 @ d.x + d.b)
            y = np.tanh(d.w2 @ h)
            return [(1 - y * y)[:, None] * (d.w2 @ ((1 - h * h)[:, None] * d.w1))]

        return step

    def ours(self, d: Data, x: Any) -> Any:
        return ag.jacobian(network(ag, d))(x)

    def torch(self, d: Data, x: Any) -> Any:
        return torch.func.jacrev(network(torch, d))(x)

    def jax(self, xp: Any, d: Data, x: Any) -> Any:
        return jax.jacrev(network(xp, d))(x)

    def autograd(self, xp: Any, d: Data, x: Any) -> Any:
        return hips.jacobian(network(xp, d))(x)


class Hessian(Transform):
    name = "Hessian 64x64, network 64-128-64"
    leaves = ("x",)

    def by_hand(self, d: Data) -> Step:
        return lambda: [second_derivative(d, d.w1)]

    def ours(self, d: Data, x: Any) -> Any:
        return ag.hessian(loss(ag, d))(x)

    def torch(self, d: Data, x: Any) -> Any:
        return torch.func.hessian(loss(torch, d))(x)

    def jax(self, xp: Any, d: Data, x: Any) -> Any:
        return jax.hessian(loss(xp, d))(x)

    def autograd(self, xp: Any, d: Data, x: Any) -> Any:
        return hips.hessian(loss(xp, d))(x)


ROWS: list[Row] = [JacobianVectorProduct(), HessianVectorProduct(), Jacobian(), Hessian()]
