"""Measures on a GPU: what the device can do, and how much of it forwards and backwards reach.

    python benchmarks/gpu.py --out OUT [--seconds 240] [--small]

Times are medians by CUDA events over several steps, and, beside them, wall time per step with one
wait at the end.  PyTorch and JAX take part where they are installed and see the same GPU.  After
each row OUT/benchmarks.json is written anew, so that an early end leaves what there is;
ci/gpu_report.py makes a table of it.  `--small` has sizes to try out the script itself with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import cupy as cp
import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.backend import load_backend

F = nn.functional
Step = Callable[[], Any]
Rows = Iterator[tuple[str, dict[str, Any]]]
SMALL = False


def pick(large: Any, small: Any) -> Any:
    return small if SMALL else large


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch_on_gpu() -> Any:
    torch = optional("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


# --- clocks --------------------------------------------------------------------------------------


def measure(step: Step, wait: Step, rounds: int = 5, seconds: float = 0.1) -> dict[str, float]:
    """Microseconds per step: on the host's clock with a wait at the end, and on the device's."""
    for _ in range(pick(3, 1)):
        step()
    wait()
    start = time.perf_counter()
    step()
    wait()
    once = time.perf_counter() - start
    count = pick(max(1, min(1000, int(seconds / max(once, 1e-6)))), 1)
    walls, devices = [], []
    for _ in range(pick(rounds, 1)):
        wait()
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        start = time.perf_counter()
        begin.record()
        for _ in range(count):
            step()
        end.record()
        end.synchronize()
        wait()
        walls.append((time.perf_counter() - start) / count)
        devices.append(cp.cuda.get_elapsed_time(begin, end) / 1e3 / count)
    return {"wall_us": median(walls) * 1e6, "device_us": median(devices) * 1e6}


def ours(step: Step) -> dict[str, float]:
    return measure(step, cp.cuda.Device().synchronize)


def theirs(torch: Any, step: Step) -> dict[str, float]:
    """PyTorch's default stream is the legacy one, on which the events are too."""
    return measure(step, torch.cuda.synchronize)


def captured(step: Step) -> dict[str, Any]:
    """The same for `ag.compile(step)`, or why it is not captured."""
    function = ag.compile(step)
    for _ in range(3):
        function()
    if function.reason is not None:
        return {"not captured": function.reason[:200]}
    return ours(function)


def leaf(*shape: int, dtype: Any = np.float32) -> ag.Variable:
    x = np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)
    return ag.Variable(cp.asarray(x).astype(dtype), requires_grad=True)


# --- what the device can do ----------------------------------------------------------------------


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


known: dict[str, float] = {}


def batched_backward() -> Rows:
    batch, n = pick((32, 2048), (2, 16))
    types: list[tuple[str, Any]] = [("float32", np.float32), ("float16", np.float16)]
    for name, dtype in types:
        a, b = leaf(batch, n, n, dtype=dtype), leaf(batch, n, n, dtype=dtype)
        g = cp.ones((batch, n, n), dtype)

        def step(a: Any = a, b: Any = b, g: Any = g) -> Any:
            return ag.gradients(a @ b, [a, b], g)

        t = ours(step)
        rate = 3 * 2 * batch * n**3 / t["device_us"] / 1e6
        t["tflop_per_s"] = rate
        if f"gemm {name}" in known:
            t["share_of_gemm_peak"] = rate / known[f"gemm {name}"]
        yield f"batched GEMM {batch} x {n}, {name}, forward and backward", t


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
        if "copy" in known:
            t["share_of_copy"] = t["gb_per_s"] / known["copy"]
        yield f"{name} of {n}, forward and backward", t


# --- networks ------------------------------------------------------------------------------------


def small_ops() -> Rows:
    x = leaf(8, 8)

    def step() -> None:
        ag.sum(x * x).backward()

    yield "x * x, 8 x 8, forward and backward", ours(step)
    yield "x * x, 8 x 8, forward and backward, captured", captured(step)
    torch = torch_on_gpu()
    if torch:
        y = torch.ones(8, 8, device="cuda", requires_grad=True)
        yield "the same, PyTorch", theirs(torch, lambda: (y * y).sum().backward())


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

        yield f"{name}, batch {batch}, training step", ours(step)
        yield f"{name}, batch {batch}, training step, captured", captured(step)
        torch = torch_on_gpu()
        if torch:
            other = make(torch.nn).cuda()
            sgd = torch.optim.SGD(other.parameters(), lr=0.01, momentum=0.9)
            u, v = torch.tensor(data).cuda(), torch.tensor(labels).cuda()

            loss = torch.nn.functional.cross_entropy

            def peer(
                other: Any = other, sgd: Any = sgd, u: Any = u, v: Any = v, loss: Any = loss
            ) -> None:
                sgd.zero_grad()
                loss(other(u), v).backward()
                sgd.step()

            yield f"{name}, batch {batch}, PyTorch", theirs(torch, peer)


def jax_mlp() -> Rows:
    jax = optional("jax")
    if jax is None or jax.default_backend() != "gpu":
        return
    batch, width = pick((256, 1024), (2, 16))
    jnp = jax.numpy
    rng = np.random.default_rng(0)
    sizes = [784, width, width, 10]
    weights = [
        (jnp.asarray(rng.standard_normal(s).astype("f4") / 30), jnp.zeros(s[1], "float32"))
        for s in pairwise(sizes)
    ]
    x, t = jnp.asarray(rng.random((batch, 784), dtype="f4")), jnp.arange(batch) % 10

    def loss(weights: Any) -> Any:
        h = x
        for i, (w, b) in enumerate(weights):
            h = h @ w + b
            h = jax.nn.relu(h) if i < 2 else h
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), t[:, None], 1))

    @jax.jit
    def step(weights: Any) -> Any:
        gradients = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)

    state = [step(weights)]

    def run() -> None:
        state[0] = step(state[0])

    t0 = measure(run, lambda: jax.block_until_ready(state[0]))
    yield f"MLP, batch {batch}, JAX jit (plain SGD)", {"wall_us": t0["wall_us"]}


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


def gpt_blocks() -> Rows:
    for batch, length, dim, heads in pick(
        [(8, 256, 256, 4), (8, 512, 768, 12), (8, 1024, 1024, 16)], [(1, 4, 8, 2)]
    ):
        name = f"GPT block, B {batch}, T {length}, d {dim}, forward and backward"
        block = gpt_block(nn, F, dim, heads, lambda x: x.swapaxes(1, 2))
        x = leaf(batch, length, dim)
        g = cp.ones((batch, length, dim), np.float32)

        def step(block: Any = block, x: Any = x, g: Any = g) -> None:
            block.zero_grad()
            block(x).backward(g)

        yield name, ours(step)
        yield f"{name}, captured", captured(step)
        torch = torch_on_gpu()
        if not torch:
            continue
        other = gpt_block(
            torch.nn, torch.nn.functional, dim, heads, lambda x: x.transpose(1, 2)
        ).cuda()
        u = torch.randn(batch, length, dim, device="cuda", requires_grad=True)
        seed = torch.ones_like(u)
        for kind, model in (("PyTorch eager", other), ("torch.compile", torch.compile(other))):

            def peer(model: Any = model, u: Any = u, seed: Any = seed) -> None:
                model.zero_grad()
                model(u).backward(seed)

            yield f"{name}, {kind}", theirs(torch, peer)


ROWS: list[Callable[[], Rows]] = [
    copy_bandwidth, gemm_peak, batched_backward, chains, small_ops, classifiers, jax_mlp,
    gpt_blocks,
]  # fmt: skip


def write(out: Path, rows: dict[str, dict[str, Any]], device: str, complete: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    report = {"device": device, "complete": complete, "rows": rows}
    (out / "benchmarks.json").write_text(json.dumps(report, indent=1))


def main() -> None:
    global SMALL
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    SMALL = args.small
    load_backend("cupy")
    ag.set_backend("cupy")
    name = "emulated" if SMALL else cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows: dict[str, dict[str, Any]] = {}
    end = time.monotonic() + args.seconds
    failed = complete = False
    for make in ROWS:
        if time.monotonic() > end:
            break
        try:
            for label, row in make():
                rows[label] = row
                write(args.out, rows, name, False)
                if time.monotonic() > end:
                    break
        except Exception as error:
            traceback.print_exc()
            rows[make.__name__] = {"error": f"{type(error).__name__}: {error}"[:200]}
            failed = True
        cp.get_default_memory_pool().free_all_blocks()
    else:
        complete = True
    write(args.out, rows, name, complete)
    print(f"{len(rows)} rows on {name}{'' if complete else ', incomplete'}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
