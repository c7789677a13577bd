"""Arguments of fused functions, and comparisons with the same functions op by op."""

import numpy as np

import autograd_gpu as ag

TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


def leaf(xp, value, dtype="float64", grad=True):
    return ag.Variable(xp.from_host(np.asarray(value, dtype)), requires_grad=grad)


def numbers(shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def close(got, want, dtype="float64"):
    """Of one shape and dtype, and within its tolerance times the largest element."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    got, want = (x.numpy().astype("f8") for x in (got, want))
    scale = max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=TOLERANCE[dtype])
