"""Optimisers: PyTorch's steps, those by definition, and what they leave alone."""

import numpy as np
import pytest
from optimisers import CASES, MORE, loss, parameters, train

import autograd_gpu as ag
from autograd_gpu import optim


@pytest.fixture
def parity():
    """PyTorch with the numbers in its states in float64 as well."""
    parity = pytest.importorskip("parity", reason="PyTorch is not installed")
    before = parity.torch.get_default_dtype()
    parity.torch.set_default_dtype(parity.torch.float64)
    yield parity
    parity.torch.set_default_dtype(before)


def by_hand(name, x, g, state, options):
    """One step, by the definitions in PyTorch's documentation."""
    lr, decay = options["lr"], options.get("weight_decay", 0.0)
    if name.startswith("adam"):
        state["n"] = n = state.get("n", 0) + 1
        b1, b2 = options.get("betas", (0.9, 0.999))
        if name == "adamw":
            x = x * (1 - lr * decay)
        else:
            g = g + decay * x
        state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        m, v = state["m"] / (1 - b1**n), state["v"] / (1 - b2**n)
        return x - lr * m / (np.sqrt(v) + 1e-8)
    if name == "lion":
        b1, b2 = options.get("betas", (0.9, 0.99))
        m = state.get("m", 0)
        state["m"] = b2 * m + (1 - b2) * g
        return x * (1 - lr * decay) - lr * np.sign(b1 * m + (1 - b1) * g)
    g = g + decay * x
    if name.startswith("rmsprop"):
        alpha = options.get("alpha", 0.99)
        state["v"] = v = alpha * state.get("v", 0) + (1 - alpha) * g * g
        if options.get("centered"):
            state["a"] = alpha * state.get("a", 0) + (1 - alpha) * g
            v = v - state["a"] ** 2
        state["b"] = options.get("momentum", 0) * state.get("b", 0) + g / (np.sqrt(v) + 1e-8)
        return x - lr * state["b"]
    if name == "adagrad":
        n = state.get("n", 0)
        state["n"] = n + 1
        state["v"] = state.get("v", options["initial_accumulator_value"]) + g * g
        return x - lr / (1 + n * options["lr_decay"]) * g / (np.sqrt(state["v"]) + 1e-10)
    momentum = options.get("momentum", 0)
    if momentum:
        keep = 1 - options.get("dampening", 0)
        state["b"] = momentum * state["b"] + keep * g if "b" in state else g
        g = g + momentum * state["b"] if options.get("nesterov") else state["b"]
    return x - lr * g


@pytest.mark.parametrize("name", CASES)
def test_steps_by_definition(backend, name):
    kind, options = CASES[name]
    params = parameters(backend)
    optimizer = kind(params, **options)
    expected, states = [x.numpy() for x in params], [{} for _ in params]
    for _ in range(4):
        train(params, optimizer, 1)
        leaves = [ag.Variable(np.asarray(x), True) for x in expected]
        loss(leaves).backward()
        expected = [
            by_hand(name, x, leaf.grad, state, options)
            for x, leaf, state in zip(expected, leaves, states, strict=True)
        ]
        for x, value in zip(params, expected, strict=True):
            np.testing.assert_allclose(x.numpy(), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES | MORE if n not in ("lion", "lamb")])
def test_steps_of_pytorch(backend, name, parity):
    torch = parity.torch
    kind, options = (CASES | MORE)[name]
    params = parameters(backend)
    tensors = [torch.tensor(x.numpy(), requires_grad=True) for x in params]
    theirs = getattr(torch.optim, kind.__name__)(tensors, **options)
    optimizer = kind(params, **options)
    for _ in range(8):
        train(params, optimizer, 1)
        theirs.zero_grad()
        a, b, c = tensors
        (((a * b) ** 2).sum() + (torch.sin(b) * c).sum()).backward()
        theirs.step()
    for x, tensor in zip(params, tensors, strict=True):
        parity.close(x.numpy(), tensor)


@pytest.mark.parametrize("name", [n for n in CASES | MORE if n not in ("lion", "lamb")])
def test_steps_of_complex_parameters_are_pytorchs(name, parity):
    kind, options = (CASES | MORE)[name]
    start = parity.normal(5, 2) @ [1, 1j]
    # not contiguous: a step writes it back
    x, t = ag.Variable(np.repeat(start, 2)[::2], True), parity.torch.tensor(start)
    t.requires_grad = True
    optimizer = kind([x], **options)
    theirs = getattr(parity.torch.optim, kind.__name__)([t], **options)
    for _ in range(5):
        x.grad, t.grad = np.conj(x.value) * 2 + 1, t.detach().conj() * 2 + 1
        optimizer.step()
        theirs.step()
    parity.close(x.value, t)


def test_lamb_by_definition(backend):
    x = parameters(backend)[0]
    kind, options = MORE["lamb"]
    optimizer = kind([x], **options)
    p, m, v = x.numpy(), 0, 0
    for n in range(1, 4):
        g = np.cos(p)
        x.grad = ag.Variable(g).to(backend).value
        optimizer.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        r = m / (1 - 0.9**n) / (np.sqrt(v / (1 - 0.999**n)) + 1e-6) + 0.1 * p
        p = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(r) * r
        np.testing.assert_allclose(x.numpy(), p, rtol=1e-9)
    zero = ag.Variable(np.zeros(3), True)
    optimizer = kind([zero], lr=0.5)
    zero.grad = np.ones(3)
    optimizer.step()
    np.testing.assert_allclose(zero.value, -0.5, rtol=1e-5)


@pytest.mark.parametrize("name", MORE)
def test_steps_of_many_elements_and_of_half_types(name):
    kind, options = MORE[name]
    start = np.random.default_rng(0).standard_normal(100_000)
    whole = ag.Variable(start, True)
    parts = [ag.Variable(start[i::2].copy(), True) for i in range(2)]
    half = ag.Variable(start.astype("f2"), True)
    optimizers = [kind(xs, **options) for xs in ([whole], parts, [half])]
    for _ in range(3):
        whole.grad = np.cos(start)
        for i, part in enumerate(parts):
            part.grad = np.cos(start[i::2])
        half.grad = np.cos(start).astype("f2")
        for optimizer in optimizers:
            optimizer.step()
    if name != "lamb":  # which looks at the norm of all
        for i, part in enumerate(parts):
            np.testing.assert_array_equal(part.value, whole.value[i::2])
    assert half.dtype == np.float16
    assert optimizers[2].state[half]["master"].dtype == np.float32
    np.testing.assert_allclose(half.value, whole.value, rtol=5e-3, atol=5e-3)


def test_a_step_changes_nobody_elses_array():
    array = np.ones(3)
    x = ag.Variable(array, requires_grad=True)
    y = x * x
    optimizer = optim.SGD([x], lr=0.1)
    x.grad = np.ones(3)
    optimizer.step()
    assert array.tolist() == [1, 1, 1]
    assert x.tolist() == [0.9, 0.9, 0.9]
    x.zero_grad()
    y.backward(np.ones(3))
    assert x.grad.tolist() == [2, 2, 2]  # of the value at the time of the product


def test_a_step_works_in_place_where_it_can():
    x = ag.Variable(np.ones(3) * 1, requires_grad=True)
    optimizer = optim.SGD([x], lr=0.1)
    x.grad = np.ones(3)
    optimizer.step()
    address = x.value.ctypes.data
    optimizer.step()
    assert x.value.ctypes.data == address


def test_parameters_without_gradient_stay():
    a, b, _ = parameters()
    optimizer = optim.Adam([a, b])
    a.grad = np.ones((3, 4))
    before = b.value.copy()
    optimizer.step()
    np.testing.assert_array_equal(b.value, before)
