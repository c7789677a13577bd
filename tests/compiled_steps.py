"""Training steps that run eagerly and compiled, for comparison to the last bit."""

from __future__ import annotations

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
