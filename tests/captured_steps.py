"""Networks and steps that CUDA graphs are tried with, and how they are compared with eager ones."""

from __future__ import annotations

import sys

import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn, optim

F = nn.functional
STEPS = 7


def is_emulated():
    cupy_on_cpu = sys.modules.get("cupy_on_cpu")
    return cupy_on_cpu is not None and cupy_on_cpu.is_started()


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 4))


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.2), nn.Linear(27, 4),
    )  # fmt: skip


class Block(nn.Module):
    """A block of a GPT, with a head on top."""

    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))
        self.fc, self.out, self.head = nn.Linear(dim, 16), nn.Linear(16, dim), nn.Linear(dim, 4)

    def forward(self, x):
        b, t, d = x.shape
        h = self.ln1(x)
        q, k, v = (
            f(h).reshape((b, t, self.heads, d // self.heads)).swapaxes(1, 2)
            for f in (self.q, self.k, self.v)
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1)
        x = x + self.proj(a.swapaxes(1, 2).reshape((b, t, d)))
        x = x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))
        return self.head(x).mean(1)


class Words(nn.Module):
    """Embeddings, whose gradients are sums over repeated indices."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.table(ag.astype(abs(x) * 3, "int64")).mean(1))


NETWORKS = {
    "embedding": (Words, (4, 9), lambda p: optim.RMSprop(p, lr=1e-2, momentum=0.5, centered=True)),
    "mlp": (mlp, (5, 6), lambda p: optim.Adam(p, lr=1e-2)),
    "mlp, Adagrad": (mlp, (5, 6), lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1)),
    "mlp, SGD": (mlp, (5, 6), lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    "convnet": (convnet, (3, 1, 6, 6), lambda p: optim.AdamW(p, lr=1e-2)),
    "GPT block": (Block, (2, 5, 8), lambda p: optim.Lion(p, lr=1e-2)),
}


class Training:
    """A network that is trained by one function, eager or compiled."""

    def __init__(self, name, is_compiled, dtype="float32"):
        make, self.shape, optimiser = NETWORKS[name]
        ag.manual_seed(0)
        self.model = make()
        self.model.to("cupy")
        if dtype != "float32":
            self.model.to(dtype)
        self.dtype = dtype
        self.optimizer = optimiser(self.model.parameters())
        self.rng = np.random.default_rng(0)
        self.step = ag.compile(self.plain) if is_compiled else self.plain

    def plain(self, x, t):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(ag.Variable(x)), ag.Variable(t))
        loss.backward()
        optim.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss

    def batch(self, cp):
        x = self.rng.standard_normal(self.shape)
        return cp.asarray(x.astype(self.dtype)), cp.asarray(self.rng.integers(0, 4, self.shape[0]))

    def state(self):
        """Everything that training goes on from."""
        parts = [x.value.get() for x in [*self.model.parameters(), *self.model.buffers()]]
        parts += [x.grad.get() for x in self.model.parameters()]
        for state in self.optimizer.state.values():
            parts += [v.get() if hasattr(v, "get") else v for v in state.values()]
        return [*parts, ag.random.default_generator().state_dict()["offset"]]


def assert_near(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


def assert_same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def both(cp, make, calls=STEPS, argument=lambda i: float(i)):
    """What an eager function and a compiled one return, call by call; and the compiled one."""
    results = []
    for wrap in (lambda f: f, ag.compile):
        ag.manual_seed(3)
        function = wrap(make())
        results.append([])
        for i in range(calls):
            y = function(ag.Variable(cp.full(3, argument(i), "float32")))
            y = y if isinstance(y, tuple) else (y,)
            results[-1].append([v.value.get() if isinstance(v, ag.Variable) else v for v in y])
    eager, compiled = results
    for a, b in zip(eager, compiled, strict=True):
        assert_same(b, a)
    return function


def parameter(cp, value=1.0):
    return ag.Variable(cp.full(3, value, "float32"), requires_grad=True)
