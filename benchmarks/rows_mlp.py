"""Training steps of multi-layer perceptrons: forward, backward and the optimiser's step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from peers import Adam
from programs import Step, ag, torch
from rows import Data, Row, normal


def uniform(rng: np.random.Generator, dtype: type, fan_in: int, *shape: int) -> np.ndarray:
    """Weights in +-1/sqrt(fan_in), the usual start of a linear layer."""
    bound = fan_in**-0.5
    return rng.uniform(-bound, bound, shape).astype(dtype)


def log_softmax(xp: Any, z: Any) -> Any:
    """In NumPy's spelling, for the programs that have none of their own."""
    z = z - xp.max(z, axis=-1, keepdims=True)
    return z - xp.log(xp.sum(xp.exp(z), axis=-1, keepdims=True))


class TinyMLP(Row):
    """2-16-16-1 with tanh, mean squared error, SGD: the cost of a graph, hardly any arithmetic."""

    name, family = "MLP 2-16-16-1, batch 32, SGD", "training steps"
    leaves = ("w1", "b1", "w2", "b2", "w3", "b3")
    optimiser = ("sgd", 0.05)

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        d = Data(x=normal(rng, dtype, 32, 2), target=normal(rng, dtype, 32, 1))
        for i, (n, m) in enumerate([(2, 16), (16, 16), (16, 1)], 1):
            setattr(d, f"w{i}", uniform(rng, dtype, n, m, n))
            setattr(d, f"b{i}", uniform(rng, dtype, n, m))
        return d

    def by_hand(self, d: Data) -> Step:
        parameters = [getattr(d, name) for name in self.leaves]
        w1, b1, w2, b2, w3, b3 = parameters
        x, target, lr = d.x, d.target, self.optimiser[1]
        scale = 2 / len(x)

        def step() -> list[np.ndarray]:
            h1 = x @ w1.T
            h1 += b1
            np.tanh(h1, out=h1)
            h2 = h1 @ w2.T
            h2 += b2
            np.tanh(h2, out=h2)
            g3 = h2 @ w3.T
            g3 += b3
            g3 -= target
            g3 *= scale
            g2 = (g3 @ w3) * (1 - h2 * h2)
            g1 = (g2 @ w2) * (1 - h1 * h1)
            gradients = [
                *(g1.T @ x, np.add.reduce(g1, 0)),
                *(g2.T @ h1, np.add.reduce(g2, 0)),
                *(g3.T @ h2, np.add.reduce(g3, 0)),
            ]
            for p, g in zip(parameters, gradients, strict=True):
                p -= lr * g
            return gradients + parameters

        return step

    def ours(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        linear, tanh = ag.nn.functional.linear, ag.tanh
        h = tanh(linear(tanh(linear(d.x, w1, b1)), w2, b2))
        return ag.nn.functional.mse_loss(linear(h, w3, b3), d.target)

    def torch(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        linear, tanh = torch.nn.functional.linear, torch.tanh
        h = tanh(linear(tanh(linear(d.x, w1, b1)), w2, b2))
        return torch.nn.functional.mse_loss(linear(h, w3, b3), d.target)

    def formula(self, xp: Any, d: Data, *leaves: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = leaves
        h = xp.tanh(xp.tanh(xp.matmul(d.x, w1.T) + b1) @ w2.T + b2)
        return xp.mean((h @ w3.T + b3 - d.target) ** 2)

    def tinygrad(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        h = d.x.linear(w1.T, b1).tanh().linear(w2.T, b2).tanh()
        return (h.linear(w3.T, b3) - d.target).square().mean()


class Classifier(Row):
    """Three layers with relu, softmax cross-entropy and Adam."""

    family = "training steps"
    leaves = ("w1", "b1", "w2", "b2", "w3", "b3")
    optimiser = ("adam", 1e-3)

    def __init__(self, widths: tuple[int, int, int, int], batch: int) -> None:
        self.widths, self.batch = widths, batch
        self.name = f"MLP {'-'.join(map(str, widths))}, batch {batch}, Adam"

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        widths = (6, 5, 4, 3) if small else self.widths
        batch = 7 if small else self.batch
        d = Data(x=normal(rng, dtype, batch, widths[0]))
        d.labels = rng.integers(0, widths[-1], batch)
        for i, (n, m) in enumerate(pairwise(widths), 1):
            setattr(d, f"w{i}", uniform(rng, dtype, n, m, n))
            setattr(d, f"b{i}", uniform(rng, dtype, n, m))
        return d

    def by_hand(self, d: Data) -> Step:
        parameters = [getattr(d, name) for name in self.leaves]
        w1, b1, w2, b2, w3, b3 = parameters
        gradients = [np.empty_like(p) for p in parameters]
        gw1, gb1, gw2, gb2, gw3, gb3 = gradients
        adam = Adam(parameters, self.optimiser[1])
        x, n = d.x, len(d.x)
        rows = np.arange(n)
        h1, h2 = np.empty((n, len(b1)), x.dtype), np.empty((n, len(b2)), x.dtype)
        g1, g2 = np.empty_like(h1), np.empty_like(h2)

        def step() -> list[np.ndarray]:
            np.matmul(x, w1.T, out=h1)
            np.add(h1, b1, out=h1)
            np.maximum(h1, 0, out=h1)
            np.matmul(h1, w2.T, out=h2)
            np.add(h2, b2, out=h2)
            np.maximum(h2, 0, out=h2)
            z = h2 @ w3.T
            z += b3
            z -= z.max(1, keepdims=True)
            np.exp(z, out=z)  # from here on z turns into its own gradient, (softmax - 1) / n
            z /= z.sum(1, keepdims=True)
            z[rows, d.labels] -= 1
            z *= 1 / n
            np.matmul(z.T, h2, out=gw3)
            np.add.reduce(z, 0, out=gb3)
            np.matmul(z, w3, out=g2)
            np.multiply(g2, h2 > 0, out=g2)
            np.matmul(g2.T, h1, out=gw2)
            np.add.reduce(g2, 0, out=gb2)
            np.matmul(g2, w2, out=g1)
            np.multiply(g1, h1 > 0, out=g1)
            np.matmul(g1.T, x, out=gw1)
            np.add.reduce(g1, 0, out=gb1)
            adam(gradients)
            return gradients + parameters

        return step

    def ours(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        F = ag.nn.functional
        h = F.relu(F.linear(F.relu(F.linear(d.x, w1, b1)), w2, b2))
        return F.cross_entropy(F.linear(h, w3, b3), d.labels)

    def torch(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        F = torch.nn.functional
        h = F.relu(F.linear(F.relu(F.linear(d.x, w1, b1)), w2, b2))
        return F.cross_entropy(F.linear(h, w3, b3), d.labels)

    def logits(self, xp: Any, d: Data, *leaves: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = leaves
        h = xp.maximum(xp.matmul(d.x, w1.T) + b1, 0)
        return xp.maximum(h @ w2.T + b2, 0) @ w3.T + b3

    def autograd(self, xp: Any, d: Data, *leaves: Any) -> Any:
        z = log_softmax(xp, self.logits(xp, d, *leaves))
        return -xp.mean(z[np.arange(len(d.x)), d.labels])

    def mygrad(self, xp: Any, d: Data, *leaves: Any) -> Any:
        return xp.nnet.softmax_crossentropy(self.logits(xp, d, *leaves), d.labels)

    def tinygrad(self, d: Data, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        h = d.x.linear(w1.T, b1).relu().linear(w2.T, b2).relu()
        return h.linear(w3.T, b3).cross_entropy(d.labels)


ROWS: list[Row] = [
    TinyMLP(),
    Classifier((64, 256, 128, 10), batch=128),
    Classifier((784, 1024, 1024, 10), batch=256),
]
