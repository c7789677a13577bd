"""The backends' own layer norm and cross-entropy against the formulas in float64."""

import numpy as np
import pytest

TOLERANCE = {"f2": 4e-3, "f4": 1e-5, "f8": 1e-12}
EPS = 1e-5


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(backend, out, want, dtype):
    assert out.dtype == dtype
    got = backend.to_host(out).astype("f8")
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def layer_norm_by_formula(x, weight, bias, axes):
    mean = x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + EPS)
    normal = (x - mean) * inverse
    return normal * weight + bias, normal, inverse


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    ("shape", "count"), [((3, 5), 1), ((2, 3, 4), 2), ((5, 600), 1), ((7,), 1)]
)
def test_layer_norm(backend, shape, count, affine, dtype):
    x, g = numbers(shape, dtype), numbers(shape, dtype, 1)
    normal_shape = shape[len(shape) - count :]
    weight, bias = numbers(normal_shape, dtype, 2), numbers(normal_shape, dtype, 3)
    axes, lead = tuple(range(-count, 0)), tuple(range(len(shape) - count))
    moved = [backend.from_host(v) for v in (x, weight, bias, g)]
    if not affine:
        weight, bias = np.ones_like(weight), np.zeros_like(bias)
        moved[1:3] = None, None
    xp = backend.xp
    y, kept = xp.normalised(*moved[:3], count=count, eps=EPS)
    grads = xp.layer_norm_gradients(
        moved[3], moved[0], moved[1], kept, (True, affine, affine), count=count, eps=EPS
    )
    x, weight, bias, g = (v.astype("f8") for v in (x, weight, bias, g))
    want, normal, inverse = layer_norm_by_formula(x, weight, bias, axes)
    close(backend, y, want, dtype)
    h = g * weight
    along = (h * normal).mean(axes, keepdims=True)
    close(backend, grads[0], (h - h.mean(axes, keepdims=True) - normal * along) * inverse, dtype)
    if affine:
        wide = "f4" if dtype == "f2" else dtype
        want = {"f2": "f2", "f4": "f4", "f8": "f8"}[dtype]
        for grad, full in ((grads[1], (g * normal).sum(lead)), (grads[2], g.sum(lead))):
            assert grad.dtype == wide
            close(backend, backend.xp.astype(grad, np.dtype(want)), full, dtype)
    else:
        assert grads[1:] == (None, None)


def test_layer_norm_far_from_zero(backend):
    # the difference of two large sums would lose the variance
    x = numbers((4, 1000), "f8") + 1e4
    y, _ = backend.xp.normalised(backend.from_host(x.astype("f4")), None, None, count=1, eps=EPS)
    want, *_ = layer_norm_by_formula(x.astype("f4").astype("f8"), 1, 0, -1)
    np.testing.assert_allclose(backend.to_host(y), want, atol=5e-3)


@pytest.mark.parametrize("mean", [0.0, 0.5, 30.0, -3000.0])
def test_layer_norm_of_rows_with_a_mean(backend, mean):
    x, g = numbers((6, 40), "f4") + np.float32(mean), numbers((6, 40), "f4", 1)
    x[1] = mean  # no deviation at all
    weight, bias = numbers(40, "f4", 2), numbers(40, "f4", 3)
    xp = backend.xp
    moved = [backend.from_host(v) for v in (x, weight, bias, g)]
    y, kept = xp.normalised(*moved[:3], count=1, eps=EPS)
    grads = xp.layer_norm_gradients(
        moved[3], moved[0], moved[1], kept, (True, True, True), count=1, eps=EPS
    )
    x, weight, bias, g = (v.astype("f8") for v in (x, weight, bias, g))
    want, normal, inverse = layer_norm_by_formula(x, weight, bias, 1)
    # the digits of x itself are what limits those of the result
    tolerance = 1e-6 * max(5.0, 3 * abs(mean))
    h = g * weight
    rest = h - h.mean(1, keepdims=True) - normal * (h * normal).mean(1, keepdims=True)
    wanted = [want, rest * inverse, (g * normal).sum(0), g.sum(0)]
    for got, want in zip([y, *grads], wanted, strict=True):
        got = backend.to_host(got)
        rows = np.arange(len(got)) != 1 if got.ndim == 2 else slice(None)
        np.testing.assert_allclose(
            got[rows], want[rows], rtol=tolerance, atol=tolerance * np.abs(want[rows]).max()
        )


def test_layer_norm_keeps_infinities_in_their_row(backend):
    x = numbers((4, 10), "f4")
    x[2, 3] = np.nan
    y, _ = backend.xp.normalised(backend.from_host(x), None, None, count=1, eps=EPS)
    is_nan = np.isnan(backend.to_host(y)).any(1)
    np.testing.assert_array_equal(is_nan, [False, False, True, False])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 1), (4, 700)])
def test_softmax_cross_entropy(backend, shape, dtype):
    x = 3 * numbers(shape, dtype)
    n, width = shape
    target = np.arange(n) * 3 % width
    scale, picked = numbers(n, dtype, 1), numbers(n, dtype, 2)
    moved = [backend.from_host(v) for v in (x, target, scale, picked)]
    total, found, kept = backend.xp.softmax_cross_entropy(*moved[:2])
    grad = backend.xp.softmax_less_picked(moved[0], kept, moved[2], moved[1], moved[3])
    x, scale, picked = (v.astype("f8") for v in (x, scale, picked))
    log_total = np.log(np.exp(x).sum(1))
    close(backend, total, log_total, dtype)
    close(backend, found, x[np.arange(n), target], dtype)
    want = np.exp(x - log_total[:, None]) * scale[:, None]
    want[np.arange(n), target] -= picked
    close(backend, grad, want, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_softmax_of_large_and_infinite_numbers(backend, dtype):
    x = np.array([[1e4, 1e4, -1e4], [-np.inf, 0, -np.inf]], dtype)
    target = backend.from_host(np.array([0, 1]))
    total, _, kept = backend.xp.softmax_cross_entropy(backend.from_host(x), target)
    close(backend, total, [1e4 + np.log(2), 0], dtype)
    one = backend.from_host(np.ones(2, dtype))
    grad = backend.xp.softmax_less_picked(backend.from_host(x), kept, one, target, one)
    np.testing.assert_allclose(backend.to_host(grad), [[-0.5, 0.5, 0], [0, 0, 0]], atol=1e-3)


def test_wrong_labels_are_nan_on_a_gpu(cupy_backend):
    x = cupy_backend.from_host(np.ones((3, 4), "f4"))
    target = cupy_backend.from_host(np.array([0, 4, -1]))
    _, picked, _ = cupy_backend.xp.softmax_cross_entropy(x, target)
    np.testing.assert_array_equal(cupy_backend.to_host(picked), [1, np.nan, np.nan])


def test_launches(cupy_backend, counting):
    x, g = (cupy_backend.from_host(numbers((3, 8), "f4", i)) for i in range(2))
    row = cupy_backend.from_host(numbers(8, "f4"))
    target = cupy_backend.from_host(np.array([0, 1, 2]))
    xp = cupy_backend.xp
    with counting() as c:
        _, kept = xp.normalised(x, row, row, count=1, eps=EPS)
        xp.layer_norm_gradients(g, x, row, kept, (True, True, True), count=1, eps=EPS)
    assert (c.launches, c.waits, c.to_device) == (5, 0, 0), str(c)
    scale = cupy_backend.from_host(np.ones(3, "f4"))
    with counting() as c:
        _, _, kept = xp.softmax_cross_entropy(x, target)
        xp.softmax_less_picked(x, kept, scale, target, scale)
    assert (c.launches, c.waits, c.to_device) == (3, 0, 0), str(c)
