"""The compiled forms of arithmetic, matmul, maximum and sum: bit for bit what the functions that
define them give, and errors alike."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_functions, numpy_sums
from autograd_gpu.backends.numpy_matmul import matmul
from autograd_gpu.extension import extension

if extension is None:
    pytest.skip("the compiled core is not built, or switched off", allow_module_level=True)

load_backend("numpy")  # which tells the extension module what it needs to know

DTYPES = ["float32", "float64", "complex64", "complex128", "float16", "int32", "int64", "bool"]


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same elements, differently placed in memory."""
    if layout == "columns":
        return np.asfortranarray(x)
    if layout == "apart":
        y = np.zeros([2 * n for n in x.shape], x.dtype)[(..., *[slice(None, None, 2)] * x.ndim)]
    elif layout == "cut":
        y = np.zeros([n + 3 for n in x.shape], x.dtype)[(..., *map(slice, x.shape))]
    elif layout == "backwards":
        return np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x
    else:
        return np.ascontiguousarray(x)
    y[...] = x
    return y


LAYOUTS = ["rows", "columns", "apart", "cut", "backwards"]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 4
    return (x + 1j * x[::-1] if dtype.startswith("c") and shape else x).astype(dtype)


def outcome(function, *args, **options):
    """A result to its last bit, or the error."""
    try:
        y = function(*args, **options)
    except Exception as error:
        return type(error), str(error)
    return type(y), y.dtype, y.shape, y.tobytes()


shapes = st.lists(st.sampled_from([0, 1, 2, 3, 7, 8, 17, 40]), max_size=3).map(tuple)


@settings(max_examples=400, deadline=None)
@given(shapes, shapes, st.sampled_from(DTYPES), st.sampled_from(DTYPES[:2]), st.booleans(),
       st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.integers(0, 99))  # fmt: skip
def test_products(a, b, dtype, other, mixed, layout, layout_of_b, seed):
    if a and len(b) > 1:
        b = (*b[:-2], a[-1], b[-1])
    x = laid_out(numbers(a, dtype, seed), layout)
    y = laid_out(numbers(b, other if mixed else dtype, seed + 1), layout_of_b)
    assert outcome(extension.matmul, x, y) == outcome(matmul, x, y)


@settings(max_examples=400, deadline=None)
@given(shapes, st.sampled_from(DTYPES), st.sampled_from(LAYOUTS), st.integers(0, 99),
       st.sampled_from([None, 0, 1, -1, -2, 2, (0,), (0, 1), (), True, 1.5, "rows"]),
       st.sampled_from([{}, {"keepdims": True}, {"keepdims": 0}, {"dtype": None},
                        {"dtype": "float64"}, {"initial": 2}, {"what": 1}]))  # fmt: skip
def test_sums(shape, dtype, layout, seed, axis, options):
    x = laid_out(numbers(shape, dtype, seed), layout)
    want = outcome(numpy_sums.sum_, x, axis=axis, **options)
    got = outcome(extension.sum, x, axis=axis, **options)
    assert got == want if "what" not in options else got[0] is want[0] is TypeError


@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, -2])
def test_sums_are_those_of_float64(dtype, layout, axis):
    for shape in [(1, 1), (2, 2), (2, 256), (16, 16), (16, 64), (257, 3), (300, 300)]:
        x = laid_out(numbers(shape, dtype, 3), layout)
        wanted = x.astype("float64").sum(axis)
        spread = np.abs(x).astype("float64").sum(axis)
        for function in (extension.sum, numpy_sums.sum_):
            error = np.abs(function(x, axis=axis) - wanted)
            assert (error <= 8 * np.finfo(dtype).eps * spread).all()


@settings(max_examples=200, deadline=None)
@given(shapes, st.sampled_from(DTYPES), st.sampled_from(LAYOUTS), st.integers(0, 99),
       st.sampled_from([0, 0.0, -0.0, 1, False, 1e30, np.nan, np.float32(0), None]))  # fmt: skip
def test_maxima(shape, dtype, layout, seed, bound):
    x = laid_out(numbers(shape, dtype, seed), layout)
    want = outcome(numpy_functions.maximum, x, bound)
    assert outcome(extension.maximum, x, bound) == want


SIGNS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
SPECIAL = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 1e-310, 3e38, 1e308, -1.5]


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(SIGNS)), shapes, st.sampled_from(DTYPES), st.sampled_from(DTYPES[:2]),
       st.booleans(), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.integers(0, 99),
       st.sampled_from(["array", "swapped", "first axis", 2.0, -0.0, 1e39, 1e-50, np.inf, np.nan, 3,
                        2**24 + 1, 10**400, True, np.float32(2), np.float64(0.1), 1j, None]),
       st.booleans(), st.booleans())  # fmt: skip
def test_arithmetic(
    name, shape, dtype, other, mixed, layout, layout_of_b, seed, b, turned, special
):
    x = numbers(shape, dtype, seed)
    if special and dtype[0] in "fc" and shape:
        with np.errstate(all="ignore"):
            x.reshape(-1)[: len(SPECIAL)] = np.array(SPECIAL).astype(dtype)[: x.size]
    x = laid_out(x, layout)
    if b == "array":
        b = laid_out(numbers(shape, other if mixed else dtype, seed + 1), layout_of_b)
    elif b == "swapped":
        b = x.astype(x.dtype.newbyteorder())
    elif b == "first axis":
        b = x[:1] if x.ndim else x
    operands = (b, x) if turned else (x, b)
    for mode in ("ignore", "raise"):
        with np.errstate(all=mode):
            got, want = (outcome(f, *operands) for f in (getattr(extension, name), SIGNS[name]))
        assert got == want


def test_arithmetic_warns_as_numpy_does():
    x, zero = np.ones((2, 3), "f"), np.zeros((2, 3), "f")
    for operands, message in (((x, zero), "divide by zero"), ((zero, zero), "invalid value")):
        with pytest.warns(RuntimeWarning, match=message):
            extension.divide(*operands)
    with pytest.warns(RuntimeWarning, match="overflow"):
        extension.multiply(np.full((2, 3), 3e38, "f"), 2.0)
    with np.errstate(all="raise"):  # earlier flags are not this one's
        extension.multiply(x, x)
        with pytest.raises(FloatingPointError, match="underflow"):
            extension.multiply(np.full(3, 1e-30, "f"), np.full(3, 1e-30, "f"))
    out = np.empty_like(x)
    assert extension.add(x, x, out=out) is out


def test_what_is_not_finite_stays_so():
    x = np.array([[np.inf, 1, np.nan], [1, -np.inf, 2], [-np.inf, -np.inf, 3]], "float32")
    assert_array_equal(extension.sum(x[1:], axis=0), [-np.inf, -np.inf, 5])
    with np.errstate(invalid="ignore"):
        assert_array_equal(extension.sum(x, axis=0), [np.nan, -np.inf, np.nan])
    large = np.full((4, 4), 3e38, "float32")
    for function in (extension.sum, numpy_sums.sum_):
        with pytest.raises(RuntimeWarning, match="overflow"):
            function(large, axis=0)
    assert_array_equal(extension.sum(x[:, :2], axis=1), [np.inf, -np.inf, -np.inf])
    assert_array_equal(extension.sum(x[2]), -np.inf)
    assert_array_equal(extension.maximum(x, 0), np.maximum(x, 0))


def test_subclasses_and_other_calls_are_left_to_the_definitions():
    class Sub(np.ndarray):
        pass

    x = np.ones((3, 3), "float32").view(Sub)
    assert type(extension.matmul(x, x)) is Sub
    assert type(extension.sum(x, axis=0)) is Sub
    assert type(extension.maximum(x, 0)) is Sub
    assert type(extension.add(x, x)) is type(extension.multiply(2.0, x)) is Sub
    for function in (extension.matmul, extension.sum, extension.maximum, extension.add):
        with pytest.raises(TypeError):
            function()
        with pytest.raises(TypeError):
            function(x, x, x, x, x)


def test_nothing_is_kept():
    x = np.ones((8, 8), "float32")

    def calls():
        extension.matmul(x, x), extension.sum(x, axis=0), extension.sum(x), extension.maximum(x, 0)
        extension.add(x, x), extension.divide(x, 2.0), extension.multiply(3, x)
        with np.errstate(all="ignore"):
            extension.divide(x, 0.0)

    calls()
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getallocatedblocks()
    for _ in range(1000):
        calls()
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getallocatedblocks()
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 10
    assert after[2] - before[2] < 100


def test_before_the_backend_is_loaded_there_is_an_error():
    code = (
        "from autograd_gpu.extension import loaded\n"
        "try:\n    loaded().sum(1)\nexcept RuntimeError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "the NumPy backend is not loaded"
