"""NumPy's fast forms of neural networks' steps against the general ones."""

import numpy as np
import pytest

from autograd_gpu.backend import load_backend
from autograd_gpu.backends import convolution, numpy_convolution, numpy_layer_norm, numpy_rows
from autograd_gpu.backends.scratch import ALIGNMENT, KEPT, scratch
from autograd_gpu.ops import classification, layers

XP = load_backend("numpy").xp


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", [(1, 1), (3, 2), (5, 5)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [((0, 0), (0, 0)), ((1, 2), (0, 3))])
@pytest.mark.parametrize("dilation", [(1, 1), (1, 2)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("size", [(9, 10), (14, 40)])
def test_convolution(kernel, stride, padding, dilation, groups, size):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w, b = normal(3, 8, *size), normal(12, 8 // groups, *kernel), normal(12)
    y = convolution.conv2d(XP, x, w, b, **options)
    close(numpy_convolution.conv2d(x, w, b, **options), y)
    g = normal(*y.shape)
    for name, a, c, extent in (("input", g, w, size), ("weight", x, g, kernel)):
        general = getattr(convolution, f"conv2d_{name}")
        own = getattr(numpy_convolution, f"conv2d_{name}")
        close(own(a, c, size=extent, **options), general(XP, a, c, size=extent, **options))


def test_convolution_of_strided_views():
    options = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
    x, w = normal(6, 6, 3, 2).T, normal(3, 3, 3, 4).T[:, ::-1]
    g = normal(6, 6, 4, 2).T
    for function, a, c, more in (
        (numpy_convolution.conv2d, x, w, {}),
        (numpy_convolution.conv2d_input, g, w, {"size": (6, 6)}),
        (numpy_convolution.conv2d_weight, x, g, {"size": (3, 3)}),
    ):
        dense = function(np.ascontiguousarray(a), np.ascontiguousarray(c), **options, **more)
        close(function(a, c, **options, **more), dense)


def test_no_images():
    options = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    assert numpy_convolution.conv2d(normal(0, 2, 5, 5), normal(3, 2, 2, 2), **options).shape == (
        (0, 3, 4, 4)
    )  # fmt: skip
    weight = numpy_convolution.conv2d_weight(
        normal(0, 2, 5, 5), normal(0, 3, 4, 4), size=(2, 2), **options
    )
    assert not weight.any()


@pytest.mark.parametrize("shape", [(7, 5), (3000, 64), (0, 4), (2, 3, 4)])
@pytest.mark.parametrize("given", [0, 1, 2])
def test_layer_norm(shape, given):
    width = shape[-1]
    x, g = normal(*shape) + 2, normal(*shape)
    weight, bias = (normal(width), normal(width), None, None)[2 - given : 4 - given]
    if given == 1:
        weight, bias = bias, weight
    expected, _ = layers.normalised.__wrapped__(XP, x, weight, bias, count=1, eps=1e-3)
    y, kept = numpy_layer_norm.layer_norm(x, weight, bias, count=1, eps=1e-3)
    close(y, expected)
    needs = (True, weight is not None, bias is not None)
    general = layers.layer_norm_gradients.__wrapped__(
        XP, g, x, weight, None, needs, count=1, eps=1e-3
    )
    own = numpy_layer_norm.layer_norm_gradients(g, x, weight, kept, needs, count=1, eps=1e-3)
    for a, b in zip(own, general, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(a, b)


@pytest.mark.parametrize("shape", [(5, 3), (3000, 100), (0, 4)])
def test_softmax_cross_entropy(shape):
    x = 5 * normal(*shape)
    n, width = shape
    target = np.arange(n) % width
    scale, picked = normal(n, 1)[:, 0], normal(n, 2)[:, 0]
    *general, kept = classification.softmax_cross_entropy.__wrapped__(XP, x, target)
    *own, mine = numpy_rows.softmax_cross_entropy(x, target)
    for a, b in zip(own, general, strict=True):
        close(a, b)
    close(
        numpy_rows.softmax_less_picked(x, mine, scale, target, picked),
        classification.softmax_less_picked.__wrapped__(XP, x, kept, scale, target, picked),
    )


@pytest.mark.parametrize("ignored", [-100, 2, 255])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_checked_labels(dtype, ignored):
    logits = normal(6, 5)
    given = np.array([0, 4, 2, 2, 3, 1], dtype)
    if given.dtype.kind == "i" and ignored < 0:
        given[1] = ignored
    before = given.copy()
    labels, keep = numpy_rows.checked_labels(logits, given, ignored)
    want = classification.checked_labels.__wrapped__(XP, logits, given, ignored)
    np.testing.assert_array_equal(labels, want[0])
    np.testing.assert_array_equal(keep, want[1])
    assert keep.dtype == logits.dtype
    labels[:] = 0  # a recorded step keeps them
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("wrong", [5, -1, -(2**63), 2**62])
def test_checked_labels_refuses_what_is_no_column(wrong):
    with pytest.raises(IndexError, match=rf"{wrong} is outside \[0, 5\)"):
        numpy_rows.checked_labels(normal(3, 5), np.array([0, wrong, 4]), -100)


@pytest.mark.parametrize("factor", [[1.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
def test_weighted_mean(factor):
    rows, factor = normal(3).astype("f4"), np.array(factor, "f4")
    own = numpy_rows.weighted_mean(rows, factor)
    for a, b in zip(own, classification.weighted_mean.__wrapped__(XP, rows, factor), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("width", [3, 900])
def test_softmax_cross_entropy_of_rows_that_are_not_in_c_order(width):
    x = normal(width, 12).T
    target = (np.arange(12) * 7 % width).astype("uint64")
    for a, b in zip(
        numpy_rows.softmax_cross_entropy(x, target)[:2],
        numpy_rows.softmax_cross_entropy(x.copy(), target)[:2],
        strict=True,
    ):
        close(a, b)


@pytest.mark.parametrize("shift", [0, 10, -10, 100, -100])
def test_cross_entropy_of_moderate_and_of_large_numbers(monkeypatch, shift):
    """Blocks of numbers up to 16 are not shifted by their rows' maxima, others are."""
    monkeypatch.setattr(numpy_rows, "BLOCK", 1000)
    x = (2 * normal(30, 100) + shift).astype(np.float32)
    x[3, 7], x[17, 20:] = -np.inf, 3 * x[17, 20:]
    target, scale = np.arange(30), np.full(30, 1e-20, np.float32)
    total, _, kept = numpy_rows.softmax_cross_entropy(x, target)
    grad = numpy_rows.softmax_less_picked(x, kept, scale, target, scale)
    wide = x.astype(np.float64)
    top = wide.max(1, keepdims=True)
    exps = np.exp(wide - top)
    want = np.log(exps.sum(1)) + top[:, 0]
    np.testing.assert_allclose(total, want, rtol=3e-7, atol=3e-7)
    want = exps / exps.sum(1, keepdims=True)
    want[target, target] -= 1
    np.testing.assert_allclose(grad / 1e-20, want, atol=3e-7)


def test_scratch_memory_begins_at_a_cache_line():
    for size in (3, 5000):
        assert scratch("lines", (size,), np.dtype("f4")).ctypes.data % ALIGNMENT == 0


def test_scratch_memory_is_kept_up_to_a_bound():
    dtype = np.dtype(np.float32)
    a = scratch("test", (10, 10), dtype)
    b = scratch("test", (5, 5), dtype)
    assert np.shares_memory(a, b)
    assert not np.shares_memory(a, scratch("other", (10, 10), dtype))
    big = KEPT // 4 + 1
    assert not np.shares_memory(scratch("test", (big,), dtype), scratch("test", (big,), dtype))
