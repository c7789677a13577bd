"""What functions say of shapes, labels, indices and options that do not fit."""

import numpy as np
import pytest

from autograd_gpu.nn import functional as F

X, IMAGE = np.ones((4, 3)), np.ones((1, 4, 5, 6))
AT, TABLE = np.array([[0, 1], [2, 0]]), np.ones((3, 2))

VALUES = [
    (lambda: F.softplus(X, beta=0.0), "beta must not be 0"),
    (lambda: F.softshrink(X, -1.0), "is negative"),
    (lambda: F.cdist(X, np.ones((2, 4))), r"x1 \[4, 3\] and x2 \[2, 4\] must be"),
    (lambda: F.cdist(X, X, -1.0), "p=-1.0 is negative"),
    (lambda: F.pdist(X[0]), r"must be \[N, M\], not \[3\]"),
    (lambda: F.bilinear(X, X, np.ones((2, 3, 4))), r"\[\.\.\., I\], \[\.\.\., J\]"),
    (lambda: F.bilinear(X, X, np.ones((2, 3, 3)), np.ones(3)), r"bias \[3\] must be \[2\]"),
    (lambda: F.binary_cross_entropy(X - 3, X), r"binary_cross_entropy\(.*-2.0 is outside \[0, 1\]"),
    (lambda: F.gaussian_nll_loss(X, X, -X), r"gaussian_nll_loss: var -1.0 is outside \[0, inf\]"),
    (lambda: F.embedding_bag([0, 1, 2], X, [1, 2]), r"offsets begin at 1, not at 0"),
    (lambda: F.multi_margin_loss(X, [0, 1, 2, 3]), r"label 3 is outside \[0, 3\)"),
    (lambda: F.multi_margin_loss(X, [0] * 4, weight=np.ones(2)), r"weight \[2\] must be \[3\]"),
    (lambda: F.multilabel_margin_loss(X, X[:2].astype(int)), "do not broadcast"),
    (lambda: F.multilabel_margin_loss(X[:1], [[0, 3, -1]]), r"label 3 is outside"),
    (lambda: F.multilabel_margin_loss(IMAGE, IMAGE.astype(int)), r"\[N, C\] or \[C\]"),
    (lambda: F.multilabel_soft_margin_loss(X, X[0]), "do not broadcast"),
    (lambda: F.triplet_margin_with_distance_loss(X, X, X[:1]), "do not broadcast"),
    (lambda: F.mse_loss(X, X, weight=np.ones(3)), r"mse_loss: weight \[3\] must have the shape"),
    (lambda: F.l1_loss(X, X, weight=np.ones(3)), r"l1_loss: weight \[3\]"),
    (lambda: F.huber_loss(X, X, weight=np.ones(3)), r"huber_loss: weight \[3\]"),
    (lambda: F.gaussian_nll_loss(X, X, np.ones((1, 1))), r"var \[1, 1\] is neither"),
    (lambda: F.instance_norm(IMAGE, use_input_stats=False), "needs running statistics"),
    (lambda: F.local_response_norm(X, 2), r"must be \[N, C, ...\]"),
    (lambda: F.local_response_norm(IMAGE, 0), "size=0 positive"),
    (lambda: F.pixel_unshuffle(IMAGE, 2), "multiples of 2"),
    (lambda: F.channel_shuffle(IMAGE, 3), "C a multiple of 3"),
    (lambda: F.unfold(X, 2), r"must be \[N, C, H, W\]"),
    (lambda: F.unfold(IMAGE, 7), "a window of 7 does not fit into 5"),
    (lambda: F.fold(np.ones((1, 4, 5)), (3, 3), 2), r"must be \[N, C · 4, 4\]"),
    (lambda: F.fold(np.ones((1, 5, 4)), (3, 3), 2), r"must be \[N, C · 4, 4\]"),
    (lambda: F.lp_pool2d(IMAGE, -1.0, 2), "must be positive"),
    (lambda: F.max_unpool2d(IMAGE, IMAGE[0].astype(int), 2), "must both be"),
    (
        lambda: F.max_unpool2d(IMAGE, np.zeros(IMAGE.shape, int), 2, output_size=(9, 20)),
        "within a stride",
    ),
    (lambda: F.interpolate(IMAGE, 3, mode="nearest", antialias=True), "antialias is for"),
    (lambda: F.interpolate(IMAGE, 3, mode="area", align_corners=True), "no align_corners"),
    (lambda: F.interpolate(IMAGE, 3, recompute_scale_factor=True), "one of size and"),
    (lambda: F.interpolate(IMAGE[0], 3, mode="bicubic"), "has not the axes"),
    (lambda: F.affine_grid(np.ones((1, 3, 2)), (1, 1, 2, 2)), r"must be \[N, 2, 3\]"),
    (lambda: F.grid_sample(IMAGE, np.ones((1, 2, 2, 3))), r"\[N, h, w, 2\]"),
    (lambda: F.grid_sample(IMAGE, np.ones((1, 2, 2, 2)), "cubic"), "mode is"),
    (lambda: F.grid_sample(IMAGE, np.ones((1, 2, 2, 2)), padding_mode="edge"), "padding_mode is"),
    (lambda: F.embedding_bag(AT, TABLE, mode="median"), "mode is"),
    (lambda: F.embedding_bag(AT[0], TABLE), r"must be \[B, n\]"),
    (lambda: F.embedding_bag(AT[0], TABLE, [0], mode="max"), "mode 'sum' or 'mean'"),
    (lambda: F.embedding_bag(AT, TABLE, per_sample_weights=np.ones(2)), "are for mode 'sum'"),
]
INDICES = [
    (lambda: F.embedding_bag([[0, 3]], TABLE), r"outside \[0, 3\)"),
    (lambda: F.embedding_bag(AT, TABLE, padding_idx=7), "padding_idx 7"),
    (lambda: F.max_unpool2d(np.ones((1, 1, 1)), np.array([[[4]]]), 2), "4 is out of bounds"),
]
TYPES = [
    (lambda: F.multilabel_margin_loss(X, X), "labels are integers, not float64"),
    (lambda: F.max_unpool2d(IMAGE, IMAGE, 2), "indices are integers, not float64"),
    (lambda: F.embedding_bag(AT / 2, TABLE), "indices are integers, not float64"),
]


@pytest.mark.parametrize(("call", "message"), VALUES)
def test_shapes_labels_and_options(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), INDICES)
def test_indices_out_of_range(call, message):
    with pytest.raises(IndexError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), TYPES)
def test_labels_and_indices_of_another_kind(call, message):
    with pytest.raises(TypeError, match=message):
        call()
