"""Optimiser steps on every backend against their formulas, and against PyTorch where it is."""

import numpy as np
import pytest


def sgd_reference(p, g, buf, lr, momentum, dampening, weight_decay, nesterov, first):
    g = g + weight_decay * p
    if buf is not None:
        buf = g if first else momentum * buf + (1 - dampening) * g
        g = g + momentum * buf if nesterov else buf
    return p - lr * g, buf


def adam_reference(p, g, m, v, lr, beta1, beta2, eps, weight_decay, decoupled, step):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return p - lr * m_hat / (np.sqrt(v_hat) + eps), m, v


SGD = [
    {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False},
    {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.1, "nesterov": False},
    {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1, "nesterov": False},
    {"momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": True},
    {"momentum": 0.9, "dampening": 0.0, "weight_decay": 0.1, "nesterov": True},
]
ADAM = [
    {"weight_decay": decay, "decoupled": decoupled} for decay in (0, 0.1) for decoupled in (0, 1)
]
SHAPES = [(), (3, 5), (2 * 32_768 + 3,)]
TOLERANCE = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-12}


OPTIONS = {
    "lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1, "decoupled": False,
    "step": 2,
}  # fmt: skip


def state(shape, dtype, count):
    rng = np.random.default_rng(0)
    return [np.asarray(rng.uniform(-1, 1, shape)).astype(dtype) for _ in range(count)]


def close(backend, got, want, tolerance):
    np.testing.assert_allclose(backend.to_host(got).astype("f8"), want, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", SGD, ids=str)
def test_sgd_step(backend, options, shape, dtype):
    want_p, g, want_buf = (x.astype("f8") for x in state(shape, dtype, 3))
    p, gradient, buf = map(backend.from_host, state(shape, dtype, 3))
    if not options["momentum"]:
        buf = want_buf = None
    for i in range(3):
        backend.sgd_step(p, gradient, buf, lr=0.1, first=i == 0, **options)
        want_p, want_buf = sgd_reference(want_p, g, want_buf, 0.1, first=i == 0, **options)
        close(backend, gradient, g, 0)
        close(backend, p, want_p, TOLERANCE[dtype])
        if buf is not None:
            close(backend, buf, want_buf, 2 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", ADAM, ids=str)
def test_adam_step(backend, options, shape, dtype):
    p, g = state(shape, dtype, 2)
    want = [p.astype("f8"), np.zeros(shape), np.zeros(shape)]
    p = backend.from_host(p)
    # moments of half-precision parameters are kept in float32
    m, v = (backend.from_host(np.zeros(shape, "f4" if dtype == "f2" else dtype)) for _ in "mv")
    fixed = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}
    for step in range(1, 4):
        gradient = backend.from_host(g)
        backend.adam_step(p, gradient, m, v, step=step, **fixed, **options)
        want = adam_reference(want[0], g.astype("f8"), *want[1:], step=step, **fixed, **options)
        close(backend, gradient, g, 0)
        for got, x in zip((p, m, v), want, strict=True):
            close(backend, got, x, TOLERANCE[dtype])
        g = np.asarray(g * g.dtype.type(0.7))


def torch_dtype(torch, dtype):
    return {"f4": torch.float32, "f8": torch.float64}[dtype]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("options", SGD, ids=str)
def test_sgd_step_is_pytorchs(backend, options, dtype):
    torch = pytest.importorskip("torch")
    p, g, _ = state((7, 9), dtype, 3)
    theirs = torch.nn.Parameter(torch.from_numpy(p.copy()))
    optimiser = torch.optim.SGD([theirs], lr=0.1, **options)
    ours, buf = backend.from_host(p), backend.from_host(np.zeros_like(p))
    for i in range(5):
        theirs.grad = torch.from_numpy(g * (i - 2))
        optimiser.step()
        gradient = backend.from_host(g * (i - 2))
        momentum = buf if options["momentum"] else None
        backend.sgd_step(ours, gradient, momentum, lr=0.1, first=i == 0, **options)
        close(backend, ours, theirs.detach().numpy(), {"f4": 1e-6, "f8": 1e-12}[dtype])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_adam_step_is_pytorchs(backend, name, decay, dtype):
    torch = pytest.importorskip("torch")
    p, g, _ = state((7, 9), dtype, 3)
    theirs = torch.nn.Parameter(torch.from_numpy(p.copy()))
    optimiser = getattr(torch.optim, name)([theirs], lr=0.01, weight_decay=decay)
    ours, m, v = map(backend.from_host, (p, np.zeros_like(p), np.zeros_like(p)))
    for i in range(5):
        theirs.grad = torch.from_numpy(g * (i - 2))
        optimiser.step()
        backend.adam_step(
            ours, backend.from_host(g * (i - 2)), m, v, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8,
            weight_decay=decay, decoupled=name == "AdamW", step=i + 1,
        )  # fmt: skip
        close(backend, ours, theirs.detach().numpy(), {"f4": 1e-6, "f8": 1e-12}[dtype])


def test_steps_of_complex_are_those_of_its_parts(backend):
    p, g, m, v = (x[..., 0] + 1j * x[..., 1] for x in state((4, 5, 2), "f8", 4))
    v = np.abs(v.real) + 1j * np.abs(v.imag)
    whole = [backend.from_host(x) for x in (p, g, m, v)]
    # one that is not contiguous must be changed as well
    whole[0] = backend.from_host(p.T.copy()).T
    assert not whole[0].flags.c_contiguous
    parts = [backend.from_host(x.view("f8")) for x in (p, g, m, v)]
    backend.adam_step(*whole, **OPTIONS)
    backend.adam_step(*parts, **OPTIONS)
    for _ in range(2):
        for arrays in (whole, parts):
            backend.sgd_step(
                *arrays[:3], lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1, nesterov=False,
                first=False,
            )  # fmt: skip
    for x, part in zip(whole, parts, strict=True):
        x = np.ascontiguousarray(backend.to_host(x)).view("f8")
        np.testing.assert_allclose(x, backend.to_host(part), rtol=1e-14)


def test_steps_take_any_layout(backend):
    p, g, m, v = state((6, 8), "f8", 4)
    v = abs(v)
    to = backend.from_host
    strided = [to(p.T.copy()).T, to(g[:, ::-1])[:, ::-1], to(m), to(v.T.copy()).T]
    assert not strided[0].flags.c_contiguous
    dense = [to(p), to(g), to(m), to(v)]
    backend.adam_step(*strided, **OPTIONS)
    backend.adam_step(*dense, **OPTIONS)
    for got, x in zip(strided, dense, strict=True):
        np.testing.assert_array_equal(backend.to_host(got), backend.to_host(x))


def test_steps_of_bfloat16(backend):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    p, g, m, v = state((6, 8), bfloat16, 4)
    v = abs(v)
    want = [x.astype("f4") for x in (p, g, m, v)]
    arrays = list(map(backend.from_host, (p, g, m, v)))
    backend.adam_step(*arrays, **OPTIONS)
    backend.adam_step(*(wanted := list(map(backend.from_host, want))), **OPTIONS)
    for got, x in zip(arrays, wanted, strict=True):
        assert got.dtype == bfloat16
        rounded = backend.to_host(x).astype(bfloat16)
        np.testing.assert_array_equal(backend.to_host(got), rounded)
