"""Matrix products with a batch, and attention's two contractions written with einsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal


class BatchedMatmul(Row):
    family = "products"
    leaves = ("a", "b")

    def __init__(self, batch: int, n: int) -> None:
        self.batch, self.n = batch, n
        self.name = f"matmul [{batch},{n},{n}] @ [{batch},{n},{n}]"

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        shape = (3, 4, 4) if small else (self.batch, self.n, self.n)
        return Data(**{name: normal(rng, dtype, *shape) for name in "abg"})

    def by_hand(self, d: Data) -> Step:
        y, grad_a, grad_b = (np.empty_like(d.a) for _ in range(3))

        def step() -> list[np.ndarray]:
            np.matmul(d.a, d.b, out=y)
            np.matmul(d.g, d.b.mT, out=grad_a)
            np.matmul(d.a.mT, d.g, out=grad_b)
            return [grad_a, grad_b]

        return step

    def ours(self, d: Data, a: Any, b: Any) -> Any:
        return a @ b

    def torch(self, d: Data, a: Any, b: Any) -> Any:
        return a @ b

    def formula(self, xp: Any, d: Data, a: Any, b: Any) -> Any:
        return a @ b

    def tinygrad(self, d: Data, a: Any, b: Any) -> Any:
        return a @ b


class BroadcastMatmul(Row):
    """Activations [B, T, K] times a weight [K, N]: one product of [B*T, K], not B of them."""

    name, family = "matmul [16,64,512] @ [512,512]", "products"
    leaves = ("a", "w")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        b, t, k, n = (2, 3, 4, 5) if small else (16, 64, 512, 512)
        return Data(
            a=normal(rng, dtype, b, t, k), w=normal(rng, dtype, k, n), g=normal(rng, dtype, b, t, n)
        )

    def by_hand(self, d: Data) -> Step:
        a, g = d.a.reshape(-1, d.a.shape[-1]), d.g.reshape(-1, d.g.shape[-1])
        y, grad_a, grad_w = np.empty_like(g), np.empty_like(a), np.empty_like(d.w)

        def step() -> list[np.ndarray]:
            np.matmul(a, d.w, out=y)
            np.matmul(g, d.w.T, out=grad_a)
            np.matmul(a.T, g, out=grad_w)
            return [grad_a.reshape(d.a.shape), grad_w]

        return step

    def ours(self, d: Data, a: Any, w: Any) -> Any:
        return a @ w

    def torch(self, d: Data, a: Any, w: Any) -> Any:
        return a @ w

    def formula(self, xp: Any, d: Data, a: Any, w: Any) -> Any:
        return a @ w

    def tinygrad(self, d: Data, a: Any, w: Any) -> Any:
        return a @ w


class EinsumAttention(Row):
    """Scores and weighted values, without the softmax between them."""

    name, family = "einsum attention, B 8, T 128, 4 heads of 32", "products"
    leaves = ("q", "k", "v")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        shape = (2, 5, 3, 4) if small else (8, 128, 4, 32)
        return Data(**{name: normal(rng, dtype, *shape) for name in "qkvg"})

    def by_hand(self, d: Data) -> Step:
        def step() -> list[np.ndarray]:
            # [B, T, H, D] seen as [B, H, T, D]; matmul takes the strided views
            q, k, v, g = (np.swapaxes(x, 1, 2) for x in (d.q, d.k, d.v, d.g))
            scores = q @ k.mT
            _ = scores @ v
            grad_scores = g @ v.mT
            gradients = [grad_scores @ k, grad_scores.mT @ q, scores.mT @ g]
            return [np.swapaxes(x, 1, 2) for x in gradients]

        return step

    def ours(self, d: Data, q: Any, k: Any, v: Any) -> Any:
        return ag.einsum("bhqk,bkhd->bqhd", ag.einsum("bqhd,bkhd->bhqk", q, k), v)

    def torch(self, d: Data, q: Any, k: Any, v: Any) -> Any:
        return torch.einsum("bhqk,bkhd->bqhd", torch.einsum("bqhd,bkhd->bhqk", q, k), v)

    def formula(self, xp: Any, d: Data, q: Any, k: Any, v: Any) -> Any:
        return xp.einsum("bhqk,bkhd->bqhd", xp.einsum("bqhd,bkhd->bhqk", q, k), v)


ROWS: list[Row] = [
    BatchedMatmul(32, 64),
    BatchedMatmul(16, 256),
    BroadcastMatmul(),
    EinsumAttention(),
]
