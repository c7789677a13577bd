"""Layer norm and RMS norm over many blocks of wide rows, for which NumPy has forms of its own."""

import numpy as np
import pytest
from norm_formulas import EPS, layer_norm, rms_norm

import autograd_gpu as ag
from autograd_gpu.backends import numpy_layer_norm, numpy_rms_norm, numpy_rows

DTYPES = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "float64": 1e-14}


@pytest.fixture
def many_blocks(monkeypatch):
    """More than one block for a test's rows, and the last one not full."""
    monkeypatch.setattr(numpy_rows, "BLOCK", 4096)


def numbers(dtype, *shape, seed=0):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [383, 384, 1000, 3001])
@pytest.mark.parametrize("affine", ["", "weight", "weight and bias"])
def test_values_and_gradients(many_blocks, width, affine, dtype):
    x, g = numbers(dtype, 25, width), numbers(dtype, 25, width, seed=1)
    weight, bias = numbers(dtype, width, seed=2), numbers(dtype, width, seed=3)
    x[3] += 2  # a block that has to be centred
    given = [weight if "weight" in affine else None, bias if "bias" in affine else None]
    needs = (True, *[v is not None for v in given])
    y, kept = numpy_layer_norm.layer_norm(x, *given, count=1, eps=EPS)
    grads = numpy_layer_norm.layer_norm_gradients(g, x, given[0], kept, needs, count=1, eps=EPS)
    assert y.dtype == grads[0].dtype == x.dtype
    want = layer_norm(
        x, g, *[np.zeros_like(v) + i if w is None else w
                for i, v, w in ((1, weight, given[0]), (0, bias, given[1]))]
    )  # fmt: skip
    for got, expected in zip((y, *grads), want, strict=True):
        if got is not None:
            scale = np.abs(expected).max()
            error = np.abs(got.astype("f8") - expected).max()
            assert error < DTYPES[dtype] * scale, (error, scale)
    assert [v is not None for v in grads] == list(needs)


@pytest.mark.parametrize(
    "needs", [(True, False, False), (False, True, False), (False, False, True)]
)
def test_gradients_of_one_operand(many_blocks, needs):
    x, g = numbers("float32", 25, 512), numbers("float32", 25, 512, seed=1)
    weight = numbers("float32", 512, seed=2)
    _, kept = numpy_layer_norm.layer_norm(x, weight, weight, count=1, eps=EPS)
    every = numpy_layer_norm.layer_norm_gradients(
        g, x, weight, kept, (True, True, True), count=1, eps=EPS
    )
    some = numpy_layer_norm.layer_norm_gradients(g, x, weight, kept, needs, count=1, eps=EPS)
    for a, b, needed in zip(some, every, needs, strict=True):
        assert (a is not None) == needed
        if needed:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mean", [1e2, 1e4, -1e4])
def test_rows_with_a_large_mean(many_blocks, mean):
    """A float32 number of about 1e4 is itself only known to 5e-4."""
    x, g = numbers("float32", 25, 512) + np.float32(mean), numbers("float32", 25, 512, seed=1)
    weight, bias = numbers("float32", 512, seed=2), numbers("float32", 512, seed=3)
    y, kept = numpy_layer_norm.layer_norm(x, weight, bias, count=1, eps=EPS)
    grads = numpy_layer_norm.layer_norm_gradients(
        g, x, weight, kept, (True, True, True), count=1, eps=EPS
    )
    for got, expected in zip((y, *grads), layer_norm(x, g, weight, bias), strict=True):
        error = np.abs(got - expected).max() / np.abs(expected).max()
        assert error < 1e-7 * abs(mean), error


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("width", [40, 512])
def test_what_is_no_number_stays_in_its_row(many_blocks, width, bad):
    x, g = numbers("float32", 25, width), numbers("float32", 25, width, seed=1)
    weight = numbers("float32", width, seed=2)
    wrong = {3, 8}
    x[3, 5] = g[8, 7] = bad
    with np.errstate(invalid="ignore"):
        y, kept = numpy_layer_norm.layer_norm(x, weight, weight, count=1, eps=EPS)
        grad, *_ = numpy_layer_norm.layer_norm_gradients(
            g, x, weight, kept, (True, True, True), count=1, eps=EPS
        )
    assert {i for i, row in enumerate(y) if not np.isfinite(row).all()} == {3}
    assert {i for i, row in enumerate(grad) if not np.isfinite(row).all()} == wrong


def test_results_are_no_views():
    """A view would be copied when it is handed to a leaf."""
    x, g = numbers("float32", 2, 3, 4), numbers("float32", 2, 3, 4, seed=1)
    weight = numbers("float32", 3, 4)
    y, kept = numpy_layer_norm.layer_norm(x, weight, weight, count=2, eps=EPS)
    grads = numpy_layer_norm.layer_norm_gradients(
        g, x, weight, kept, (True, True, True), count=2, eps=EPS
    )
    for result, like in zip((y, *grads), (x, x, weight, weight), strict=True):
        assert result.shape == like.shape
        assert result.base is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [40, 383, 384, 1000, 3001])
@pytest.mark.parametrize("affine", [False, True])
def test_rms_norm(many_blocks, monkeypatch, width, affine, dtype):
    monkeypatch.setattr(numpy_rms_norm, "SMALL", 0)
    x, g = numbers(dtype, 120, width), numbers(dtype, 120, width, seed=1)
    weight = numbers(dtype, width, seed=2)
    given = weight if affine else None
    y, inverses = numpy_rms_norm.rms_normalised(x, given, count=1, eps=EPS)
    grads = numpy_rms_norm.rms_norm_gradients(g, x, given, inverses, (True, affine), count=1)
    assert y.dtype == grads[0].dtype == x.dtype
    assert inverses.shape == (120, 1)
    wanted = rms_norm(x, g, weight if affine else np.ones_like(weight))
    for got, want in zip((y, *grads), wanted, strict=True):
        if got is not None:
            assert got.base is None
            error = np.abs(got.astype("f8") - want).max() / np.abs(want).max()
            assert error < DTYPES[dtype], error
    assert (grads[1] is not None) == affine


def test_rms_norm_keeps_what_the_general_form_does(monkeypatch):
    """Either may be differentiated by the other, as where a second derivative is taken."""
    monkeypatch.setattr(numpy_rms_norm, "SMALL", 0)
    x, weight = numbers("float64", 6, 3, 4), numbers("float64", 3, 4, seed=1)

    def loss(x, weight):
        return ag.sum(ag.sin(ag.nn.functional.rms_norm(x, (3, 4), weight, EPS)))

    assert ag.grad_check(loss, [x, weight], order=2)
    assert ag.grad_check(lambda x: loss(x, None), [x], order=2)
