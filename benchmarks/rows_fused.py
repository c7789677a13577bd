"""A loss of elementwise ops and a mean, op by op and with `fuse`."""

from __future__ import annotations

from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_kernels import aligned, blocks

DEPTH = 0.7  # of the well at the bottom of each parabola


def energy(xp: Any, x: Any, centre: Any) -> Any:
    """The mean of d² / 2 + DEPTH · exp(-d²) with d = x - centre, in NumPy's spelling."""
    d = x - centre
    square = d * d
    return xp.mean(0.5 * square + DEPTH * xp.exp(-square))


class Energy(Row):
    name, family = "mean energy of 4096x512 in 512 wells", "large arrays"
    leaves = ("x", "centre")

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, k = (8, 5) if small else (4096, 512)
        return Data(x=normal(rng, dtype, n, k), centre=normal(rng, dtype, k))

    def by_hand(self, d: Data) -> Step:
        (n, k), dtype = d.x.shape, d.x.dtype
        height = 256
        grad, kept = np.empty_like(d.x), np.empty_like(d.x)
        u, v = (aligned(height * k, dtype).reshape(height, k) for _ in range(2))
        half, depth, steep, one, scale = (
            np.array(value, dtype) for value in (0.5, DEPTH, -2 * DEPTH, 1, 1 / (n * k))
        )
        ones = np.ones(height, dtype)

        def step() -> list[np.ndarray]:
            total = np.zeros((), dtype)
            for s in blocks(n, height):
                e = kept[s]
                square, part = u[: len(e)], v[: len(e)]
                np.subtract(d.x[s], d.centre, square)
                np.multiply(square, square, square)
                np.negative(square, e)
                np.exp(e, e)
                np.multiply(square, half, square)
                np.multiply(e, depth, part)
                np.add(square, part, square)
                total += np.sum(square)
            down = np.zeros(k, dtype)
            for s in blocks(n, height):
                y = grad[s]
                slope, away = u[: len(y)], v[: len(y)]
                np.multiply(kept[s], steep, slope)
                np.add(slope, one, slope)
                np.multiply(slope, scale, slope)
                np.subtract(d.x[s], d.centre, away)
                np.multiply(away, slope, y)
                down -= ones[: len(y)] @ y  # BLAS adds rows faster than np.sum
            return [grad, down]

        return step

    def ours(self, d: Data, x: Any, centre: Any) -> Any:
        return energy(ag, x, centre)

    def torch(self, d: Data, x: Any, centre: Any) -> Any:
        return energy(torch, x, centre)

    def formula(self, xp: Any, d: Data, x: Any, centre: Any) -> Any:
        return energy(xp, x, centre)

    def tinygrad(self, d: Data, x: Any, centre: Any) -> Any:
        away = x - centre
        square = away * away
        return (0.5 * square + DEPTH * (-square).exp()).mean()


class FusedEnergy(Energy):
    """The same, of which `fuse` makes one kernel for the mean and one for the gradients."""

    name = "mean energy of 4096x512 in 512 wells, fused"
    fused: Any = None

    def ours(self, d: Data, x: Any, centre: Any) -> Any:
        if self.fused is None:
            self.fused = ag.fuse(lambda x, centre: energy(ag, x, centre))
        return self.fused(x, centre)


ROWS: list[Row] = [Energy(), FusedEnergy()]
