"""Convolutions, pooling, borders and resizing over one to three axes, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")


def extent(d):
    return (7, 6, 5)[:d]


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": 2},
        {"padding": "same"},
        {"stride": 3, "padding": 2, "dilation": 2},
    ],
    ids=str,
)
def test_convolutions(d, groups, options):
    kernel = (3, 2, 3)[:d]
    compare(
        lambda x, w, b: getattr(F, f"conv{d}d")(x, w, b, groups=groups, **options),
        lambda x, w, b: getattr(TF, f"conv{d}d")(x, w, b, groups=groups, **options),
        normal(2, 4, *extent(d)), normal(6, 4 // groups, *kernel), normal(6),
    )  # fmt: skip


def test_conv3d_with_one_number_per_axis_and_without_batch():
    options = {"stride": (1, 2, 1), "padding": (2, 0, 1), "dilation": (1, 1, 2)}
    compare(
        lambda x, w: F.conv3d(x, w, **options),
        lambda x, w: TF.conv3d(x, w, **options),
        normal(2, 4, 5, 6), normal(3, 2, 2, 3, 2),
    )  # fmt: skip


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"stride": 3, "dilation": 2}]
)
def test_transposed_convolutions(d, groups, options):
    kernel = (3, 2, 2)[:d]
    compare(
        lambda x, w, b: getattr(F, f"conv_transpose{d}d")(x, w, b, groups=groups, **options),
        lambda x, w, b: getattr(TF, f"conv_transpose{d}d")(x, w, b, groups=groups, **options),
        normal(2, 4, *(4, 3, 2)[:d]), normal(4, 3, *kernel), normal(3 * groups),
    )  # fmt: skip
    compare(
        lambda x, w: getattr(F, f"conv_transpose{d}d")(x, w, groups=groups, **options),
        lambda x, w: getattr(TF, f"conv_transpose{d}d")(x, w, groups=groups, **options),
        normal(4, *(4, 3, 2)[:d]), normal(4, 3, *kernel),
    )  # fmt: skip


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
REFUSED = [
    (lambda: F.conv1d(X, np.ones((3, 2, 2))), r"x must be \[N, C, L\]"),
    (lambda: F.conv3d(X, np.ones((3, 1, 1, 1, 1)), padding="wide"), "'same' or 'valid'"),
    (lambda: F.conv3d(X, np.ones((3, 2, 1, 1, 1)), stride=(1, 1)), "triple"),
    (lambda: F.conv_transpose1d(X[0], np.ones((3, 2, 2))), r"must be \[N, C, L\]"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 2, 2)), np.ones(3)), r"bias \[3\] must be \[2\]"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 2, 2)), output_padding=1), "smaller than stride"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 1, 1)), padding=4), "leaves nothing"),
    (lambda: F.max_pool3d(X[0, 0], 2), r"\[N, C, D, H, W\]"),
    (lambda: F.adaptive_max_pool1d(np.ones(3), 2), r"\[N, C, L\]"),
    (lambda: F.adaptive_avg_pool2d(X, 0), "at least 1"),
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


@pytest.mark.parametrize("padding", [0, 1, (2, 3)])
def test_output_padding_beyond_the_stride(padding):
    options = {"stride": 2, "dilation": 4, "padding": padding, "output_padding": (2, 3)}
    compare(
        lambda x, w: F.conv_transpose2d(x, w, **options),
        lambda x, w: torch.nn.functional.conv_transpose2d(x, w, **options),
        normal(2, 3, 4, 5),
        normal(3, 2, 3, 2),
    )


def test_circular_pad_goes_on_with_what_is_left():
    compare(
        lambda x: F.pad(x, (-1, 2, 1, -2), "circular"),
        lambda x: torch.nn.functional.pad(x, (-1, 2, 1, -2), "circular"),
        normal(2, 3, 4, 5),
    )
