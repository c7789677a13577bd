"""Fused kernels, run against the general forms."""

import math

import numpy as np
import pytest

pytest.importorskip("cupy")
from cupy_on_cpu import nvrtc

from autograd_gpu.backend import load_backend
from autograd_gpu.backends import convolution, pooling

TOLERANCE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-6, "float64": 1e-13}
DTYPES = list(TOLERANCE)


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).uniform(-3, 3, shape).astype(dtype_of(dtype))


def test_a_planted_error_is_caught(cupy_backend):
    import cupy as cp

    from autograd_gpu.backends import cupy_activations

    good = cupy_activations.kernels()["silu_gradient"]
    bad = cp.ElementwiseKernel(
        "T g, T x",
        "T y",
        good.operation.replace("sigmoid(v)", "sigmoyd(v)"),
        "autograd_gpu_planted",
        preamble=good.preamble,
    )
    checks = nvrtc.check_elementwise(bad, [{"T": "f2"}], ndims=(1,), contiguous=(True,))
    assert all("sigmoyd" in check.error for check in checks)
    wrong = cp.ElementwiseKernel(
        "T g, T x",
        "T y",
        good.operation.replace("C(1) - s", "C(1) + s"),
        "autograd_gpu_planted_too",
        preamble=good.preamble,
    )
    g, x = (cupy_backend.from_host(numbers((5, 7), "float32", i)) for i in range(2))
    with pytest.raises(AssertionError):
        compare_activation("silu_gradient", "float32", cupy_backend, function=wrong)
    assert wrong(g, x).shape == (5, 7)


# In float64 and by other formulas than the kernels'.
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slope(f, h=1e-5):
    return lambda x: (f(x + h) - f(x - h)) / (2 * h)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


VALUES = {
    "sigmoid": sigmoid,
    "softplus": lambda x: np.logaddexp(x, 0),
    "logsigmoid": lambda x: -np.logaddexp(-x, 0),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "gelu_tanh": gelu_tanh,
    "gelu_erf": gelu_erf,
}


def expected(name):
    if name == "sigmoid_gradient":  # a function of the output
        return lambda y: y * (1 - y)
    if name == "gelu_tanh_bend":
        return slope(slope(gelu_tanh, 1e-4), 1e-4)
    f = VALUES[name.removesuffix("_value").removesuffix("_gradient")]
    return f if name.endswith("_value") else slope(f)


def compare_activation(name, dtype, backend, function=None):
    function = function or getattr(backend.xp, name)
    x, g = numbers((5, 7), dtype), numbers((5, 7), dtype, 1)
    wide = x.astype("f8")
    want = expected(name)(wide)
    operands = (x,) if name.endswith("_value") else (g, x)
    if len(operands) == 2:
        want = g.astype("f8") * want
    found = function(*map(backend.from_host, operands))
    assert found.dtype == x.dtype
    tolerance = max(TOLERANCE[dtype], 1e-6 if "bend" in name else 0 if "_value" in name else 1e-9)
    np.testing.assert_allclose(
        backend.to_host(found).astype("f8"), want, rtol=tolerance, atol=tolerance
    )


NAMES = [f"{name}_{what}" for name in VALUES for what in ("value", "gradient")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*NAMES, "gelu_tanh_bend"])
def test_activations(cupy_backend, name, dtype):
    compare_activation(name, dtype, cupy_backend)


# sigmoid's gradient starts from the value, which says nothing far out
@pytest.mark.parametrize("name", [name for name in NAMES if name != "sigmoid_gradient"])
def test_activations_far_out(cupy_backend, name):
    x = np.array([-1e4, -100, 0, 100, 1e4], "f4")
    f = VALUES[name.removesuffix("_value").removesuffix("_gradient")]
    with np.errstate(over="ignore"):
        want = f(x.astype("f8")) if name.endswith("_value") else slope(f)(x.astype("f8"))
    ones = cupy_backend.from_host(np.ones_like(x))
    operands = (cupy_backend.from_host(x),)
    found = getattr(cupy_backend.xp, name)(*(operands if "_value" in name else (ones, *operands)))
    np.testing.assert_allclose(cupy_backend.to_host(found), want, rtol=1e-5, atol=1e-6)


def test_activations_leave_other_dtypes_to_the_general_form(cupy_backend):
    z = cupy_backend.from_host(np.ones(3, "c8"))
    assert cupy_backend.xp.silu_value(z) is NotImplemented
    assert cupy_backend.xp.sigmoid_gradient(z, z) is NotImplemented


WINDOWS = [
    {"size": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)},
    {"size": (3, 2), "stride": (1, 2), "padding": ((1, 1), (1, 0)), "dilation": (1, 1)},
    {"size": (3, 3), "stride": (2, 1), "padding": ((1, 2), (0, 1)), "dilation": (2, 1)},
    {"size": (1, 1), "stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)},
    {"size": (1, 1), "stride": (3, 2), "padding": ((1, 0), (0, 0)), "dilation": (1, 1)},
]


def agree(backend, found, want, dtype):
    assert found.dtype == dtype_of(dtype)
    np.testing.assert_allclose(
        backend.to_host(found).astype("f8"), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("options", WINDOWS)
def test_pooling(cupy_backend, options, ties, dtype):
    xp, host = cupy_backend.xp, load_backend("numpy").xp
    x = numbers((2, 3, 9, 8), dtype)
    x = np.round(x.astype("f4")).astype(x.dtype) if ties else x
    wide = x.astype("f8")
    on_device = cupy_backend.from_host(x)
    y = pooling.max_pool(host, wide, **options)
    found = xp.max_pool(on_device, **options)
    agree(cupy_backend, found, y, dtype)
    g, h = numbers(y.shape, dtype, 1), numbers(x.shape, dtype, 2)
    for name, v in (("max_pool_spread", g), ("max_pool_gather", h)):
        want = getattr(pooling, name)(host, v.astype("f8"), wide, y, **options)
        own = getattr(xp, name)(cupy_backend.from_host(v), on_device, found, **options)
        agree(cupy_backend, own, want, dtype)
    if options["dilation"] == (1, 1):
        options = {k: v for k, v in options.items() if k != "dilation"}
        agree(
            cupy_backend,
            xp.sum_pool(on_device, **options),
            pooling.sum_pool(host, wide, **options),
            dtype,
        )
        agree(
            cupy_backend,
            xp.sum_pool_spread(cupy_backend.from_host(g), extent=(9, 8), **options),
            pooling.sum_pool_spread(host, g.astype("f8"), extent=(9, 8), **options),
            dtype,
        )


def test_pooling_of_nan_and_integers(cupy_backend):
    options = WINDOWS[1]
    x = np.arange(72.0).reshape(1, 1, 9, 8) % 7
    x[0, 0, 3, 3] = np.nan
    for case in (x, (np.nan_to_num(x) - 3).astype("i4")):
        y = pooling.max_pool(load_backend("numpy").xp, case, **options)
        found = cupy_backend.xp.max_pool(cupy_backend.from_host(case), **options)
        np.testing.assert_array_equal(cupy_backend.to_host(found), y)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
@pytest.mark.parametrize("options", WINDOWS)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(cupy_backend, options, groups, dtype):
    tolerance = {"float16": 2e-2, "bfloat16": 0.2, "float32": 2e-5}.get(dtype, 1e-12)
    xp, host = cupy_backend.xp, load_backend("numpy").xp
    options = dict(options)
    size = options.pop("size")
    options["groups"] = groups
    x, w, b = (numbers(s, dtype, 5) for s in ((2, 4, 9, 8), (6, 4 // groups, *size), (6,)))
    wide = "c16" if dtype == "complex128" else "f8"
    y = convolution.conv2d(host, *(v.astype(wide) for v in (x, w, b)), **options)
    g = numbers(y.shape, dtype, 6)
    device = {k: cupy_backend.from_host(v) for k, v in {"x": x, "w": w, "b": b, "g": g}.items()}

    def close(found, want):
        assert found.dtype == dtype_of(dtype)
        found = cupy_backend.to_host(found).astype(wide)
        scale = max(1.0, np.abs(want).max())
        np.testing.assert_allclose(found / scale, want / scale, atol=tolerance)

    close(xp.conv2d(device["x"], device["w"], device["b"], **options), y)
    close(
        xp.conv2d_input(device["g"], device["w"], size=(9, 8), **options),
        convolution.conv2d_input(host, g.astype(wide), w.astype(wide), size=(9, 8), **options),
    )
    close(
        xp.conv2d_weight(device["x"], device["g"], size=size, **options),
        convolution.conv2d_weight(host, x.astype(wide), g.astype(wide), size=size, **options),
    )


def test_views_and_no_images(cupy_backend):
    options = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
    x, w = numbers((9, 8, 3, 2), "float64").T, numbers((3, 3, 3, 4), "float64").T
    want = convolution.conv2d(load_backend("numpy").xp, x, w, **options)
    device = cupy_backend.from_host(x.T.copy()).T, cupy_backend.from_host(w.T.copy()).T
    found = cupy_backend.xp.conv2d(*device, **options)
    np.testing.assert_allclose(cupy_backend.to_host(found), want, rtol=1e-12)
    none = cupy_backend.xp.conv2d(device[0][:0], device[1], **options)
    assert none.shape == (0, 4, 8, 9)


def test_launches(cupy_backend, counting):
    xp = cupy_backend.xp
    x, w, b = (
        cupy_backend.from_host(numbers(s, "float32")) for s in ((2, 4, 8, 8), (6, 4, 3, 3), (6,))
    )
    options = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1}
    pool = WINDOWS[0]
    with counting() as c:
        y = xp.conv2d(x, w, b, **options)
        xp.conv2d_input(y, w, size=(8, 8), **options)
        xp.conv2d_weight(x, y, size=(3, 3), **options)
        z = xp.max_pool(y, **pool)
        xp.max_pool_spread(z, y, z, **pool)
        xp.gelu_tanh_gradient(y, y)
    assert c.kernels == [
        "autograd_gpu_unfold",
        "cupy_add__float32_float32_float32",
        "autograd_gpu_fold",
        "autograd_gpu_unfold_rows",
        "cupy_copy__float32_float32",
        "autograd_gpu_max_pool",
        "autograd_gpu_max_pool_spread",
        "autograd_gpu_gelu_tanh_gradient",
    ]
    assert (len(c.blas), c.waits, c.copies) == (3, 0, [])
