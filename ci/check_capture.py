"""Captures CUDA graphs on this machine's GPU, stage by stage, and says which stages work.

    python ci/check_capture.py

Each stage stands alone, so that a failure is reported and the next one is tried.  The last line
sums up; exits non-zero if a stage failed.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backend import load_backend

backend = load_backend("cupy")


def kernels() -> str:
    """A graph of two kernels, by CuPy alone."""
    x, y, stream = cp.arange(4.0), cp.zeros(4), cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        cp.add(x, 1.0, out=y)
        y *= 2.0
        graph = stream.end_capture()
        x[...] = 10
        graph.launch(stream)
    stream.synchronize()
    assert y.get().tolist() == [22.0] * 4
    return "two kernels captured and launched"


def bindings() -> str:
    """nvmath-python's cuBLAS loads."""
    from nvmath.bindings import cublas

    return f"cuBLAS {cublas.get_version(cublas.create())}"


def products() -> str:
    """Products of all dtypes, plain and batched, captured: the same as eager ones."""
    worst = 0.0
    for dtype in ("float16", "float32", "float64", "complex64"):
        rng = np.random.default_rng(0)
        a, b = (cp.asarray(rng.standard_normal((4, 64, 64)).astype(dtype)) for _ in range(2))
        captured = compiled(lambda x, y: (x[0] @ y[0].T, x @ y.swapaxes(1, 2)))
        for _ in range(4):
            got = captured(ag.Variable(a), ag.Variable(b))
        for y, e in zip(got, (a[0] @ b[0].T, a @ b.swapaxes(1, 2)), strict=True):
            worst = max(worst, float(abs(y.value - e).max() / abs(e).max()))
        require(captured)
    assert worst < 1e-2, f"the relative error is {worst}"
    return f"largest relative error {worst:.1e}"


def training() -> str:
    """A training step with dropout and AdamW, captured: losses as the eager ones."""
    losses: list[list[float]] = []
    for wrap in (lambda f: f, compiled):
        ag.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Dropout(0.2), nn.Linear(128, 10)
        )
        model.to("cupy")
        optimizer = optim.AdamW(model.parameters(), lr=1e-2)

        def step(x: Any, t: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), t)
            loss.backward()
            optim.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss

        function, rng = wrap(step), np.random.default_rng(0)
        losses.append([])
        for _ in range(20):
            x = ag.Variable(cp.asarray(rng.random((32, 64), dtype="f4")))
            t = ag.Variable(cp.asarray(rng.integers(0, 10, 32)))
            losses[-1].append(function(x, t).item())
    require(function)
    apart = float(np.abs(np.subtract(*losses)).max())
    assert apart < 1e-2, f"losses differ by {apart}"
    return f"20 steps, losses at most {apart:.1e} apart, {function.replays} replays"


def scaling() -> str:
    """A training step in float16 with a GradScaler, captured: skips and scales as the eager one."""
    ends: list[list[float]] = []
    for wrap in (lambda f: f, compiled):
        ag.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).to("cupy")
        optimizer = optim.NAdam(model.parameters(), lr=1e-3)
        scaler = optim.GradScaler(growth_interval=4)

        def step(
            x: Any, t: Any, model: Any = model, optimizer: Any = optimizer, scaler: Any = scaler
        ) -> Any:
            optimizer.zero_grad()
            with ag.autocast("float16"):
                loss = nn.functional.cross_entropy(model(x), t)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        function, rng = wrap(step), np.random.default_rng(0)
        ends.append([])
        for i in range(20):
            x = cp.asarray(rng.random((32, 64), dtype="f4") * (1e30 if i in (5, 6, 13) else 1))
            t = ag.Variable(cp.asarray(rng.integers(0, 10, 32)))
            loss = function(ag.Variable(x), t).item()
            if i not in (5, 6, 13):
                ends[-1].append(loss)
        count = next(iter(optimizer.state.values()))["step"]
        ends[-1] += [float(count), scaler.get_scale()]
    require(function)
    assert ends[0][-2:] == ends[1][-2:], f"steps and scales are {ends[0][-2:]} and {ends[1][-2:]}"
    apart = float(np.abs(np.subtract(*ends)).max())
    assert apart < 1e-2, f"losses differ by {apart}"
    return f"20 steps of which {count} were taken, losses at most {apart:.1e} apart"


def recovery() -> str:
    """A step that waits is run eagerly, and the device stays usable."""
    function = compiled(lambda x: ag.nonzero(x)[0])
    x = ag.Variable(cp.arange(5.0))
    for _ in range(4):
        assert function(x).value.get().tolist() == [1, 2, 3, 4]
    assert function.reason is not None
    cp.cuda.Device().synchronize()
    kernels()
    return f"eager, because {function.reason[:120]}"


def compiled(f: Callable[..., Any]) -> Any:
    return ag.compile(f)


def require(function: Any) -> None:
    assert function.replays, function.reason


def has_bindings() -> bool:
    try:
        importlib.import_module("nvmath.bindings")
    except ImportError:
        return False
    return True


def main() -> None:
    stages = [kernels, recovery]
    if has_bindings():
        stages[1:1] = [bindings, products, training, scaling]
    else:
        print("bindings, products, training, scaling: left out, nvmath-python is not installed")
    failed = []
    with ag.use_backend("cupy"):
        for stage in stages:
            try:
                print(f"{stage.__name__}: {stage()}", flush=True)
            except Exception as error:
                traceback.print_exc()
                print(f"{stage.__name__}: FAILED, {type(error).__name__}: {error}", flush=True)
                failed.append(stage.__name__)
    done = f"{len(stages) - len(failed)} of {len(stages)} stages"
    left_out = "" if has_bindings() else "; without nvmath-python, no products"
    print(f"{done}{'; failed: ' + ', '.join(failed) if failed else ''}{left_out}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
