"""The steps of PyTorch and JAX that gpu_rows.py puts beside ours, where they are installed.

A step of PyTorch is made with a `compiled` that is `torch.compile` or nothing; one of JAX is a
function of its parameters to be differentiated, and these.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_clock import Row, Rows, Step, measure, pick

DEVICE = "cuda"
"""Where PyTorch computes; tests say "cpu", and JAX then computes wherever it does."""


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch_here() -> Any:
    torch = optional("torch")
    if torch is None or (DEVICE == "cuda" and not torch.cuda.is_available()):
        return None
    torch.backends.cudnn.allow_tf32 = False  # as in its products, in ours and in JAX's below
    return torch


def jax_here() -> Any:
    jax = optional("jax")
    if jax is None or (DEVICE == "cuda" and jax.default_backend() != "gpu"):
        return None
    jax.config.update("jax_default_matmul_precision", "float32")
    return jax


def beside(
    name: str, in_torch: Callable[..., Step], in_jax: Any = None, *, compiles: bool = True
) -> Rows:
    """The rows of both; one that fails says so and is no failure of ours."""
    torch, jax = torch_here(), jax_here()
    if torch is not None:
        wait = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
        yield from _tried(f"{name}, PyTorch", lambda: measure(in_torch(torch, _same), wait))
    if jax is not None and in_jax is not None:
        yield from _tried(f"{name}, JAX jit", lambda: _timed(jax, *in_jax(jax)))
    if torch is not None and compiles:
        yield from _tried(
            f"{name}, torch.compile", lambda: measure(in_torch(torch, torch.compile), wait)
        )


def _same(function: Any) -> Any:
    return function


def _tried(name: str, run: Callable[[], Row]) -> Rows:
    try:
        yield name, run()
    except Exception as error:
        traceback.print_exc()
        yield name, {"error": f"{type(error).__name__}: {error}"[:200]}


def _timed(jax: Any, loss: Callable[..., Any], parameters: Any, *more: Any) -> Row:
    """Value and gradients of `loss(parameters, *more)`, with plain SGD; JAX has streams of its own,
    so the host's clock is all there is."""

    @jax.jit
    def step(parameters: Any, *more: Any) -> Any:
        gradients = jax.grad(loss)(parameters, *more)
        return jax.tree.map(lambda w, g: w - 0.001 * g, parameters, gradients)

    now = [step(parameters, *more)]

    def run() -> None:
        now[0] = step(now[0], *more)

    return {"wall_us": measure(run, lambda: jax.block_until_ready(now[0]))["wall_us"]}


def draw(*shape: int, scale: float = 1.0) -> Any:
    return (np.random.default_rng(len(shape)).standard_normal(shape) * scale).astype(np.float32)


# --- elementwise ---------------------------------------------------------------------------------


def torch_elementwise(f: Callable[[Any, Any], Any], *shape: int) -> Callable[..., Step]:
    def make(torch: Any, compiled: Any) -> Step:
        x = torch.tensor(draw(*shape), device=DEVICE, requires_grad=True)
        g = torch.ones_like(f(torch, x))
        function = compiled(lambda x: f(torch, x))
        return lambda: torch.autograd.grad(function(x), x, g)

    return make


def jax_elementwise(f: Callable[[Any, Any], Any], *shape: int) -> Callable[[Any], Any]:
    return lambda jax: (lambda x: f(jax, x).sum(), jax.numpy.asarray(draw(*shape)))


def torch_batched(batch: int, n: int, dtype: str) -> Callable[..., Step]:
    def make(torch: Any, compiled: Any) -> Step:
        a, b = (
            torch.tensor(draw(batch, n, n), device=DEVICE).to(getattr(torch, dtype)) for _ in "ab"
        )
        a.requires_grad = b.requires_grad = True
        g = torch.ones_like(a)
        product = compiled(lambda a, b: a @ b)
        return lambda: torch.autograd.grad(product(a, b), (a, b), g)

    return make


# --- networks ------------------------------------------------------------------------------------


def mlp(nn: Any) -> Any:
    width = pick(1024, 16)
    return nn.Sequential(
        nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def lenet(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def torch_classifier(build: Callable[[Any], Any], data: Any, labels: Any) -> Callable[..., Step]:
    def make(torch: Any, compiled: Any) -> Step:
        model = build(torch.nn).to(DEVICE)
        sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        x, t = torch.tensor(data, device=DEVICE), torch.tensor(labels, device=DEVICE)
        loss, forward = torch.nn.functional.cross_entropy, compiled(model)

        def step() -> None:
            sgd.zero_grad()
            loss(forward(x), t).backward()
            sgd.step()

        return step

    return make


def jax_classifier(name: str, data: Any, labels: Any) -> Callable[[Any], Any]:
    def make(jax: Any) -> Any:
        width = pick(1024, 16)
        sizes = [784, width, width, 10] if name == "MLP" else [400, 120, 84, 10]
        dense = [(draw(*s, scale=0.03), np.zeros(s[1], np.float32)) for s in pairwise(sizes)]
        filters = [draw(6, 1, 5, 5, scale=0.1), draw(16, 6, 5, 5, scale=0.1)]
        parameters = (filters if name == "LeNet" else [], dense)
        x, t = jax.numpy.asarray(data), jax.numpy.asarray(labels)

        def loss(parameters: Any, x: Any, t: Any) -> Any:
            filters, dense = parameters
            for w, padding in zip(filters, ("SAME", "VALID"), strict=False):
                x = jax.nn.relu(jax.lax.conv(x, w, (1, 1), padding))
                window = (1, 1, 2, 2)
                x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")
            x = x.reshape((len(x), -1))
            for i, (w, b) in enumerate(dense):
                x = x @ w + b
                x = jax.nn.relu(x) if i + 1 < len(dense) else x
            picked = jax.numpy.take_along_axis(jax.nn.log_softmax(x), t[:, None], 1)
            return -picked.mean()

        return loss, jax.tree.map(jax.numpy.asarray, parameters), x, t

    return make


def gpt_block(nn: Any, functional: Any, dim: int, heads: int, swap: Any) -> Any:
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))
            self.fc, self.out = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            h = self.ln1(x)
            q, k, v = (
                swap(f(h).reshape((b, t, heads, dim // heads))) for f in (self.q, self.k, self.v)
            )
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(swap(a).reshape((b, t, dim)))
            h = functional.gelu(self.fc(self.ln2(x)), approximate="tanh")
            return x + self.out(h)

    return Block()


def torch_gpt(batch: int, length: int, dim: int, heads: int) -> Callable[..., Step]:
    def make(torch: Any, compiled: Any) -> Step:
        block = gpt_block(
            torch.nn, torch.nn.functional, dim, heads, lambda x: x.transpose(1, 2)
        ).to(DEVICE)
        x = torch.tensor(draw(batch, length, dim), device=DEVICE, requires_grad=True)
        g, forward = torch.ones_like(x), compiled(block)

        def step() -> None:
            block.zero_grad()
            forward(x).backward(g)

        return step

    return make


def jax_gpt(batch: int, length: int, dim: int, heads: int) -> Callable[[Any], Any]:
    def make(jax: Any) -> Any:
        jnp = jax.numpy
        shapes = {
            **dict.fromkeys("qkvp", (dim, dim)),
            "f": (dim, 4 * dim),
            "o": (4 * dim, dim),
        }
        parameters = {
            name: (jnp.asarray(draw(*s, scale=0.03)), jnp.zeros(s[1])) for name, s in shapes.items()
        }
        parameters["1"] = parameters["2"] = (jnp.ones(dim), jnp.zeros(dim))
        parameters["x"] = jnp.asarray(draw(batch, length, dim))
        allowed = jnp.tril(jnp.ones((length, length), bool))

        def loss(p: Any) -> Any:
            def linear(name: str, x: Any) -> Any:
                return x @ p[name][0] + p[name][1]

            def norm(name: str, x: Any) -> Any:
                mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
                return (x - mean) / jnp.sqrt(variance + 1e-5) * p[name][0] + p[name][1]

            x, h = p["x"], norm("1", p["x"])
            q, k, v = (
                linear(name, h).reshape((batch, length, heads, -1)).swapaxes(1, 2) for name in "qkv"
            )
            scores = q @ k.swapaxes(2, 3) / np.sqrt(dim // heads)
            a = jax.nn.softmax(jnp.where(allowed, scores, -jnp.inf)) @ v
            x = x + linear("p", a.swapaxes(1, 2).reshape((batch, length, dim)))
            return (x + linear("o", jax.nn.gelu(linear("f", norm("2", x)), True))).sum()

        return loss, parameters

    return make
