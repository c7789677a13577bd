"""How much memory a training step of a deep network takes at its peak."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_mlp import uniform


class DeepMLP(Row):
    """Equal layers with relu, and the mean of the squares of the result as the loss."""

    family = "memory"
    seconds = 0.3

    def __init__(self, depth: int, width: int, batch: int) -> None:
        self.depth, self.width, self.batch = depth, width, batch
        self.name = f"deep MLP {depth}x{width}, batch {batch}"
        self.leaves = tuple(f"w{i}" for i in range(depth))

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        width, batch = (4, 6) if small else (self.width, self.batch)
        d = Data(x=normal(rng, dtype, batch, width))
        for name in self.leaves:
            setattr(d, name, 2 * uniform(rng, dtype, width, width, width))
        return d

    def minimum(self, itemsize: int = 4) -> int:
        """Bytes at the peak of a step that keeps each layer's result for as long as it is needed,
        makes each gradient when it can, and has one more array of a result's size to work with."""
        result = self.batch * self.width * itemsize
        weight = self.width**2 * itemsize
        return max(
            (layers + 1) * result + (self.depth - layers) * weight
            for layers in range(self.depth + 1)
        )

    def by_hand(self, d: Data) -> Step:
        weights = [getattr(d, name) for name in self.leaves]

        def step() -> list[np.ndarray]:
            results = [d.x]
            for w in weights:
                h = results[-1] @ w.T
                results.append(np.maximum(h, 0, out=h))
            g = results[-1] * (2 / h.size)  # the gradient of the mean of the squares
            del h
            gradients = []
            for w in reversed(weights):
                g *= results.pop() > 0
                gradients.append(g.T @ results[-1])
                if len(results) > 1:
                    g = g @ w
            return gradients[::-1]

        return step

    def ours(self, d: Data, *weights: Any) -> Any:
        h = d.x
        for w in weights:
            h = ag.nn.functional.relu(ag.nn.functional.linear(h, w))
        return ag.mean(h * h)

    def torch(self, d: Data, *weights: Any) -> Any:
        h = d.x
        for w in weights:
            h = torch.nn.functional.relu(torch.nn.functional.linear(h, w))
        return torch.mean(h * h)

    def formula(self, xp: Any, d: Data, *weights: Any) -> Any:
        h = d.x
        for w in weights:
            h = xp.maximum(xp.matmul(h, w.T), 0)
        return xp.mean(h * h)


ROWS: list[Row] = [DeepMLP(20, 512, 4096)]
