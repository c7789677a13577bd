"""The same step again and again on CuPy: equal bits each time, and no memory that stays behind.

AUTOGRAD_GPU_REPETITIONS says how often; ci/gpu.sh asks for 100.
"""

import os

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="no GPU and not run with --cupy-on-cpu"
)
TIMES = int(os.environ.get("AUTOGRAD_GPU_REPETITIONS", "3"))
LARGE = TIMES >= 100  # on a GPU, where things happen at once


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def sizes(small, large):
    return large if LARGE else small


def linear():
    n = sizes(8, 512)
    return [normal(n, n), normal(n, n), normal(n)], lambda x, w, b: ag.tanh(F.linear(x, w, b))


def convolution():
    n = sizes(2, 64)
    host = [normal(n, 3, 12, 12), normal(8, 3, 3, 3), normal(8)]
    return host, lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b, padding=1), 2)


def repeated_indices():
    rows, n = sizes((5, 40), (300, 100_000))
    index = np.random.default_rng(0).integers(0, rows, n)

    def step(w):
        at = load_backend("cupy").from_host(index)
        return F.embedding(at, w)

    return [normal(rows, 16)], step


def attention():
    b, t = sizes((2, 6), (8, 256))
    return [
        normal(b, 4, t, 16 + i) for i in (0, 0, 0)
    ], lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def losses():
    n = sizes(6, 4096)
    labels = np.arange(n) % 10

    def step(x, w, b):
        y = F.layer_norm(x, (10,), w, b)
        return F.cross_entropy(y, load_backend("cupy").from_host(labels))

    return [normal(n, 10), normal(10), normal(10)], step


STEPS = [linear, convolution, repeated_indices, attention, losses]


@pytest.mark.parametrize("make", STEPS, ids=lambda f: f.__name__)
def test_equal_bits_and_no_memory_left(make):
    backend = load_backend("cupy")
    host, step = make()
    xs = [ag.Variable(backend.from_host(x), requires_grad=True) for x in host]

    def run():
        for x in xs:
            x.zero_grad()
        y = step(*xs)
        seed = backend.xp.ones_like(y.value)
        y.backward(seed)
        return [y.value, *(x.grad for x in xs)]

    first = [backend.to_host(v) for v in run()]
    assert all(np.isfinite(v).all() for v in first)
    used = None
    for _ in range(TIMES):
        results = [backend.to_host(v) for v in run()]
        for a, b in zip(results, first, strict=True):
            np.testing.assert_array_equal(a, b)
        now = backend.memory()["used"]
        assert used in (None, now)
        used = now
