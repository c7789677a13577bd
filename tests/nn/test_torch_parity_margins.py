"""Similarities, and losses on margins, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional


REDUCTIONS = ["mean", "sum", "none"]


def signs(*shape):
    return np.where(np.random.default_rng(1).random(shape) < 0.5, -1, 1)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_similarity_and_norms(dim):
    a, b = normal(3, 4, 2), normal(3, 4, 2) + 0.5
    compare(lambda x, y: F.cosine_similarity(x, y, dim),
            lambda x, y: TF.cosine_similarity(x, y, dim), a, b)  # fmt: skip
    compare(lambda x, y: F.cosine_similarity(x, y, dim),
            lambda x, y: TF.cosine_similarity(x, y, dim), a, b[:1, :1])  # fmt: skip
    for p in (1.0, 2.0, 3.0):
        compare(lambda x, p=p: F.normalize(x, p, dim), lambda x, p=p: TF.normalize(x, p, dim), a)
        compare(lambda x, y, p=p: F.pairwise_distance(x, y, p),
                lambda x, y, p=p: TF.pairwise_distance(x, y, p), a, b)  # fmt: skip


def test_zero_vectors_have_similarity_zero():
    a = np.array([[0.0, 0.0], [3.0, 4.0]])
    compare(lambda x: F.normalize(x), lambda x: TF.normalize(x), a, order=0)
    x = ag.Variable(a, True)
    ag.sum(F.cosine_similarity(x, np.ones((2, 2)))).backward()
    assert np.isfinite(x.grad).all()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margins(reduction):
    r = {"reduction": reduction}
    x, y, z, t = normal(4, 3), normal(4, 3)[::-1].copy(), normal(3, 4).T.copy(), signs(4, 3)
    tt = torch.tensor(t)
    for m in (0.0, 0.3):
        compare(
            lambda x, y, m=m: F.cosine_embedding_loss(x, y, t[:, 0], m, **r),
            lambda x, y, m=m: TF.cosine_embedding_loss(x, y, tt[:, 0], m, **r),
            x, y,
        )  # fmt: skip
        compare(
            lambda x, y, m=m: F.margin_ranking_loss(x, y, t, m, **r),
            lambda x, y, m=m: TF.margin_ranking_loss(x, y, tt, m, **r),
            x, y,
        )  # fmt: skip
    for swap in (False, True):
        compare(
            lambda x, y, z, s=swap: F.triplet_margin_loss(x, y, z, 0.7, swap=s, **r),
            lambda x, y, z, s=swap: TF.triplet_margin_loss(x, y, z, 0.7, swap=s, **r),
            x, y, z,
        )  # fmt: skip
    for p in (1, 2):
        compare(
            lambda x, p=p: F.multi_margin_loss(x, [0, 2, 1, 1], p, 0.7, **r),
            lambda x, p=p: TF.multi_margin_loss(x, torch.tensor([0, 2, 1, 1]), p, 0.7, **r),
            x,
        )
    compare(lambda x: F.multi_margin_loss(x[0], 1, **r),
            lambda x: TF.multi_margin_loss(x[0], torch.tensor(1), **r), x)  # fmt: skip
    compare(lambda x: F.hinge_embedding_loss(x, t, 0.4, **r),
            lambda x: TF.hinge_embedding_loss(x, tt, 0.4, **r), x)  # fmt: skip
    compare(lambda x: F.soft_margin_loss(x, t, **r),
            lambda x: TF.soft_margin_loss(x, tt, **r), 30 * x)  # fmt: skip


X = normal(4, 3)


REFUSED = [
    (lambda: F.cosine_embedding_loss(X, X, [1, 1]), r"must be \[N, D\] and \[N\]"),
    (lambda: F.cosine_embedding_loss(X, X[:2], [1, 1]), "do not broadcast"),
    (lambda: F.hinge_embedding_loss(X, X[0]), "do not broadcast"),
    (lambda: F.margin_ranking_loss(X, X, X[0]), "do not broadcast"),
    (lambda: F.soft_margin_loss(X, X[0]), "do not broadcast"),
    (lambda: F.triplet_margin_loss(X, X, X[:1]), "do not broadcast"),
    (lambda: F.gaussian_nll_loss(X, X, X[:2]), r"var \[2, 3\] is neither"),
    (lambda: F.poisson_nll_loss(X, X[:1]), "do not broadcast"),
    (lambda: F.multi_margin_loss(X, [0, 1]), r"must be \[N, C\]"),
    (lambda: F.multi_margin_loss(X, [0, 1, 2, 0], p=3), "p is 1 or 2"),
    (lambda: F.kl_div(X, X, "median"), "reduction is one of"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
