"""Cross-entropies, errors and likelihoods, against PyTorch's."""

from itertools import product

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu.nn.functional as F

TF = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")


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


REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_likelihoods(reduction):
    r = {"reduction": reduction}
    x, t, var = normal(4, 3), normal(3, 4).T.copy(), np.abs(normal(4, 3)) + 0.1
    for full in (False, True):
        compare(
            lambda x, t, v, f=full: F.gaussian_nll_loss(x, t, v, f, **r),
            lambda x, t, v, f=full: TF.gaussian_nll_loss(x, t, v, f, **r),
            x, t, var,
        )  # fmt: skip
    for log_input in (False, True):
        compare(
            lambda x, li=log_input: F.poisson_nll_loss(x, np.abs(t), li, **r),
            lambda x, li=log_input: TF.poisson_nll_loss(x, torch.tensor(np.abs(t)), li, **r),
            var,
        )


def test_kl_div_of_batches_and_zero_targets():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    p[0, 0] = 0.0
    compare(
        lambda x: F.kl_div(x, p, "batchmean"),
        lambda x: TF.kl_div(x, torch.tensor(p), reduction="batchmean"),
        normal(3, 4),
    )
