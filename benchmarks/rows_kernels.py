"""Operations on large arrays: GELU, softmax cross-entropy, embedding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_mlp import log_softmax

GELU_SLOPE, GELU_CUBE = 0.7978845608028654, 0.044715  # sqrt(2 / pi), and the cube's coefficient


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size`: by hand one works in pieces that stay in the cache."""
    return (slice(i, min(i + size, n)) for i in range(0, n, size))


def aligned(size: int, dtype: np.dtype) -> np.ndarray:
    """Memory in which no vector lies across two cache lines; NumPy's own begins at any 16 bytes."""
    memory = np.empty(size * dtype.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size * dtype.itemsize].view(dtype)


def gelu(xp: Any, x: Any) -> Any:
    """The tanh form in NumPy's spelling."""
    return 0.5 * x * (1 + xp.tanh(GELU_SLOPE * (x + GELU_CUBE * x * x * x)))


class Gelu(Row):
    name, family = "GELU (tanh form), 1,000,000 numbers", "large arrays"
    leaves = ("x",)

    def __init__(self, size: int = 1_000_000) -> None:
        self.size = size

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n = 100 if small else self.size
        return Data(x=normal(rng, dtype, n), g=normal(rng, dtype, n))

    def by_hand(self, d: Data) -> Step:
        size, dtype = 131_072, d.x.dtype
        y, grad, slope = np.empty_like(d.x), np.empty_like(d.x), np.empty_like(d.x)
        t, u, v = (aligned(size, dtype) for _ in range(3))
        # With e = exp(-2 z), z being the argument of tanh: y = x / (1 + e). It is exp2 that NumPy
        # has the fastest loop for (with AVX-512). All but the gradient itself is done by the
        # forward, where it is in the cache. Numbers are arrays: to convert one takes as long as a
        # call.
        ln2 = math.log(2)
        numbers = (-2 * GELU_SLOPE * GELU_CUBE / ln2, -2 * GELU_SLOPE / ln2, 1)
        cube, line, one = (np.array(v, dtype) for v in numbers)
        steep, start = (
            np.array(-3 * ln2, dtype),
            np.array(-4 * GELU_SLOPE, dtype),
        )  # 2 z' of 2 z / x

        def step() -> list[np.ndarray]:
            for s in blocks(d.x.size, size):
                x, out = d.x[s], y[s]
                p, e, total = (w[: len(x)] for w in (t, u, v))
                np.multiply(x, x, p)
                np.multiply(p, cube, p)
                np.add(p, line, p)
                np.multiply(p, x, e)
                np.exp2(e, e)
                np.add(e, one, total)
                np.divide(x, total, out)
                np.multiply(p, steep, p)
                np.add(p, start, p)
                np.multiply(p, out, p)
                np.multiply(p, e, p)
                np.add(p, one, p)
                np.divide(p, total, slope[s])
            for s in blocks(d.x.size, size):
                np.multiply(slope[s], d.g[s], grad[s])
            return [grad]

        return step

    def ours(self, d: Data, x: Any) -> Any:
        return ag.nn.functional.gelu(x, approximate="tanh")

    def torch(self, d: Data, x: Any) -> Any:
        return torch.nn.functional.gelu(x, approximate="tanh")

    def formula(self, xp: Any, d: Data, x: Any) -> Any:
        return gelu(xp, x)

    def tinygrad(self, d: Data, x: Any) -> Any:
        return x.gelu()


class FusedGelu(Gelu):
    """The same with `fuse`, which keeps the slope as the version by hand does."""

    name = "GELU (tanh form), 1,000,000 numbers, fused"
    fused: Any = None

    def ours(self, d: Data, x: Any) -> Any:
        if self.fused is None:
            gelu = ag.nn.functional.gelu
            self.fused = ag.fuse(lambda x: gelu(x, approximate="tanh"))
        return self.fused(x)


class CrossEntropy(Row):
    name, family = "softmax cross-entropy, 4096x1000", "large arrays"
    leaves = ("x",)

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, k = (8, 5) if small else (4096, 1000)
        return Data(x=normal(rng, dtype, n, k), labels=rng.integers(0, k, n))

    def by_hand(self, d: Data) -> Step:
        n = len(d.x)
        ones = np.ones(d.x.shape[1], d.x.dtype)
        grad = np.empty_like(d.x)

        def step() -> list[np.ndarray]:
            loss = 0.0
            for s in blocks(n, 256):
                z, labels = grad[s], d.labels[s]
                rows = np.arange(len(labels))
                np.subtract(d.x[s], d.x[s].max(1, keepdims=True), out=z)
                picked = z[rows, labels]
                np.exp(z, out=z)
                total = z @ ones  # BLAS adds faster than np.sum
                loss += float((np.log(total) - picked).sum())
                z *= (1 / (n * total))[:, None]
                z[rows, labels] -= 1 / n
            return [grad]

        return step

    def ours(self, d: Data, x: Any) -> Any:
        return ag.nn.functional.cross_entropy(x, d.labels)

    def torch(self, d: Data, x: Any) -> Any:
        return torch.nn.functional.cross_entropy(x, d.labels)

    def autograd(self, xp: Any, d: Data, x: Any) -> Any:
        return -xp.mean(log_softmax(xp, x)[np.arange(len(d.labels)), d.labels])

    def mygrad(self, xp: Any, d: Data, x: Any) -> Any:
        return xp.nnet.softmax_crossentropy(x, d.labels)

    def tinygrad(self, d: Data, x: Any) -> Any:
        return x.cross_entropy(d.labels)


class Embedding(Row):
    name, family = "embedding 10000x64, 4096 indices", "large arrays"
    leaves = ("w",)

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, k, m = (10, 3, 12) if small else (10_000, 64, 4096)
        return Data(
            w=normal(rng, dtype, n, k), g=normal(rng, dtype, m, k), indices=rng.integers(0, n, m)
        )

    def by_hand(self, d: Data) -> Step:
        grad = np.empty_like(d.w)

        def step() -> list[np.ndarray]:
            y = d.w[d.indices]
            assert y.shape == d.g.shape
            # First every index's first row, then its second, ...: within one pass no index
            # repeats, so plain indexing adds up. np.add.at takes seven times as long.
            order = np.argsort(d.indices, kind="stable")
            grad.fill(0)
            while order.size:
                indices = d.indices[order]
                first = np.concatenate(([True], indices[1:] != indices[:-1]))
                grad[indices[first]] += d.g[order[first]]
                order = order[~first]
            return [grad]

        return step

    def ours(self, d: Data, w: Any) -> Any:
        return ag.nn.functional.embedding(d.indices, w)

    def torch(self, d: Data, w: Any) -> Any:
        return torch.nn.functional.embedding(d.indices, w)

    def formula(self, xp: Any, d: Data, w: Any) -> Any:
        return w[d.indices]


ROWS: list[Row] = [Gelu(), FusedGelu(), CrossEntropy(), Embedding()]
