"""erf on every backend against Python's."""

import math

import numpy as np
import pytest

TOLERANCE = {"f2": 1e-3, "f4": 5e-7, "f8": 1e-15}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_erf(backend, dtype):
    x = np.concatenate([np.linspace(-7, 7, 20_001), np.logspace(-7, 0, 71), [-0.0, 0.0]])
    x = np.append(x, [math.inf, -math.inf]).astype(dtype)
    out = backend.xp.erf(backend.from_host(x))
    assert out.dtype == dtype
    out = backend.to_host(out)
    want = np.array([math.erf(v) for v in x.tolist()])
    smallest = 2**-24 if dtype == "f2" else 0
    np.testing.assert_allclose(out.astype("f8"), want, rtol=TOLERANCE[dtype], atol=smallest)
    assert (abs(out) <= 1).all()
    np.testing.assert_array_equal(out[abs(x) >= 6], np.sign(x[abs(x) >= 6]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_erf_of_nan_empty_and_views(backend, dtype):
    nan = backend.to_host(backend.xp.erf(backend.from_host(np.array([math.nan, 1.0], dtype))))
    np.testing.assert_array_equal(np.isnan(nan), [True, False])
    assert backend.xp.erf(backend.from_host(np.empty((0, 3), dtype))).shape == (0, 3)
    x = np.linspace(-1, 1, 12).reshape(3, 4).astype(dtype)
    out = backend.to_host(backend.xp.erf(backend.from_host(x)[:, ::2].T))
    want = np.vectorize(math.erf)(x[:, ::2].T)
    np.testing.assert_allclose(out, want, rtol=TOLERANCE[dtype])


def test_erf_of_zero_dimensions_and_integers(backend):
    out = backend.xp.erf(backend.asarray(0.5))
    assert out.shape == ()
    assert float(out) == pytest.approx(math.erf(0.5), rel=1e-15)
    assert backend.xp.erf(backend.asarray([1, 2])).dtype == np.float64
