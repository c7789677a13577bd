"""Averages, L-BFGS, half-precision parameters, loss scaling, and resuming bit for bit."""

import logging

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backend import load_backend


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    if request.param not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    with ag.use_backend(request.param):
        yield request.param


def on(backend, x, requires_grad=True):
    return ag.Variable(load_backend(backend).from_host(np.asarray(x)), requires_grad)


# Averages ---------------------------------------------------------------------------------------


def test_moving_averages(backend):
    x = on(backend, np.array([1.0, 2.0]))
    ema = optim.EMA([x], 0.75)
    expected = np.array([1.0, 2.0])
    for i in range(3):
        x.value = x.value + i
        ema.update()
        expected = 0.75 * expected + 0.25 * x.numpy()
    now = x.numpy()
    with ema.applied():
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-12)
    np.testing.assert_array_equal(x.numpy(), now)
    other = optim.EMA([on(backend, np.zeros(2))])
    other.load_state_dict(ema.state_dict())
    other.copy_to()
    np.testing.assert_allclose(other.params[0].numpy(), expected, rtol=1e-12)


def test_averages_refuse():
    with pytest.raises(ValueError, match="decay"):
        optim.EMA([], 1.0)
    with pytest.raises(TypeError, match="Variable"):
        optim.EMA([np.ones(2)])
    ema = optim.EMA([ag.Variable([1.0])])
    with pytest.raises(ValueError, match="shapes"):
        ema.load_state_dict({"decay": 0.5, "averages": [np.ones(2)]})


# L-BFGS -----------------------------------------------------------------------------------------


def test_lbfgs_finds_the_minimum_of_rosenbrock(backend):
    pytest.importorskip("scipy")
    a, b = on(backend, np.array(-1.2)), on(backend, np.array([1.0]))
    optimizer = optim.LBFGS([a, b], max_iter=100, tolerance_change=1e-14, tolerance_grad=1e-10)

    def closure():
        optimizer.zero_grad()
        loss = (1 - a) ** 2 + 100 * ag.sum((b - a * a) ** 2)
        loss.backward()
        return loss

    assert optimizer.step(closure) < 1e-12
    np.testing.assert_allclose([a.numpy(), b.numpy()[0]], 1, rtol=1e-5)


def test_lbfgs_refuses():
    pytest.importorskip("scipy")
    x = ag.Variable([1.0], True)
    with pytest.raises(ValueError, match="closure"):
        optim.LBFGS([x]).step()
    with pytest.raises(ValueError, match="the loss is nan"):
        optim.LBFGS([x]).step(lambda: ag.sum(x) * float("nan"))
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [x]}, {"params": [ag.Variable([1.0], True)]}])
    with pytest.raises(TypeError, match="complex"):
        optim.LBFGS([ag.Variable([1j], True)])
    with pytest.raises(ValueError, match="positive"):
        optim.LBFGS([x], max_iter=0)


# Half precision ---------------------------------------------------------------------------------

OPTIMIZERS = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad, optim.Lion]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_steps_add_up_in_a_float32_copy_of_half_parameters(backend, kind):
    half = on(backend, np.ones(4, "f2"))
    full = on(backend, np.ones(4, "f4"))
    a, b = kind([half], lr=1e-4), kind([full], lr=1e-4)
    for _ in range(20):  # each too small for float16 beside 1
        half.grad = load_backend(backend).from_host(np.full(4, 0.5, "f2"))
        full.grad = load_backend(backend).from_host(np.full(4, 0.5, "f4"))
        a.step()
        b.step()
    assert half.dtype == "float16"
    np.testing.assert_array_equal(half.numpy(), full.numpy().astype("f2"))
    assert half.numpy()[0] < 1


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_resuming_is_exact(kind):
    def model():
        ag.random.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))

    x = np.random.default_rng(0).standard_normal((16, 3)).astype("f4")

    def train(net, optimizer, schedule, steps):
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = ag.mean(net(x) ** 2)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        return losses

    net = model()
    optimizer = kind(net.parameters(), lr=1e-2)
    schedule = optim.CosineAnnealingLR(optimizer, 20)
    train(net, optimizer, schedule, 4)
    generator = ag.random.default_generator()
    saved = net.state_dict(), optimizer.state_dict(), schedule.state_dict(), generator.state_dict()
    whole = train(net, optimizer, schedule, 4)
    again = model()
    other = kind(again.parameters(), lr=0.5)
    later = optim.CosineAnnealingLR(other, 20)
    for target, state in zip((again, other, later, generator), saved, strict=True):
        target.load_state_dict(state)
    assert train(again, other, later, 4) == whole
    for p, q in zip(net.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(p.value, q.value)


def test_no_array_of_parameter_size_is_made_by_a_step():
    import tracemalloc

    for kind in OPTIMIZERS:
        x = ag.Variable(np.ones(1_000_000, "f4"), True)
        optimizer = kind([x], lr=1e-3)
        x.grad = np.ones(1_000_000, "f4")
        for _ in range(2):
            optimizer.step()
        tracemalloc.start()
        optimizer.step()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1_000_000, kind


# Loss scaling -----------------------------------------------------------------------------------


def test_scaling_leaves_steps_as_they_are(backend):
    plain, scaled = (on(backend, np.array([1.0, -2.0], "f4")) for _ in range(2))
    a, b = optim.Adam([plain], lr=0.1), optim.Adam([scaled], lr=0.1)
    scaler = optim.GradScaler(growth_interval=2)
    for _ in range(4):
        a.zero_grad()
        b.zero_grad()
        ag.sum(plain**2).backward()
        scaler.scale(ag.sum(scaled**2)).backward()
        a.step()
        assert scaler.step(b)
        scaler.update()
    np.testing.assert_array_equal(plain.numpy(), scaled.numpy())
    assert scaler.get_scale() == 2.0**18


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_step_with_bad_gradients_is_skipped_and_logged(backend, bad, caplog):
    x, y = on(backend, np.ones(3, "f4")), on(backend, np.ones(2, "f4"))
    optimizer = optim.SGD([x, y], lr=0.1)
    scaler = optim.GradScaler(1024.0)
    x.grad = load_backend(backend).from_host(np.array([1.0, bad, 0.0], "f4"))
    y.grad = load_backend(backend).from_host(np.zeros(2, "f4"))
    with caplog.at_level(logging.WARNING, "autograd_gpu"):
        assert not scaler.step(optimizer)
    scaler.update()
    assert "skipped" in caplog.text
    assert scaler.get_scale() == 512
    np.testing.assert_array_equal(x.numpy(), 1)
    state = scaler.state_dict()
    other = optim.GradScaler()
    other.load_state_dict(state)
    assert other.get_scale() == 512


def test_gradients_can_be_clipped_between():
    x = ag.Variable(np.array([3.0, 4.0]), True)
    optimizer, scaler = optim.SGD([x], lr=1.0), optim.GradScaler(8.0)
    scaler.scale(ag.sum(x * x) / 2).backward()
    scaler.unscale_(optimizer)
    np.testing.assert_allclose(x.grad, [3, 4])
    optim.clip_grad_norm_([x], 1.0)
    assert scaler.step(optimizer)
    np.testing.assert_allclose(x.value, [2.4, 3.2], rtol=1e-5)
    with pytest.raises(RuntimeError, match="twice"):
        scaler.unscale_(optimizer)
    scaler.update()
    with pytest.raises(RuntimeError, match="without a step"):
        scaler.update()


def test_a_scaler_that_is_off_does_nothing():
    x = ag.Variable([2.0], True)
    optimizer, scaler = optim.SGD([x], lr=1.0), optim.GradScaler(enabled=False)
    loss = ag.sum(x)
    assert scaler.scale(loss) is loss
    loss.backward()
    assert scaler.step(optimizer)
    scaler.update()
    assert x.tolist() == [1.0]
    with pytest.raises(ValueError, match="backoff_factor"):
        optim.GradScaler(backoff_factor=2.0)


def test_a_scaler_refuses_a_second_step_whose_gradients_it_would_not_unscale():
    weight = nn.Parameter(np.ones(2))
    optimizer, scaler = optim.SGD([weight], lr=0.1), optim.GradScaler(init_scale=8.0)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match="step was called twice without update"):
            scaler.step(optimizer)
        scaler.update()
    np.testing.assert_allclose(weight.numpy(), 0.8)


def test_a_scaler_refuses_gradients_that_do_not_fit_and_changes_none():
    a, b = (ag.Variable(np.ones(2), True) for _ in range(2))
    optimizer, scaler = optim.SGD([a, b], lr=0.1), optim.GradScaler(init_scale=8.0)
    for wrong, error, message in [
        (ag.Variable(np.ones(2)), TypeError, "SGD: .* not Variable; assign its value"),
        ([1.0, 1.0], TypeError, "SGD: .* like the parameter, not list"),
        (np.ones(3), ValueError, r"shape \[3\], its parameter \[2\]"),
    ]:
        a.grad, b.grad = np.full(2, 8.0), wrong
        with pytest.raises(error, match=message):
            scaler.unscale_(optimizer)
        assert a.grad.tolist() == [8.0, 8.0]
    b.grad = None
    scaler.unscale_(optimizer)
    assert a.grad.tolist() == [1.0, 1.0]
