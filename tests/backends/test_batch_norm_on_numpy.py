"""NumPy's own batch norm over many blocks of rows, against float64 and against the general form."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_batch_norm as own, numpy_rows
from autograd_gpu.ops import normalization

XP = load_backend("numpy").xp
EPS = 1e-5


class General:
    """The steps as they are without a form of NumPy's own."""

    @staticmethod
    def channel_statistics(*args):
        return normalization.channel_statistics.__wrapped__(XP, *args)

    @staticmethod
    def channels_normalised(*args):
        return normalization.channels_normalised.__wrapped__(XP, *args)

    @staticmethod
    def batch_norm_gradients(*args):
        return normalization.batch_norm_gradients.__wrapped__(XP, *args)


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch):
    monkeypatch.setattr(numpy_rows, "BLOCK", 400)
    monkeypatch.setattr(own, "SMALL", 0)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def through(steps, x, g, weight, bias, needs=(True, True, True)):
    """Mean, variance, value and gradients."""
    mean, variance = steps.channel_statistics(x)
    inverse = 1 / np.sqrt(variance + x.dtype.type(EPS))
    y = steps.channels_normalised(x, mean, inverse, weight, bias)
    return mean, variance, y, *steps.batch_norm_gradients(g, x, mean, inverse, weight, needs)


@pytest.mark.parametrize("long", [1, 1 << 20], ids=["long", "short"])
@pytest.mark.parametrize("shape", [(5, 7, 4, 9), (3, 2, 401), (1, 3, 32), (40, 50, 2)])
@pytest.mark.parametrize("mean", [0, 3, -1e4])
@pytest.mark.parametrize("given", ["", "weight", "weight and bias"])
def test_as_exact_as_the_general_form(shape, mean, given, long, monkeypatch):
    monkeypatch.setattr(own, "LONG", long)
    x, g = numbers(*shape) + np.float32(mean), numbers(*shape, seed=1)
    weight = numbers(shape[1], seed=2) if "weight" in given else None
    bias = numbers(shape[1], seed=3) if "bias" in given else None
    wide = [v if v is None else v.astype("f8") for v in (x, g, weight, bias)]
    exact = through(General, *wide)
    for mine, general, want in zip(
        through(own, x, g, weight, bias), through(General, x, g, weight, bias), exact, strict=True
    ):
        assert mine.dtype == np.float32
        assert mine.shape == want.shape
        scale = np.abs(want).max()
        error, usual = (np.abs(v - want).max() / scale for v in (mine, general))
        assert error <= 3 * usual + 1e-6, (error, usual)


def test_views_and_what_is_not_needed():
    x, g = numbers(40, 6, 5).T, numbers(40, 6, 5, seed=1).T  # [5, 6, 40]
    exact = through(General, x.astype("f8"), g.astype("f8"), None, None)
    for mine, want in zip(through(own, x, g, None, None), exact, strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-5, atol=1e-5)
    assert through(own, x, g, None, None, (False, True, True))[3] is None


def test_others_take_the_general_form():
    for x in (numbers(5, 0, 31), numbers(9, 3), numbers(5, 3, 40).astype("f2")):
        assert own.channel_statistics(x) is NotImplemented
        assert own.channels_normalised(x, None, None, None, None) is NotImplemented
        assert own.batch_norm_gradients(x, x, None, None, None, (True,)) is NotImplemented


def test_derivatives_of_second_order():
    x, weight, bias = (v.astype("f8") for v in (numbers(2, 2, 32), numbers(2), numbers(2)))

    def loss(x, weight, bias):
        return ag.sin(ag.nn.functional.batch_norm(x, None, None, weight, bias, training=True))

    assert ag.grad_check(loss, [x, weight, bias], order=2)
