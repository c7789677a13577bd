"""Sums in half types are made in float32: their error is that of rounding the result."""

import numpy as np
import pytest

from autograd_gpu.backends import convolution_nd, numpy_backend

REFERENCE = numpy_backend.NumpyBackend().xp
PARTS = {1: (5,), 2: (5, 3), 3: (8, 2, 2)}


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def options(d, stride=1):
    return {
        "stride": (stride,) * d,
        "padding": ((0, 0),) * d,
        "dilation": (1,) * d,
        "groups": 1,
    }


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("d", PARTS)
def test_conv_input_adds_up_in_float32(backend, d, dtype):
    half = dtype_of(dtype)
    rng = np.random.default_rng(0)
    size = (15,) * d
    kernel = PARTS[d]
    g_shape = (2, 3, *(n - k + 1 for n, k in zip(size, kernel, strict=True)))
    # of one sign, so that the sums grow: in half types each step would lose its last bits
    g = rng.uniform(0.5, 1, g_shape).astype(half)
    weight = rng.uniform(0.5, 1, (3, 4, *kernel)).astype(half)
    want = convolution_nd.conv_input(
        REFERENCE, g.astype("f8"), weight.astype("f8"), size=size, **options(d)
    )
    got = backend.xp.conv_input(
        backend.from_host(g), backend.from_host(weight), size=size, **options(d)
    )
    assert got.dtype == half
    error = abs(backend.to_host(got).astype("f8") / want - 1).max()
    unit = 2.0**-11 if dtype == "float16" else 2.0**-8
    # of volumes each slice is rounded too, before the sum of the slices is
    assert error < (1.001 if d < 3 else 2.001) * unit
