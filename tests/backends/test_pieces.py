"""Batch, group and instance norm by the compiled core, beside formulas in float64."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backends import numpy_batch_norm, numpy_group_norm, numpy_pieces, numpy_rows
from autograd_gpu.extension import extension
from autograd_gpu.threads import get_num_threads, set_num_threads

if extension is None:
    pytest.skip("the compiled core is not built, or switched off", allow_module_level=True)

EPS = 1e-5
CLOSE = {"float32": 3e-6, "float64": 1e-14}
LENGTHS = [8, 16, 31, 33, 49, 1024, 1061]
AFFINE = [(False, False), (True, False), (False, True), (True, True)]


def numbers(dtype, *shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def formula(x, g, weight, bias, axes):
    """Mean, variance, the value and the gradients for x, weight and bias in float64, of
    x [N, G, K, L]; weight and bias can be added to it."""
    x, g, weight, bias = (np.asarray(v, "f8") for v in (x, g, weight, bias))
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + EPS)
    h, normal = g * weight, (x - mean) * inverse
    along = (h * normal).mean(axes, keepdims=True)
    grad = (h - h.mean(axes, keepdims=True) - normal * along) * inverse
    sums = ((g * normal).sum((0, 3)).reshape(-1), g.sum((0, 3)).reshape(-1))
    return mean, variance, normal * weight + bias, grad, *sums


def by_groups(x, g, weight, bias, groups):
    """The same by the core for group norm."""
    y, mean, variance = numpy_pieces.groups_normalised(x, weight, bias, groups=groups, eps=EPS)
    grads = numpy_pieces.group_norm_gradients(
        g, x, weight, mean, variance, True, groups=groups, eps=EPS
    )
    return mean, variance, y, *grads


def by_channels(x, g, weight, bias):
    """The same for batch norm."""
    mean, variance = numpy_pieces.channel_statistics(x)
    inverse = 1 / np.sqrt(variance + x.dtype.type(EPS))
    y = numpy_pieces.channels_normalised(x, mean, inverse, weight, bias)
    return mean, variance, y, *numpy_pieces.batch_norm_gradients(g, x, mean, inverse, weight, True)


def near(found, wanted, dtype, scale=1.0):
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == dtype
        assert got.size == want.size
        least = max(1.0, np.abs(want).max()) * scale
        assert np.abs(got.astype("f8").reshape(want.shape) - want).max() <= CLOSE[dtype] * least


def affine(dtype, channels, weighted, biased):
    """Weight and bias, or None, and what they stand for, [G, K, 1]."""
    given = (
        numbers(dtype, channels, seed=2) if weighted else None,
        numbers(dtype, channels, seed=3) if biased else None,
    )
    return given, [np.full(channels, 1 - i) if v is None else v for i, v in enumerate(given)]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("weighted", "biased"), AFFINE)
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm(monkeypatch, dtype, length, weighted, biased, groups):
    monkeypatch.setattr(numpy_rows, "BLOCK", 12 * length)  # several blocks, some not full
    x, g = numbers(dtype, 5, 6, length), numbers(dtype, 5, 6, length, seed=1)
    given, full = affine(dtype, 6, weighted, biased)
    blocks = [v.reshape(5, groups, -1, length) for v in (x, g)]
    full = [v.reshape(groups, -1, 1) for v in full]
    found = by_groups(x, g, *given, groups)
    near(found, formula(*blocks, *full, (2, 3)), dtype, scale=4)
    assert all(v.base is None for v in found[2:])  # a gradient that is a view would be copied


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("weighted", "biased"), AFFINE)
def test_batch_norm(monkeypatch, dtype, length, weighted, biased):
    monkeypatch.setattr(numpy_rows, "BLOCK", 12 * length)
    x, g = numbers(dtype, 5, 6, length), numbers(dtype, 5, 6, length, seed=1)
    given, full = affine(dtype, 6, weighted, biased)
    blocks = [v.reshape(5, 6, 1, length) for v in (x, g)]
    found = by_channels(x, g, *given)
    near(found, formula(*blocks, *(v.reshape(6, 1, 1) for v in full), (0, 2, 3)), dtype, scale=4)
    assert all(v.base is None for v in found)


def test_any_layout_and_what_is_not_needed():
    x = numbers("f", 7, 8, 5, 6).transpose(3, 2, 1, 0)  # [6, 5, 8, 7]
    g = numbers("f", 6, 5, 8, 7, seed=1)[..., ::-1]
    weight = numbers("f", 10, seed=2)[::2]
    blocks = [np.ascontiguousarray(v).reshape(6, 5, 1, 56) for v in (x, g)]
    for found, axes in (
        (by_groups(x, g, weight, None, 5), (2, 3)), (by_channels(x, g, weight, None), (0, 2, 3))
    ):  # fmt: skip
        near(found, formula(*blocks, weight.reshape(5, 1, 1), 0, axes), "float32", scale=4)
    mean, variance = numpy_pieces.channel_statistics(x)
    assert numpy_pieces.batch_norm_gradients(g, x, mean, variance, weight, False)[0] is None
    _, *moments = numpy_pieces.groups_normalised(x, weight, None, groups=5, eps=EPS)
    grads = numpy_pieces.group_norm_gradients(g, x, weight, *moments, False, groups=5, eps=EPS)
    assert grads[0] is None


@pytest.mark.parametrize("mean", [1e4, -1e4])
def test_a_large_mean_costs_no_digits_of_group_norm(mean):
    x = numbers("f", 3, 4, 1000) + np.float32(mean)
    y, *_ = numpy_pieces.groups_normalised(x, None, None, groups=2, eps=EPS)
    wanted = formula(*[x.reshape(3, 2, 2, 1000)] * 2, 1, 0, (2, 3))[2]
    near([y], [wanted.reshape(x.shape)], "float32", scale=2)


def test_a_large_mean_is_no_variance():
    x = np.full((3, 4, 1000), 1 / 3, "f") * np.float32(1e6)
    mean, variance = numpy_pieces.channel_statistics(x)
    assert (mean == x[0, 0, 0]).all()
    assert (variance == 0).all()


def test_what_is_not_finite_stays_in_its_row():
    x, g = numbers("f", 4, 6, 40), numbers("f", 4, 6, 40, seed=1)
    x[1, 2, 5] = np.nan
    _, _, *of_groups = by_groups(x, g, None, None, 3)
    _, _, *of_channels = by_channels(x, g, None, None)
    for y in of_groups[:2]:
        is_hit = np.zeros(x.shape, bool)
        is_hit[1, 2:4] = True
        np.testing.assert_array_equal(np.isnan(y), is_hit)
    for y in of_channels[:2]:
        is_hit = np.zeros(x.shape, bool)
        is_hit[:, 2] = True
        np.testing.assert_array_equal(np.isnan(y), is_hit)


def test_every_number_of_threads_and_size_of_blocks_gives_the_same_bits(monkeypatch):
    x, g, weight = numbers("f", 40, 64, 100), numbers("f", 40, 64, 100, seed=1), numbers("f", 64)
    results = []
    before = get_num_threads()
    try:
        for threads, size in ((1, 1 << 17), (2, 1 << 17), (2, 1 << 14)):
            set_num_threads(threads)
            monkeypatch.setattr(numpy_rows, "BLOCK", size)
            results.append(
                (*by_groups(x, g, weight, weight, 16), *by_channels(x, g, weight, weight))
            )
    finally:
        set_num_threads(before)
    for first, *others in zip(*results, strict=True):
        for other in others:
            assert first.tobytes() == other.tobytes()


def test_halves_and_what_is_too_short_or_empty_are_left_to_numpy():
    wrong = {"f2": (3, 4, 50), "i4": (3, 4, 50), ">f4": (3, 4, 50)}
    arrays = [numbers(dtype, *shape) for dtype, shape in wrong.items()]
    arrays += [numbers("f", *shape) for shape in ((3, 4, 7), (3, 4), (0, 4, 50))]
    for x in arrays:
        assert not numpy_pieces.is_compiled(x)
    x = numbers("f", 3, 4, 50)
    assert numpy_pieces.is_compiled(x, x)
    assert not numpy_pieces.is_compiled(x, x.astype("f8"))


def test_the_norms_get_to_the_core(monkeypatch):
    seen = []
    for name in ("groups_normalised", "group_norm_gradients", "channel_statistics",
                 "channels_normalised", "batch_norm_gradients"):  # fmt: skip
        function = getattr(numpy_pieces, name)
        monkeypatch.setattr(
            numpy_pieces, name, lambda *a, f=function, **k: (seen.append(f), f(*a, **k))[1]
        )
    shape = (4, 6, 40, 40)
    assert np.prod(shape) > max(numpy_batch_norm.SMALL, numpy_group_norm.SMALL)
    x = ag.Variable(numbers("f", *shape), requires_grad=True)
    F = ag.nn.functional
    ag.sum(F.group_norm(x, 2) * F.batch_norm(x, None, None, training=True)).backward()
    assert len(seen) == 5


def test_wrong_arrays_are_refused():
    x, y, row, wide = np.ones((2, 3, 9), "f"), np.ones((2, 3, 9), "f"), np.ones(6, "f"), np.ones(6)
    numbers_ = [0, 6, 1, 9, 9, 0, 1]  # start, stop, pieces, length, strides, columns
    good = {
        "moments": [x, wide, wide.copy(), wide.copy()],
        "scaled": [x, y, row, row, row],
        "sums": [x, x, row, wide, wide.copy()],
        "combined": [x, x, y, row, row, row, row],
    }
    for name, arrays in good.items():
        function = getattr(extension, f"pieces_{name}")
        function(*arrays, *numbers_)
        for place, array in enumerate(arrays):
            wrong = (None, array.astype("i4"), array[:1], array[..., ::2], array.astype(">f4"),
                     array.astype("f4" if array.dtype == "f8" else "f8"))  # fmt: skip
            # the type of moments is that of x
            for value in wrong[: 5 if array is x and name == "moments" else 6]:
                with pytest.raises(TypeError):
                    function(*arrays[:place], value, *arrays[place + 1 :], *numbers_)
        for place, value in ((0, -1), (0, 6), (1, 7), (2, 0), (3, 0), (3, 10), (4, 10), (4, -9),
                             (4, 1 << 62), (5, -1), (6, 2), (6, 0), (1, "6")):  # fmt: skip
            with pytest.raises(TypeError):
                function(*arrays, *numbers_[:place], value, *numbers_[place + 1 :])
        for count in (0, 3, 6):
            with pytest.raises(TypeError):
                function(*arrays[:1], *numbers_[:count])
    by_piece = [0, 2, 3, 9, 27, 9, 3]
    extension.pieces_scaled(x, y, row, row, row, *by_piece)
    with pytest.raises(TypeError):
        extension.pieces_scaled(x, y, row, row[:5].copy(), row, *by_piece)
