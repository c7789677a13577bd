"""compile on CuPy: a step as a CUDA graph does what the eager step does, bit for bit."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backend import BackendError, load_backend

F = nn.functional
STEPS = 7


@pytest.fixture
def cp():
    try:
        load_backend("cupy")
    except BackendError as error:
        pytest.skip(f"no GPU and not run with --cupy-on-cpu: {error}")
    import cupy

    with ag.use_backend("cupy"):
        yield cupy


@pytest.fixture
def counting(cp):
    cupy_on_cpu = pytest.importorskip("cupy_on_cpu")
    if not cupy_on_cpu.is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return cupy_on_cpu.counting


@pytest.fixture
def emulated(counting):
    """On a device cuBLAS may choose another algorithm for a captured product."""


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


NETWORKS = {
    "mlp": (mlp, (5, 6), lambda p: optim.Adam(p, lr=1e-2)),
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
        return cp.asarray(x, self.dtype), cp.asarray(self.rng.integers(0, 4, self.shape[0]))

    def state(self):
        """Everything that training goes on from."""
        parts = [x.value.get() for x in [*self.model.parameters(), *self.model.buffers()]]
        parts += [x.grad.get() for x in self.model.parameters()]
        for state in self.optimizer.state.values():
            parts += [v.get() if hasattr(v, "get") else v for v in state.values()]
        return [*parts, ag.random.default_generator().state_dict()["offset"]]


def assert_same(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_captured_step_is_the_eager_one(cp, counting, name):
    eager, compiled = Training(name, False), Training(name, True)
    losses = []
    for training in (eager, compiled):
        ag.manual_seed(1)
        losses.append([])
        for i in range(STEPS):
            batch = training.batch(cp)
            with counting() as c:
                loss = training.step(*batch)
            losses[-1].append(loss.value.get())
            if training is compiled and i >= 2:
                assert (c.graph_launches, c.waits, c.to_host, c.to_device) == (1, 0, 0, 0)
                assert c.raw_sizes == []
        state = training.state()
        if training is eager:
            expected = state
    assert compiled.step.reason is None
    assert compiled.step.replays == STEPS - 2
    assert_same(losses[1], losses[0])
    assert_same(state, expected)


def test_nothing_is_allocated_in_the_capture(cp, counting):
    training = Training("mlp", True)
    training.step(*training.batch(cp))
    batch = training.batch(cp)
    with counting() as c:
        training.step(*batch)
    assert training.step.reason is None
    assert len(c.raw_sizes) == 1  # the pool's, before the capture
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)
