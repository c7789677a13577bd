"""Functions that draw random numbers: what they keep on average, and the same on every backend."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F


def on(backend, x):
    return ag.Variable(load_backend(backend).from_host(np.asarray(x)), True)


DRAWN = [
    (F.dropout1d, (4, 8, 5), {}),
    (F.dropout1d, (8, 5), {}),
    (F.dropout2d, (4, 8, 3, 5), {}),
    (F.dropout3d, (4, 8, 3, 2, 5), {}),
    (F.dropout3d, (8, 3, 2, 5), {}),
    (F.alpha_dropout, (8, 9), {"training": True}),
    (F.feature_alpha_dropout, (4, 8, 5), {"training": True}),
    (F.rrelu, (8, 9), {"training": True}),
    (F.gumbel_softmax, (8, 9), {}),
    (F.gumbel_softmax, (8, 9), {"hard": True, "dim": 0, "tau": 0.5}),
]


@pytest.mark.parametrize(("function", "shape", "options"), DRAWN)
def test_draws_are_the_same_on_every_backend_and_have_gradients(backend, function, shape, options):
    x = np.random.default_rng(0).standard_normal(shape)

    def run(name):
        v = on(name, x)
        y = function(v, generator=ag.Generator(4), **options)
        ag.sum(y**2).backward()
        return y.numpy(), ag.Variable(v.grad).numpy()

    for actual, expected in zip(run(backend), run("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
        assert actual.dtype == np.float64
    other = function(on(backend, x), generator=ag.Generator(5), **options).numpy()
    assert (other != run(backend)[0]).any()


@pytest.mark.parametrize(("function", "shape", "options"), [c for c in DRAWN if "hard" not in c[2]])
def test_draws_differentiate_twice(function, shape, options):
    def f(x):
        return function(x**2 - 0.5, generator=ag.Generator(4), **options)

    x = np.random.default_rng(1).uniform(0.8, 1.5, shape)
    assert ag.grad_check(f, [x], order=2, fast=True)


@pytest.mark.parametrize(
    ("function", "shape", "channel"),
    [(F.dropout1d, (64, 32, 5), (2,)), (F.dropout3d, (64, 32, 2, 2, 2), (2, 3, 4)),
     (F.dropout3d, (2048, 2, 2, 2), (1, 2, 3))],
)  # fmt: skip
def test_whole_channels_are_left_out(function, shape, channel):
    y = function(np.ones(shape), 0.25, generator=ag.Generator(1)).value
    zero = (y == 0).all(channel)
    np.testing.assert_allclose(y[~zero], 1 / 0.75)
    assert zero.mean() == pytest.approx(0.25, abs=0.03)


def test_alpha_dropout_keeps_mean_and_variance():
    x = np.random.default_rng(0).standard_normal((500, 400))
    y = F.alpha_dropout(x, 0.3, training=True).value
    assert y.mean() == pytest.approx(0, abs=0.01)
    assert y.var() == pytest.approx(1, abs=0.02)
    dropped = F.alpha_dropout(np.zeros((500, 400)), 0.3, training=True).value
    assert (dropped == dropped.min()).mean() == pytest.approx(0.3, abs=0.01)
    channels = F.feature_alpha_dropout(np.zeros((50, 40, 3)), 0.3, training=True).value
    assert (channels == channels[..., :1]).all()
    np.testing.assert_array_equal(F.alpha_dropout(x, 0.3).value, x)
    assert not F.alpha_dropout(x, 1.0, training=True).value.any()


def test_rrelu_draws_slopes():
    y = F.rrelu(-np.ones(20_000), 0.2, 0.6, training=True).value
    assert -0.6 <= y.min() < -0.59
    assert -0.21 < y.max() <= -0.2
    assert y.mean() == pytest.approx(-0.4, abs=0.01)


def test_gumbel_softmax_draws_from_the_distribution():
    p = np.array([0.2, 0.5, 0.3])
    x = ag.Variable(np.broadcast_to(np.log(p), (20_000, 3)).copy(), True)
    y = F.gumbel_softmax(x, hard=True)
    assert set(np.unique(y.value.round(12))) == {0.0, 1.0}
    np.testing.assert_allclose(y.value.mean(0), p, atol=0.02)
    y[:, 0].sum().backward()
    assert (x.grad[:, 0] > 0).all()  # as that of the soft one


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("unit", [0.0, 1 - 2**-24])
def test_gumbel_softmax_of_the_least_and_largest_draws_is_finite(dtype, unit, monkeypatch):
    xp = load_backend("numpy").xp
    monkeypatch.setattr(xp, "random_unit", lambda shape, *key: np.full(shape, unit, "f4"))
    y = F.gumbel_softmax(np.zeros(3, dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.value, 1 / 3, rtol=1e-3)


@pytest.mark.parametrize("kind", ["Dropout1d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"])
def test_modules_are_active_in_training_only(kind):
    x = np.ones((2, 3, 4, 2, 2))[:, :, :, 0, 0] if kind == "Dropout1d" else np.ones((2, 3, 4, 2, 2))
    module = getattr(nn, kind)(0.5, generator=ag.Generator(0))
    assert (module(x).value != x).any()
    np.testing.assert_array_equal(module.eval()(x).value, x)
    slopes = nn.RReLU()
    assert len(set(slopes(-x).value.ravel())) > 1
    assert len(set(slopes.eval()(-x).value.ravel())) == 1


REFUSED = [
    (lambda: F.dropout1d(np.ones(3)), r"must be \[N, C, L\]"),
    (lambda: F.dropout3d(np.ones((2, 2))), r"must be \[N, C, D, H, W\]"),
    (lambda: F.alpha_dropout(np.ones(3), 1.5), "probability"),
    (lambda: F.feature_alpha_dropout(np.ones(3)), r"must be \[N, C"),
    (lambda: F.rrelu(np.ones(3), 0.5, 0.2), "must not be above"),
    (lambda: F.gumbel_softmax(np.ones(3), 0.0), "tau=0.0 must be positive"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
