"""A Python number beside an array changes nothing of its floating dtype."""

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import missing

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.backend import load_backend
from autograd_gpu.primitive import PRIMITIVES

ml_dtypes = pytest.importorskip("ml_dtypes")
DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}
dtypes = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())

OPERATORS = {
    "add": lambda x, n: x + n,
    "radd": lambda x, n: n + x,
    "subtract": lambda x, n: x - n,
    "rsubtract": lambda x, n: n - x,
    "multiply": lambda x, n: x * n,
    "rmultiply": lambda x, n: n * x,
    "divide": lambda x, n: x / n,
    "rdivide": lambda x, n: n / x,
    "power": lambda x, n: x**n,
    "rpower": lambda x, n: n**x,
    "remainder": lambda x, n: x % n,
    "floor_divide": lambda x, n: x // n,
    "clip": lambda x, n: ag.clip(x, n, 1.25),
    "maximum": ag.maximum,
    "rmaximum": lambda x, n: ag.maximum(n, x),
    "minimum": ag.minimum,
    "where": lambda x, n: ag.where(x > 1, x, n),
    "rwhere": lambda x, n: ag.where(x > 1, n, x),
    "hypot": ag.hypot,
    "atan2": lambda x, n: ag.atan2(n, x),
    "logaddexp": ag.logaddexp,
    "copysign": ag.copysign,
    "NumPy's multiply": lambda x, n: np.multiply(x, n),
    "NumPy's power": lambda x, n: np.power(n, x),
    "leaky_relu": lambda x, n: nn.functional.leaky_relu(-x, float(n)),
    "elu": lambda x, n: nn.functional.elu(-x, float(n)),
    "gelu": lambda x, n: nn.functional.gelu(x),
    "gelu_tanh": lambda x, n: nn.functional.gelu(x, approximate="tanh"),
    "huber_loss": lambda x, n: nn.functional.huber_loss(x, 2 * x, delta=n),
    "gaussian_nll_loss": lambda x, n: nn.functional.gaussian_nll_loss(n * x, x, x * x, full=True),
    "vector_norm": lambda x, n: ag.linalg.vector_norm(x * n),
    "sinc": lambda x, n: ag.sinc(x * n),
}


@pytest.fixture(params=["numpy", "cupy"])
def backend(request):
    if request.param not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    return load_backend(request.param)


@dtypes
@pytest.mark.parametrize("number", [0.75, 1, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_dtype_value_and_gradient(name, number, dtype, backend):
    if backend.name == "cupy" and (dtype, number) != (ml_dtypes.bfloat16, 0.75):
        pytest.skip("each dtype compiles kernels of its own")
    data = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4)).astype(dtype)
    results = []
    for kind in (dtype, np.float64):
        x = ag.Variable(backend.from_host(data.astype(kind)), requires_grad=True)
        y = OPERATORS[name](x, number)
        (y + 0 * x).sum().backward()  # some have no gradient
        assert y.dtype == x.grad.dtype == kind
        results.append([backend.to_host(v).astype("f8") for v in (y.value, x.grad)])
    rtol = 1e-4 if dtype is np.float32 else 0.03
    for found, exact in zip(*results, strict=True):
        np.testing.assert_allclose(found, exact, rtol=rtol, atol=rtol)


@dtypes
def test_comparisons_round_the_number(dtype, backend):
    tenth = ag.Variable(backend.from_host(np.full(2, 0.1, dtype)))
    for equal in (tenth == 0.1, np.equal(0.1, tenth), tenth >= 0.1, tenth <= 0.1):
        assert equal.tolist() == [True, True]
    for different in (tenth != 0.1, tenth < 0.1, np.less(0.1, tenth)):
        assert different.tolist() == [False, False]


def test_second_order(backend):
    x = ag.Variable(backend.from_host(np.full(2, 0.5, ml_dtypes.bfloat16)), requires_grad=True)
    (first,) = ag.gradients((0.75 * x**1.5 / 0.5).sum(), [x], create_graph=True)
    (second,) = ag.gradients(first.sum(), [x])
    assert first.dtype == second.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(
        backend.to_host(second.value).astype("f4"), 1.125 * 0.5**-0.5, rtol=0.02
    )


def test_wider_arrays_and_complex_numbers_still_widen(backend):
    x = ag.Variable(backend.from_host(np.ones(2, ml_dtypes.bfloat16)))
    wide = ag.Variable(backend.from_host(np.ones(2, "f4")))
    assert (x * wide * 0.5).dtype == np.float32
    assert ag.where(x > 1, wide, 0.1).tolist() == np.full(2, 0.1, "f4").tolist()
    if backend.name == "numpy":  # CuPy has no kernel for the two
        assert (x * 1j).dtype == np.complex64


def test_a_compiled_step():
    step = ag.compile(lambda x: 0.75 * x + ag.exp(x * 0.5))
    x = ag.Variable(np.ones(3, ml_dtypes.bfloat16))
    results = [step(x) for _ in range(5)]
    assert step.replays
    assert {y.dtype.name for y in results} == {"bfloat16"}
    assert len({tuple(y.tolist()) for y in results}) == 1


def test_a_fused_function():
    fused = ag.fuse(lambda x: ag.exp(x * 0.5) + 0.75)
    x = ag.Variable(np.ones(3, ml_dtypes.bfloat16))
    assert fused(x).dtype == ml_dtypes.bfloat16


@dtypes
def test_numbers_among_joined_arrays(dtype, backend):
    x = ag.Variable(backend.from_host(np.array([0.5, 2.0], dtype)), requires_grad=True)
    stacked = ag.stack([0.25, x[0], True, x[1]])
    joined = ag.concat([x, 0.25], axis=None)
    assert stacked.dtype == joined.dtype == dtype
    assert stacked.tolist() == [0.25, 0.5, 1.0, 2.0]
    assert joined.tolist() == [0.5, 2.0, 0.25]
    (stacked.sum() + joined.sum()).backward()
    assert backend.to_host(x.grad).astype("f4").tolist() == [2.0, 2.0]
    assert ag.stack([x[0], 1j]).dtype.kind == "c"
    for wrong, message in (([x, 0.5], "one shape"), ([x, None], "got None")):
        with pytest.raises((TypeError, ValueError), match=message):
            ag.stack(wrong)


def like(x, dtype):
    return x.astype(dtype) if getattr(x, "dtype", None) == np.float64 else x


@pytest.mark.parametrize("name", SAMPLES)
def test_bfloat16_gives_what_float16_gives(name):
    """Every op, on all of its samples: bfloat16 where float16 makes float16, else the same."""
    backend = load_backend("numpy")
    if reason := missing(name, backend):
        pytest.skip(reason)
    primitive = PRIMITIVES[name]
    for sample in SAMPLES[name]:
        if "float16" not in sample.dtypes:
            continue
        found = []
        for dtype in (np.float16, ml_dtypes.bfloat16):
            operands = [like(x, dtype) for x in sample.operands]
            y = primitive.op(*([operands] if primitive.variadic else operands), **sample.statics)
            found.append([v.dtype.name for v in (y if primitive.outputs else [y])])
        half, brain = found
        assert brain == ["bfloat16" if d == "float16" else d for d in half], sample.label


@dtypes
@pytest.mark.parametrize("order", ["number first", "number second"])
@pytest.mark.parametrize("name", [
    "beta", "betaln", "boxcox", "chdtr", "ellipkinc", "gammainc", "gammaincinv", "huber",
    "inv_boxcox", "poch", "powm1", "stdtr", "xlog1py", "xlogy",
])  # fmt: skip
def test_special_functions(name, order, dtype):
    pytest.importorskip("scipy")
    x = np.full(3, 0.5, dtype)
    for number in (0.75, 1):
        operands = (number, x) if order == "number first" else (x, number)
        y = getattr(ag.special, name)(*operands)
        exact = getattr(ag.special, name)(
            *[like(v, "f8") if v is number else v.astype("f8") for v in operands]
        )
        assert y.dtype == dtype
        np.testing.assert_allclose(y.value.astype("f8"), exact.value, rtol=0.03)
