"""A chain of 100,000 operations: what a node costs in time and memory, and that depth works."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from programs import Step
from rows import Data, Mode, Row, normal


class Chain(Row):
    """y = y * a + b, over and over; a is so near 1 that nothing over- or underflows."""

    family = "chain of 100,000 ops on 16 numbers"
    leaves = ("x", "a", "b")
    left_out = MappingProxyType(
        dict.fromkeys(("torch_compile", "jax", "jax_eager"), "100,000 ops take it minutes")
    )

    def __init__(self, mode: Mode, steps: int = 50_000) -> None:
        self.mode, self.steps = mode, steps
        self.name = {"step": "forward and backward", "forward": "recorded forward"}[mode]

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        d = Data(x=normal(rng, dtype, 16), b=normal(rng, dtype, 16))
        d.a = (1 + 1e-6 * rng.standard_normal(16)).astype(dtype)
        d.steps = 100 if small else self.steps
        d.g = normal(rng, dtype, 16)
        return d

    def by_hand(self, d: Data) -> Step:
        def forward() -> list[np.ndarray]:
            y, a, b = d.x, d.a, d.b
            saved = [y]
            for _ in range(d.steps):
                y = y * a
                y += b
                saved.append(y)
            return saved

        if self.mode == "forward":
            return lambda: forward()[-1:]

        def step() -> list[np.ndarray]:
            saved = forward()
            a, g = d.a, d.g.copy()
            grad_a, grad_b = np.zeros_like(a), np.zeros_like(a)
            product = np.empty_like(a)
            saved.pop()
            while saved:
                np.multiply(g, saved.pop(), out=product)
                grad_a += product
                grad_b += g
                g *= a
            return [g, grad_a, grad_b]

        return step

    def ours(self, d: Data, *leaves: Any) -> Any:
        return self.formula(None, d, *leaves)

    def torch(self, d: Data, *leaves: Any) -> Any:
        return self.formula(None, d, *leaves)

    def formula(self, xp: Any, d: Data, *leaves: Any) -> Any:
        y, a, b = leaves
        for _ in range(d.steps):
            y = y * a
            y = y + b
        return y


ROWS: list[Row] = [Chain("step"), Chain("forward")]
