"""Layer norm and RMS norm by the compiled core, beside NumPy's passes and formulas in float64."""

import itertools

import numpy as np
import pytest
from norm_formulas import EPS, layer_norm, rms_norm

import autograd_gpu as ag
from autograd_gpu.backends import numpy_layer_norm, numpy_norm_rows, numpy_rms_norm, numpy_rows
from autograd_gpu.extension import extension
from autograd_gpu.threads import get_num_threads, set_num_threads

if extension is None:
    pytest.skip("the compiled core is not built, or switched off", allow_module_level=True)

CLOSE = {"float32": 3e-6, "float64": 1e-14}
WIDTHS = [1, 2, 31, 32, 33, 100, 1024, 1025, 5000]
AFFINE = [(False, False), (True, False), (False, True), (True, True)]


def numbers(dtype, *shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def near(got, wanted, dtype, scale=1.0):
    assert got.dtype == dtype
    assert got.shape == wanted.shape
    least = max(1.0, np.abs(wanted).max())
    assert np.abs(got.astype("f8") - wanted).max() <= CLOSE[dtype] * least * scale


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("weighted", "biased"), AFFINE)
def test_layer_norm(monkeypatch, dtype, width, weighted, biased):
    monkeypatch.setattr(numpy_rows, "BLOCK", 4 * width)  # several blocks, the last not full
    x, g = numbers(dtype, 7, width), numbers(dtype, 7, width, seed=1)
    weight = numbers(dtype, width, seed=2) if weighted else None
    bias = numbers(dtype, width, seed=3) if biased else None
    y, kept = numpy_norm_rows.layer_norm(x, weight, bias, count=1, eps=EPS)
    full = (
        np.ones(width) if weight is None else weight,
        np.zeros(width) if bias is None else bias,
    )
    wanted = layer_norm(x, g, *full)
    near(y, wanted[0], dtype)
    for needs in itertools.product([True, False], repeat=3):
        found = numpy_norm_rows.layer_norm_gradients(g, x, weight, kept, needs, count=1, eps=EPS)
        assert [v is not None for v in found] == list(needs)
        for got, want in zip(found, wanted[1:], strict=True):
            if got is not None:
                # of one or two elements what is left of the gradient is rounding over sqrt(eps)
                near(got, want, dtype, scale=1 / EPS if width < 3 else 4)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("weighted", [True, False])
def test_rms_norm(monkeypatch, dtype, width, weighted):
    monkeypatch.setattr(numpy_rows, "BLOCK", 4 * width)
    x, g = numbers(dtype, 7, width), numbers(dtype, 7, width, seed=1)
    weight = numbers(dtype, width, seed=2) if weighted else None
    y, inverse = numpy_norm_rows.rms_normalised(x, weight, count=1, eps=EPS)
    wanted = rms_norm(x, g, np.ones(width) if weight is None else weight)
    near(y, wanted[0], dtype)
    assert inverse.shape == (7, 1)
    for needs in itertools.product([True, False], repeat=2):
        found = numpy_norm_rows.rms_norm_gradients(g, x, weight, inverse, needs, count=1)
        assert [v is not None for v in found] == list(needs)
        for got, want in zip(found, wanted[1:], strict=True):
            if got is not None:
                near(got, want, dtype, scale=1e4 if width < 3 else 4)


def test_several_axes_and_any_layout():
    x = numbers("float32", 5, 6, 7, 8).transpose(1, 0, 3, 2)
    g = numbers("float32", 6, 5, 8, 7, seed=1)[..., ::-1]
    weight, bias = numbers("float32", 7, 8, seed=2).T, numbers("float32", 8, 7, seed=3)
    y, kept = numpy_norm_rows.layer_norm(x, weight, bias, count=2, eps=EPS)
    found = numpy_norm_rows.layer_norm_gradients(g, x, weight, kept, (1, 1, 1), count=2, eps=EPS)
    rows = [np.ascontiguousarray(v).reshape(30, 56) for v in (x, g)]
    wanted = layer_norm(*rows, weight.reshape(56), bias.reshape(56))
    near(y, wanted[0].reshape(x.shape), "float32")
    for got, want in zip(found, wanted[1:], strict=True):
        near(got, want.reshape(got.shape), "float32", scale=4)
        assert got.base is None  # a gradient that is a view would be copied


def test_a_large_mean_costs_no_digits_of_the_value():
    x = numbers("float32", 4, 1000) + np.float32(1e4)
    one, nought = np.ones(1000, "f"), np.zeros(1000, "f")
    y, _ = numpy_norm_rows.layer_norm(x, None, None, count=1, eps=EPS)
    near(y, layer_norm(x, x, one, nought)[0], "float32", scale=2)
    plain, _ = numpy_layer_norm.layer_norm(x, None, None, count=1, eps=EPS)
    assert np.abs(y - plain).max() < 2e-3


def test_what_is_not_finite_stays_in_its_row():
    x, g = numbers("float32", 3, 100), numbers("float32", 3, 100, seed=1)
    x[1, 5] = np.nan
    y, kept = numpy_norm_rows.layer_norm(x, None, None, count=1, eps=EPS)
    (grad, _, _) = numpy_norm_rows.layer_norm_gradients(
        g, x, None, kept, (True, False, False), count=1, eps=EPS
    )
    assert np.isnan(y[1]).all()
    assert np.isnan(grad[1]).all()
    assert np.isfinite(y[[0, 2]]).all()
    assert np.isfinite(grad[[0, 2]]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_every_call_and_number_of_threads_gives_the_same_bits(threads):
    x, g, weight = numbers("float32", 3000, 70), numbers("float32", 3000, 70), numbers("f", 70)
    results = []
    before = get_num_threads()
    set_num_threads(threads)
    try:
        for _ in range(2):
            y, kept = numpy_norm_rows.layer_norm(x, weight, weight, count=1, eps=EPS)
            results.append((y, *numpy_norm_rows.layer_norm_gradients(
                g, x, weight, kept, (1, 1, 1), count=1, eps=EPS)))  # fmt: skip
    finally:
        set_num_threads(before)
    for first, second in zip(*results, strict=True):
        assert first.tobytes() == second.tobytes()
    near(results[0][0], layer_norm(x, g, weight, weight)[0], "float32")


def test_half_types_and_empty_arrays_are_left_to_numpy():
    half = numbers("float16", 3, 50)
    y, kept = numpy_norm_rows.layer_norm(half, None, None, count=1, eps=EPS)
    assert y.dtype == "float16"
    assert kept.dtype == "float32"
    for shape in [(0, 5), (0, 2, 5)]:
        empty = np.empty(shape, "f")
        y, kept = numpy_norm_rows.layer_norm(empty, None, None, count=1, eps=EPS)
        assert y.shape == shape


def test_wrong_arrays_are_refused():
    x, y, row = np.ones((2, 4), "f"), np.ones((2, 4), "f"), np.ones(2, "f")
    good = [x, None, None, y, row, row.copy(), 0, 2, 4, EPS]
    extension.norm_rows(*good)
    wrong = {0: x.astype(int), 1: np.ones(3, "f"), 3: y[:1], 4: row.astype("f8"), 5: row[::2],
             6: -1, 7: 3, 8: 0}  # fmt: skip
    for place, value in wrong.items():
        with pytest.raises(TypeError):
            extension.norm_rows(*good[:place], value, *good[place + 1 :])
    with pytest.raises(TypeError):
        extension.norm_rows(*good[:-1])
    back = [x, x, None, row, row, y, None, None, 0, 2, 4]
    extension.norm_rows_back(*back)
    for place, value in {0: x.T, 2: row, 5: y[:1], 6: row, 9: 3}.items():
        with pytest.raises(TypeError):
            extension.norm_rows_back(*back[:place], value, *back[place + 1 :])


def test_numpys_passes_find_the_same():
    x, g, weight = numbers("f", 40, 300), numbers("f", 40, 300, seed=1), numbers("f", 300, seed=2)
    for module, options in ((numpy_layer_norm, {"eps": EPS}), (numpy_rms_norm, {})):
        name = "layer_norm" if options else "rms_norm"
        value = "layer_norm" if options else "rms_normalised"
        extra, needs = ((weight,), (1, 1, 1)) if options else ((), (1, 1))
        results = []
        for form in (module, numpy_norm_rows):
            y, kept = getattr(form, value)(x, weight, *extra, count=1, eps=EPS)
            gradients = getattr(form, f"{name}_gradients")
            results.append((y, *gradients(g, x, weight, kept, needs, count=1, **options)))
        for first, second in zip(*results, strict=True):
            np.testing.assert_allclose(first, second, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_arrays_at_any_address(norm):
    """As in a file that is read or mapped from some byte on."""

    def odd(x):
        y = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        y[...] = x
        assert not y.flags.aligned
        return y

    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype("f4") for shape in ((5, 33), 33, (5, 33))]
    results = []
    for place in (np.copy, odd):
        x, weight, g = (place(v) for v in arrays)
        x, weight = (ag.Variable(v, requires_grad=True) for v in (x, weight))
        y = getattr(ag.nn.functional, norm)(x, (33,), weight)
        results.append([y.value, *[v.value for v in ag.gradients(y, [x, weight], ag.Variable(g))]])
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(got, want)
