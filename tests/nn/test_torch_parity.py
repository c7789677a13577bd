"""Values and gradients of layers and losses against PyTorch's, in float64."""

from itertools import product

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional
pytestmark = pytest.mark.filterwarnings(
    "ignore:Using padding='same'", "ignore:reduction. 'mean' divides"
)


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
def test_pooling(size, stride, padding, ceil_mode, shape):
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


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (0, 5)])
def test_linear(shape):
    compare(
        F.linear, TF.linear, normal(*shape), normal(4, 5), normal(4), order=2 * (0 not in shape)
    )
    compare(F.linear, TF.linear, normal(*shape), normal(4, 5), order=0)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("given", ["", "w", "wb", "b"])
def test_layer_norm(axes, given):
    shape = (2, 3, 5)[3 - axes :]
    operands = [normal(*shape) for _ in given]

    def run(function):
        def call(x, *rest):
            named = dict(zip(given, rest, strict=True))
            return function(x, shape, named.get("w"), named.get("b"), 1e-3)

        return call

    compare(run(F.layer_norm), run(TF.layer_norm), normal(2, 3, 5), *operands)


def test_group_norm_and_rms_norm():
    compare(
        lambda x, w, b: F.group_norm(x, 2, w, b),
        lambda x, w, b: TF.group_norm(x, 2, w, b),
        normal(3, 4, 5), normal(4), normal(4),
    )  # fmt: skip
    compare(
        lambda x, w: F.rms_norm(x, (5,), w),
        lambda x, w: TF.rms_norm(x, (5,), w),
        normal(3, 5), normal(5),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 2, 4)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training):
    mean, var = np.linspace(-1, 1, 3), np.linspace(1, 2, 3)
    compare(
        lambda x, w, b: F.batch_norm(x, mean.copy(), var.copy(), w, b, training),
        lambda x, w, b: TF.batch_norm(
            x, torch.tensor(mean), torch.tensor(var), w, b, training
        ),
        normal(*shape), normal(3), normal(3),
    )  # fmt: skip
    moved = mean.copy(), var.copy()
    expected = torch.tensor(mean), torch.tensor(var)
    F.batch_norm(ag.Variable(normal(*shape)), *moved, training=training, momentum=0.3)
    TF.batch_norm(torch.tensor(normal(*shape)), *expected, training=training, momentum=0.3)
    for ours, theirs in zip(moved, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_embedding(padding_idx):
    indices = np.array([[1, 2, 2], [0, 1, 4]])
    compare(
        lambda w: F.embedding(indices, w, padding_idx),
        lambda w: TF.embedding(torch.tensor(indices), w, padding_idx),
        normal(5, 2),
        order=0,
    )


MASKS = {
    "none": None,
    "bool": np.tril(np.ones((4, 4), bool), 1),
    "numbers": normal(2, 1, 4, 4),
    "minus infinity": np.where(np.tril(np.ones((4, 4), bool)), 0.0, -np.inf),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(mask, is_causal):
    if mask != "none" and is_causal:
        pytest.skip("PyTorch does not take both")
    m = MASKS[mask]
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, m, is_causal=is_causal),
        lambda q, k, v: TF.scaled_dot_product_attention(
            q, k, v, None if m is None else torch.tensor(m), is_causal=is_causal
        ),
        normal(2, 3, 4, 5), normal(2, 3, 4, 5) + 1, normal(2, 3, 4, 6),
    )  # fmt: skip


LABELS = np.array([1, 0, 3, -100, 2, 1])


@pytest.mark.parametrize(
    ("smoothing", "reduction", "weighted", "ignore"),
    list(product([0.0, 0.2], ["mean", "sum", "none"], [False, True], [-100, 1])),
)
def test_cross_entropy(smoothing, reduction, weighted, ignore):
    labels = LABELS if ignore == -100 else np.maximum(LABELS, 0)
    w = np.linspace(0.5, 2, 4) if weighted else None
    options = {"ignore_index": ignore, "reduction": reduction, "label_smoothing": smoothing}
    tw = None if w is None else torch.tensor(w)
    compare(
        lambda x: F.cross_entropy(x, labels, w, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(labels), tw, **options),
        normal(6, 4),
    )
    compare(
        lambda x: F.cross_entropy(x, labels.reshape(3, 2), w, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(labels.reshape(3, 2)), tw, **options),
        normal(3, 4, 2),
    )
    if reduction != "mean":
        compare(
            lambda x: F.cross_entropy(x, 2, w, **options),
            lambda x: TF.cross_entropy(x, torch.tensor(2), tw, **options),
            normal(4),
        )
    soft = np.random.default_rng(0).dirichlet(np.ones(4), 6)
    del options["ignore_index"]
    compare(
        lambda x, t: F.cross_entropy(x, t, w, **options),
        lambda x, t: TF.cross_entropy(x, t, tw, **options),
        normal(6, 4), soft,
    )  # fmt: skip
    if not smoothing:
        options = {"ignore_index": ignore, "reduction": reduction}
        compare(
            lambda x: F.nll_loss(x, labels, w, **options),
            lambda x: TF.nll_loss(x, torch.tensor(labels), tw, **options),
            normal(6, 4),
        )


def test_cross_entropy_of_extreme_logits_and_of_ignored_rows_alone():
    extreme = np.array([[1e4, -1e4, 0.0], [-1e300, 1e300, 0.0]])
    compare(
        lambda x: F.cross_entropy(x, [1, 1]),
        lambda x: TF.cross_entropy(x, torch.tensor([1, 1])),
        extreme,
        order=0,
    )
    compare(
        lambda x: F.cross_entropy(x, [-100, -100]),
        lambda x: TF.cross_entropy(x, torch.tensor([-100, -100])),
        normal(2, 3),
        order=0,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_two_arrays(reduction):
    x, target = normal(3, 4), normal(3, 4) * 0.7 + 0.1
    pairs = [
        (F.mse_loss, TF.mse_loss, {}),
        (F.l1_loss, TF.l1_loss, {}),
        (F.huber_loss, TF.huber_loss, {"delta": 0.3}),
        (F.smooth_l1_loss, TF.smooth_l1_loss, {"beta": 0.2}),
        (F.smooth_l1_loss, TF.smooth_l1_loss, {"beta": 0}),
    ]
    for ours, theirs, more in pairs:
        compare(
            lambda x, t, f=ours, m=more: f(x, t, reduction=reduction, **m),
            lambda x, t, f=theirs, m=more: f(x, t, reduction=reduction, **m),
            x, target,
        )  # fmt: skip
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    for log_target in (False, True):
        t = np.log(probabilities) if log_target else probabilities
        compare(
            lambda x, t, lt=log_target: F.kl_div(x, t, reduction=reduction, log_target=lt),
            lambda x, t, lt=log_target: TF.kl_div(x, t, reduction=reduction, log_target=lt),
            x, t,
        )  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy(reduction, weighted):
    target = np.random.default_rng(1).random((3, 4))
    weight = np.linspace(0.5, 2, 4) if weighted else None
    tw = None if weight is None else torch.tensor(weight)
    for x in (normal(3, 4), normal(3, 4) * 1e3):
        compare(
            lambda x, t: F.binary_cross_entropy_with_logits(x, t, weight, weight, reduction),
            lambda x, t: TF.binary_cross_entropy_with_logits(
                x, t, tw, pos_weight=tw, reduction=reduction
            ),
            x, target,
            order=2 * bool(np.abs(x).max() < 10),
        )  # fmt: skip
    compare(
        lambda x: F.binary_cross_entropy(x, target, weight, reduction),
        lambda x: TF.binary_cross_entropy(x, torch.tensor(target), tw, reduction=reduction),
        np.random.default_rng(2).random((3, 4)),
    )


ACTIVATIONS = {
    "relu": {}, "gelu": {"approximate": "tanh"}, "silu": {}, "elu": {"alpha": 0.7}, "selu": {},
    "leaky_relu": {"negative_slope": 0.1}, "mish": {}, "softplus": {}, "logsigmoid": {},
    "hardtanh": {}, "relu6": {}, "glu": {"dim": 0}, "softmax": {"dim": 1},
    "log_softmax": {"dim": 0}, "sigmoid": {}, "tanh": {},
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    options = ACTIVATIONS[name]
    compare(
        lambda x: getattr(F, name)(x, **options),
        lambda x: getattr(TF, name)(x, **options),
        3 * normal(4, 3),
    )
