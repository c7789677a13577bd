"""Borders and images in other sizes, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional


def extent(d):
    return (7, 6, 5)[:d]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize(("shape", "widths"), [
    ((2, 3, 5), (2, 1)), ((2, 3, 5), (0, 4)), ((1, 2, 4, 5), (1, 2, 3, 0)),
    ((1, 2, 3, 4, 5), (1, 0, 2, 3, 0, 2)), ((3, 5), (4, 3)),
])  # fmt: skip
def test_pad(mode, shape, widths):
    compare(
        lambda x: F.pad(x, widths, mode),
        lambda x: TF.pad(x, widths, mode),
        normal(*shape),
    )


def test_pad_with_a_value_and_negative_widths():
    for widths in ((-1, 2), (1, -2, -1, 0), (-1, -1, -1, -1)):
        compare(
            lambda x, w=widths: F.pad(x, w, value=1.5),
            lambda x, w=widths: TF.pad(x, w, value=1.5),
            normal(3, 4, 5),
        )


@pytest.mark.parametrize("target", [
    {"size": 9}, {"size": 3}, {"scale_factor": 2}, {"scale_factor": 0.6}, {"scale_factor": 1.7},
    {"size": 1},
])  # fmt: skip
@pytest.mark.parametrize("d", [1, 2, 3])
def test_interpolate(d, target):
    x = normal(2, 2, *extent(d))
    compare(lambda x: F.interpolate(x, **target), lambda x: TF.interpolate(x, **target), x)
    mode = ("linear", "bilinear", "trilinear")[d - 1]
    for corners in (False, True):
        options = {"mode": mode, "align_corners": corners, **target}
        compare(lambda x, o=options: F.interpolate(x, **o),
                lambda x, o=options: TF.interpolate(x, **o), x)  # fmt: skip


def test_interpolate_by_axis():
    for target in ({"size": (3, 8)}, {"scale_factor": (0.5, 3.0)}):
        for mode in ("nearest", "bilinear"):
            compare(
                lambda x, t=target, m=mode: F.interpolate(x, mode=m, **t),
                lambda x, t=target, m=mode: TF.interpolate(x, mode=m, **t),
                normal(1, 2, 6, 5),
            )
    compare(lambda x: F.pixel_shuffle(x, 2), lambda x: TF.pixel_shuffle(x, 2), normal(2, 8, 3, 4))


X = np.ones((1, 2, 4, 4))


def test_circular_pad_goes_on_with_what_is_left():
    compare(
        lambda x: F.pad(x, (-1, 2, 1, -2), "circular"),
        lambda x: torch.nn.functional.pad(x, (-1, 2, 1, -2), "circular"),
        normal(2, 3, 4, 5),
    )


REFUSED = [
    (lambda: F.pad(X, (1,)), "pairs of integers"),
    (lambda: F.pad(X, (4, 0), "reflect"), "at most 3 on each side"),
    (lambda: F.pad(X, (5, 0), "circular"), "at most 4 on each side"),
    (lambda: F.pad(X, (1, 1), "mirror"), "mode is"),
    (lambda: F.pad(X, (1, 1), "reflect", 1.0), "takes no value"),
    (lambda: F.pad(X, (-3, -2)), "cut more than"),
    (lambda: F.interpolate(X), "one of size and scale_factor"),
    (lambda: F.interpolate(X, 3, mode="linear"), "has not the axes"),
    (lambda: F.interpolate(X, 3, mode="cubic"), "mode is"),
    (lambda: F.interpolate(X, 3, align_corners=True), "knows no align_corners"),
    (lambda: F.interpolate(X, scale_factor=0.1), "leaves nothing"),
    (lambda: F.interpolate(X, scale_factor=-1.0), "positive number"),
    (lambda: F.pixel_shuffle(X, 2), "a multiple of 2²"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_on_every_backend():
    if "cupy" not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    x, w = normal(2, 2, 5, 4, 6), normal(4, 1, 2, 3, 2)

    def run(name):
        with ag.use_backend(name):
            a, b = (ag.Variable(v).to(name).detach() for v in (x, w))
            a.requires_grad = b.requires_grad = True
            y = F.conv3d(a, b, stride=(2, 1, 1), padding=1, groups=2)
            y = F.adaptive_max_pool3d(F.interpolate(F.pad(y, (1, 2), "reflect"), 5), 3)
            y = F.conv_transpose3d(y, b, groups=4)
            ag.sum(y**2).backward()
            return [v.numpy() for v in (y, ag.Variable(a.grad), ag.Variable(b.grad))]

    for actual, expected in zip(run("cupy"), run("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-10)
