"""Pooling over one to three axes, where maxima are, and back, against PyTorch's."""

import numpy as np
import pytest
from function_cases import IMAGE, SIGNAL, VOLUME
from parity import close, compare, normal, torch

import autograd_gpu.nn.functional as F

TF = torch.nn.functional


def extent(d):
    return (7, 6, 5)[:d]


POOLS = [
    (2, None, 0, False),
    (2, None, 0, True),
    ((3, 2), (2, 1), (1, 1), False),
    (3, 2, 1, True),
    (2, 3, 0, True),
    (1, 1, 0, False),
    (3, 4, 1, True),
]


@pytest.mark.parametrize(("size", "stride", "padding", "ceil_mode"), POOLS)
@pytest.mark.parametrize("shape", [(2, 2, 7, 5), (1, 6, 8), (2, 1, 4, 4)])
def test_pooling_of_images(size, stride, padding, ceil_mode, shape):
    compare(
        lambda x: F.max_pool2d(x, size, stride, padding, ceil_mode=ceil_mode),
        lambda x: TF.max_pool2d(x, size, stride, padding, ceil_mode=ceil_mode),
        normal(*shape),
    )
    for more in ({}, {"count_include_pad": False}, {"divisor_override": 3}):
        compare(
            lambda x, more=more: F.avg_pool2d(x, size, stride, padding, ceil_mode, **more),
            lambda x, more=more: TF.avg_pool2d(x, size, stride, padding, ceil_mode, **more),
            normal(*shape),
        )


def test_max_pool2d_dilated_and_with_ties():
    compare(
        lambda x: F.max_pool2d(x, 2, 1, 1, 2),
        lambda x: TF.max_pool2d(x, 2, 1, 1, 2),
        normal(1, 2, 5, 6),
    )
    for size, stride in ((2, 2), (3, 1)):
        compare(
            lambda x, s=size, t=stride: F.max_pool2d(x, s, t),
            lambda x, s=size, t=stride: TF.max_pool2d(x, s, t),
            np.ones((1, 1, 4, 4)),
            order=0,
        )


@pytest.mark.parametrize("out", [1, 2, (3, 5), (4, 7)])
def test_adaptive_avg_pool2d(out):
    compare(
        lambda x: F.adaptive_avg_pool2d(x, out),
        lambda x: TF.adaptive_avg_pool2d(x, out),
        normal(2, 3, 4, 7),
    )


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("lead", [(2, 2), (3,)])
@pytest.mark.parametrize("options", [(2,), (3, 2, 1), (3, 1, 1), (2, 3, 0), (2, 2, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling(d, lead, options, ceil_mode):
    for name in ("max", "avg"):
        ours, theirs = (getattr(m, f"{name}_pool{d}d") for m in (F, TF))
        compare(
            lambda x, f=ours: f(x, *options, ceil_mode=ceil_mode),
            lambda x, f=theirs: f(x, *options, ceil_mode=ceil_mode),
            normal(*lead, *extent(d)),
        )
    ours, theirs = (getattr(m, f"avg_pool{d}d") for m in (F, TF))
    compare(
        lambda x: ours(x, *options, ceil_mode=ceil_mode, count_include_pad=False),
        lambda x: theirs(x, *options, ceil_mode=ceil_mode, count_include_pad=False),
        normal(*lead, *extent(d)),
    )


def test_dilated_pooling_and_divisors():
    compare(
        lambda x: F.max_pool3d(x, 2, 1, 1, 2),
        lambda x: TF.max_pool3d(x, 2, 1, 1, 2),
        normal(1, 2, 4, 5, 4),
    )
    compare(
        lambda x: F.max_pool1d(x, 3, 2, 1, 2),
        lambda x: TF.max_pool1d(x, 3, 2, 1, 2),
        normal(1, 2, 9),
    )
    compare(
        lambda x: F.avg_pool3d(x, (2, 1, 2), divisor_override=3),
        lambda x: TF.avg_pool3d(x, (2, 1, 2), divisor_override=3),
        normal(1, 2, 4, 5, 4),
    )


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("out", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("name", ["avg", "max"])
@pytest.mark.parametrize("lead", [(2, 2), (3,)])
def test_adaptive_pooling(d, out, name, lead):
    compare(
        lambda x: getattr(F, f"adaptive_{name}_pool{d}d")(x, out),
        lambda x: getattr(TF, f"adaptive_{name}_pool{d}d")(x, out),
        normal(*lead, *extent(d)),
    )


def test_adaptive_pooling_of_some_axes_and_of_ties():
    for name in ("avg", "max"):
        compare(
            lambda x, n=name: getattr(F, f"adaptive_{n}_pool2d")(x, (None, 2)),
            lambda x, n=name: getattr(TF, f"adaptive_{n}_pool2d")(x, (None, 2)),
            normal(1, 2, 4, 5),
        )
    compare(
        lambda x: F.adaptive_max_pool2d(x, (3, 2)),
        lambda x: TF.adaptive_max_pool2d(x, (3, 2)),
        np.ones((1, 2, 4, 5)),
        order=0,
    )


WITH_PLACES = [
    (SIGNAL, (2,), {}),
    (SIGNAL[0], (3, 2, 1), {}),
    (IMAGE, (2,), {"ceil_mode": True}),
    (IMAGE, ((3, 2), 1, 1), {"dilation": (1, 2)}),
    (VOLUME, (2, 1), {}),
]


@pytest.mark.parametrize(("x", "args", "options"), WITH_PLACES)
def test_maxima_with_their_places_and_back(x, args, options):
    d = {7: 1, 6: 2, 5: 3}[x.shape[-1]]
    ours, theirs = (getattr(m, f"max_pool{d}d") for m in (F, TF))
    y, indices = ours(x, *args, return_indices=True, **options)
    expected, places = theirs(torch.tensor(x), *args, return_indices=True, **options)
    close(y.value, expected)
    np.testing.assert_array_equal(indices.value, places.numpy())
    compare(
        lambda v: ours(v, *args, return_indices=True, **options)[0],
        lambda v: theirs(v, *args, **options),
        x,
    )
    if options or len(args) > 1:  # overlapping windows: PyTorch's result depends on the order
        return
    compare(
        lambda v: getattr(F, f"max_unpool{d}d")(v, indices, *args),
        lambda v: getattr(TF, f"max_unpool{d}d")(v, places, *args),
        normal(*y.shape),
    )


def test_unpooling_to_a_size():
    y, indices = F.max_pool2d(IMAGE, 2, return_indices=True)
    for size in ((5, 7), IMAGE.shape):
        compare(
            lambda v, s=size: F.max_unpool2d(v, indices, 2, output_size=s),
            lambda v, s=size: TF.max_unpool2d(v, torch.tensor(indices.value), 2, output_size=s),
            normal(*y.shape),
        )


@pytest.mark.parametrize("x", [SIGNAL, IMAGE, VOLUME[0]])
def test_adaptive_maxima_with_their_places(x):
    d = {7: 1, 6: 2, 5: 3}[x.shape[-1]]
    ours, theirs = (getattr(m, f"adaptive_max_pool{d}d") for m in (F, TF))
    y, indices = ours(x, 2, return_indices=True)
    expected, places = theirs(torch.tensor(x), 2, return_indices=True)
    close(y.value, expected)
    np.testing.assert_array_equal(indices.value, places.numpy())


X = np.ones((1, 2, 4, 4))


REFUSED = [
    (lambda: F.max_pool3d(X[0, 0], 2), r"\[N, C, D, H, W\]"),
    (lambda: F.adaptive_max_pool1d(np.ones(3), 2), r"\[N, C, L\]"),
    (lambda: F.adaptive_avg_pool2d(X, 0), "at least 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
