"""The rows of gpu.py: what the device can do, what ours reach of it, and peers beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn
from gpu_clock import Rows, captured, ours, pick
from gpu_peers import (
    beside,
    draw,
    gpt_block,
    jax_classifier,
    jax_elementwise,
    jax_gpt,
    lenet,
    mlp,
    optional,
    torch_batched,
    torch_classifier,
    torch_elementwise,
    torch_gpt,
)

F = nn.functional

known: dict[str, float] = {}
"""The rates that others are shares of."""


def leaf(*shape: int, dtype: Any = np.float32) -> ag.Variable:
    return ag.Variable(cp.asarray(draw(*shape)).astype(dtype), requires_grad=True)


def copy_bandwidth() -> Rows:
    a = cp.ones(pick(2**28, 2**12), np.float32)
    b = cp.empty_like(a)
    stream = cp.cuda.get_current_stream()
    t = ours(lambda: b.data.copy_from_device_async(a.data, a.nbytes, stream))
    t["gb_per_s"] = 2 * a.nbytes / t["device_us"] / 1e3
    known["copy"] = t["gb_per_s"]
    yield "copy of 1 GiB", t


def gemm_peak() -> Rows:
    from autograd_gpu.backends import cupy_gemm

    n = pick(8192, 32)
    types: list[tuple[str, Any]] = [("float32", np.float32), ("float16", np.float16)]
    ml_dtypes = optional("ml_dtypes")
    if ml_dtypes:
        types.append(("bfloat16", ml_dtypes.bfloat16))
    for name, dtype in types:
        a, b = (leaf(n, n, dtype=dtype).value for _ in range(2))
        out = cp.empty((n, n), dtype)
        t = ours(lambda a=a, b=b, out=out: cupy_gemm.matmul(a, b, out))
        t["tflop_per_s"] = 2 * n**3 / t["device_us"] / 1e6
        known[f"gemm {name}"] = t["tflop_per_s"]
        yield f"GEMM {n}, {name}", t


def batched_products() -> Rows:
    batch, n = pick((32, 2048), (2, 16))
    for name in ("float32", "float16"):
        a, b = leaf(batch, n, n, dtype=name), leaf(batch, n, n, dtype=name)
        g = cp.ones((batch, n, n), name)
        y = a @ b
        what = f"batched GEMM {batch} x {n}, {name}"

        def backward(y: Any = y, a: Any = a, b: Any = b, g: Any = g) -> Any:
            return ag.gradients(y, [a, b], g, retain_graph=True)

        def both(a: Any = a, b: Any = b, g: Any = g) -> Any:
            return ag.gradients(a @ b, [a, b], g)

        for part, step, products in (("backward", backward, 2), ("forward and backward", both, 3)):
            t = ours(step)
            t["tflop_per_s"] = products * 2 * batch * n**3 / t["device_us"] / 1e6
            t["share_of_gemm_peak"] = t["tflop_per_s"] / known[f"gemm {name}"]
            yield f"{what}, {part}", t
        yield from beside(
            f"{what}, forward and backward", torch_batched(batch, n, name), compiles=False
        )


def chains() -> Rows:
    n = pick(2**26, 2**10)
    x = leaf(n)
    g = cp.ones(n, np.float32)
    # each array is counted once for each time that it must be read or written
    for name, f, least in (
        ("gelu (tanh)", lambda: ag.gelu(x, "tanh"), 5),
        ("silu", lambda: ag.silu(x), 5),
        ("tanh(x) * x + x", lambda: ag.tanh(x) * x + x, 5),
    ):
        t = ours(lambda f=f: ag.gradients(f(), x, g))
        t["gb_per_s"] = least * 4 * n / t["device_us"] / 1e3
        t["share_of_copy"] = t["gb_per_s"] / known["copy"]
        yield f"{name} of {n}, forward and backward", t
    yield from beside(
        f"tanh(x) * x + x of {n}",
        torch_elementwise(lambda torch, x: torch.tanh(x) * x + x, n),
        jax_elementwise(lambda jax, x: jax.numpy.tanh(x) * x + x, n),
    )


def small_ops() -> Rows:
    x = leaf(8, 8)

    def step() -> None:
        ag.sum(x * x).backward()

    name = "x * x, 8 x 8, forward and backward"
    yield name, ours(step)
    yield f"{name}, captured", captured(step)
    yield from beside(
        name,
        torch_elementwise(lambda torch, x: (x * x).sum(), 8, 8),
        jax_elementwise(lambda jax, x: (x * x).sum(), 8, 8),
    )


def classifiers() -> Rows:
    batch = pick(256, 2)
    for name, make, shape in (("MLP", mlp, (784,)), ("LeNet", lenet, (1, 28, 28))):
        data = np.random.default_rng(0).random((batch, *shape), dtype=np.float32)
        labels = np.arange(batch) % 10
        model = make(nn)
        optimizer = ag.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        x, t = ag.Variable(cp.asarray(data)), ag.Variable(cp.asarray(labels))

        def step(model: Any = model, optimizer: Any = optimizer, x: Any = x, t: Any = t) -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(x), t).backward()
            optimizer.step()

        what = f"{name}, batch {batch}, training step"
        yield what, ours(step)
        yield f"{what}, captured", captured(step)
        yield from beside(
            what, torch_classifier(make, data, labels), jax_classifier(name, data, labels)
        )


def gpt_blocks() -> Rows:
    for sizes in pick([(8, 256, 256, 4), (8, 512, 768, 12), (8, 1024, 1024, 16)], [(1, 4, 8, 2)]):
        batch, length, dim, heads = sizes
        name = f"GPT block, B {batch}, T {length}, d {dim}, forward and backward"
        block = gpt_block(nn, F, dim, heads, lambda x: x.swapaxes(1, 2))
        x = leaf(batch, length, dim)
        g = cp.ones((batch, length, dim), np.float32)

        def step(block: Any = block, x: Any = x, g: Any = g) -> None:
            block.zero_grad()
            block(x).backward(g)

        yield name, ours(step)
        yield f"{name}, captured", captured(step)
        yield from beside(name, torch_gpt(*sizes), jax_gpt(*sizes))


ROWS: list[Callable[[], Rows]] = [
    copy_bandwidth, gemm_peak, batched_products, chains, small_ops, classifiers, gpt_blocks,
]  # fmt: skip
