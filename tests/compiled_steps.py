"""Functions and training steps, eagerly and compiled, for comparison to the last bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.nn import functional as F

Made = tuple[Any, Any, Callable[[], tuple[Any, ...]]]


class Block(nn.Module):
    """A block of a GPT with dropout."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc, self.out = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Any) -> Any:
        b, t, dim = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(b, t, 3, self.heads, dim // self.heads)
        q, k, v = ag.unstack(ag.permute_dims(qkv, (2, 0, 3, 1, 4)))
        a = F.scaled_dot_product_attention(q, k, v, None, 0.1, is_causal=True)
        x = x + self.drop(self.proj(ag.permute_dims(a, (0, 2, 1, 3)).reshape(b, t, dim)))
        return x + self.out(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(11, 16), nn.Embedding(6, 16)
        self.block, self.norm, self.head = Block(16, 2), nn.LayerNorm(16), nn.Linear(16, 11)

    def forward(self, tokens: Any) -> Any:
        x = self.token(tokens) + self.position(np.arange(tokens.shape[1]))
        return self.head(self.norm(self.block(x)))


class Reader(nn.Module):
    """A class for each step of a sequence."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.cells, self.head = kind(5, 8, num_layers=2, bidirectional=True), nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.cells(x)[0])


def normed() -> Any:
    """Weights that are computed, with singular vectors that move in each step."""
    weight_norm = nn.utils.parametrizations.weight_norm
    spectral_norm = nn.utils.parametrizations.spectral_norm
    return nn.Sequential(spectral_norm(nn.Linear(5, 8)), nn.CELU(), weight_norm(nn.Linear(8, 3)))


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)
    )


def lenet() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3),
        nn.GELU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(6, 3),
    )


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def labels(seed: int, high: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(0, high, shape)


MODELS: dict[str, tuple[Callable[[], Any], Callable[[int], tuple[Any, Any]]]] = {
    "mlp": (mlp, lambda i: (numbers(i, 8, 5), labels(i, 3, 8))),
    "lenet": (lenet, lambda i: (numbers(i, 4, 1, 8, 8), labels(i, 3, 4))),
    "lstm": (lambda: Reader(nn.LSTM), lambda i: (numbers(i, 6, 4, 5), labels(i, 3, 6, 4))),
    "gru": (lambda: Reader(nn.GRU), lambda i: (numbers(i, 6, 4, 5), labels(i, 3, 6, 4))),
    "normed": (normed, lambda i: (numbers(i, 8, 5), labels(i, 3, 8))),
    "gpt": (GPT, lambda i: (labels(i, 11, 3, 6), labels(i + 1, 11, 3, 6))),
}

OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda p: optim.Adam(p, lr=0.01),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "Lion": lambda p: optim.Lion(p, lr=0.01),
}


def bits(tree: Any) -> Any:
    """All arrays of a tree as bytes, for comparisons that see every bit."""
    if isinstance(tree, dict):
        return {key: bits(x) for key, x in tree.items()}
    if isinstance(tree, (tuple, list)):
        return [bits(x) for x in tree]
    if isinstance(tree, ag.Variable):
        tree = tree.value
    if hasattr(tree, "tobytes"):
        return str(tree.dtype), tree.shape, tree.tobytes()
    return tree


# Functions of arrays ------------------------------------------------------------------------------

CALLS = 7
X = [numbers(i, 4, 5) for i in range(CALLS)]


def compare(step: Any, calls: Any = None) -> Any:
    """Call a function eagerly and compiled; the compiled one, after comparing the results."""
    compiled = ag.compile(step)
    for args in [(x,) for x in X] if calls is None else calls:
        expected = bits(step(*args))
        assert bits(compiled(*args)) == expected
    return compiled


def refused(step: Any, words: str, calls: Any = None) -> None:
    """Assert that a function runs eagerly, with a reason that has these words."""
    compiled = compare(step, calls)
    assert compiled.replays == 0
    assert words in compiled.reason


# Trainings ----------------------------------------------------------------------------------------

STEPS = 24


class Training:
    """A model, an optimiser and a step."""

    def __init__(self, model: str = "mlp", optimiser: str = "SGD", compiled: bool = True) -> None:
        make, self.data = MODELS[model]
        self.generator = ag.manual_seed(3)
        self.model = make()
        self.optimiser = OPTIMISERS[optimiser](self.model.parameters())
        self.run = ag.compile(self.step) if compiled else self.step

    def loss(self, x: Any, target: Any) -> Any:
        y = self.model(x)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1)), y

    def step(self, x: Any, target: Any) -> Any:
        self.optimiser.zero_grad()
        loss, y = self.loss(x, target)
        loss.backward()
        self.optimiser.step()
        return loss, y.detach()

    def state(self) -> Any:
        gradients = [x.grad for x in self.model.parameters()]
        return bits(
            [
                self.model.state_dict(),
                self.optimiser.state_dict(),
                gradients,
                self.generator.next_key(),
            ]
        )


def both(make: Callable[[bool], Any], calls: int = STEPS) -> Any:
    """Run an eager and a compiled training; the compiled one, after comparing all that is left."""
    histories, trainings = [], []
    for compiled in (False, True):
        training = make(compiled)
        history = [bits(training.run(*training.data(i))) for i in range(calls)]
        history.append(training.state())
        histories.append(history)
        trainings.append(training)
    assert histories[0] == histories[1]
    return trainings[1]


# Steps between whose calls something changes ------------------------------------------------------

ROWS = np.random.default_rng(0).standard_normal((24, 3)).astype("float32")


def side_by_side(
    make: Callable[[], Made], calls: int = 14, between: Any = lambda i, things: None
) -> Any:
    """A step eagerly and compiled, with the same things done between the calls: bitwise the same.

    `make` returns the step, what `between` changes, and a function of the state.
    """
    runs = []
    for wrap in (lambda f: f, ag.compile):
        ag.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        step, things, state = make()
        step = wrap(step)
        history = []
        for i in range(calls):
            between(i, things)
            history.append([np.array(getattr(y, "value", y)) for y in (step(ROWS[i]), *state())])
        runs.append(history)
    for i, (eager, compiled) in enumerate(zip(*runs, strict=True)):
        for x, y in zip(eager, compiled, strict=True):
            assert x.tobytes() == y.tobytes(), (i, x, y, step)
    return step
