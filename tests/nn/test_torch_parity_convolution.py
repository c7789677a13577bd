"""Convolutions over one to three axes, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu.nn.functional as F

TF = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")


@pytest.mark.parametrize("stride", [1, (2, 1), 3])
@pytest.mark.parametrize("padding", [0, (1, 2)])
@pytest.mark.parametrize("dilation", [1, (1, 2)])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 2), (4, 3)])
def test_conv2d(stride, padding, dilation, groups, kernel):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    compare(
        lambda x, w, b: F.conv2d(x, w, b, **options),
        lambda x, w, b: TF.conv2d(x, w, b, **options),
        normal(2, 4, 7, 6), normal(6, 4 // groups, *kernel), normal(6),
    )  # fmt: skip


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_conv2d_with_named_padding_and_without_bias_or_batch(padding):
    compare(
        lambda x, w: F.conv2d(x, w, padding=padding, dilation=(1, 2)),
        lambda x, w: TF.conv2d(x, w, padding=padding, dilation=(1, 2)),
        normal(3, 6, 7), normal(2, 3, 2, 3),
    )  # fmt: skip


def test_conv1d():
    compare(
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1),
        lambda x, w, b: TF.conv1d(x, w, b, stride=2, padding=1),
        normal(2, 3, 8), normal(4, 3, 3), normal(4),
    )  # fmt: skip


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"stride": (1, 3), "dilation": 2}],
)
def test_conv_transpose2d(options, groups):
    compare(
        lambda x, w, b: F.conv_transpose2d(x, w, b, groups=groups, **options),
        lambda x, w, b: TF.conv_transpose2d(x, w, b, groups=groups, **options),
        normal(2, 4, 4, 3), normal(4, 3, 3, 2), normal(3 * groups),
    )  # fmt: skip


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


X = np.ones((1, 2, 4, 4))


@pytest.mark.parametrize("padding", [0, 1, (2, 3)])
def test_output_padding_beyond_the_stride(padding):
    options = {"stride": 2, "dilation": 4, "padding": padding, "output_padding": (2, 3)}
    compare(
        lambda x, w: F.conv_transpose2d(x, w, **options),
        lambda x, w: torch.nn.functional.conv_transpose2d(x, w, **options),
        normal(2, 3, 4, 5),
        normal(3, 2, 3, 2),
    )


REFUSED = [
    (lambda: F.conv1d(X, np.ones((3, 2, 2))), r"x must be \[N, C, L\]"),
    (lambda: F.conv3d(X, np.ones((3, 1, 1, 1, 1)), padding="wide"), "'same' or 'valid'"),
    (lambda: F.conv3d(X, np.ones((3, 2, 1, 1, 1)), stride=(1, 1)), "triple"),
    (lambda: F.conv_transpose1d(X[0], np.ones((3, 2, 2))), r"must be \[N, C, L\]"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 2, 2)), np.ones(3)), r"bias \[3\] must be \[2\]"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 2, 2)), output_padding=1), "smaller than stride"),
    (lambda: F.conv_transpose2d(X, np.ones((2, 2, 1, 1)), padding=4), "leaves nothing"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
