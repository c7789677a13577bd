"""Losses, similarities and activations beyond the common ones, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional
REDUCTIONS = ["mean", "sum", "none"]
pytestmark = pytest.mark.filterwarnings("ignore:Error detected", "ignore:Memory Efficient")


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
    compare(lambda x: F.hinge_embedding_loss(x, t, 0.4, **r),
            lambda x: TF.hinge_embedding_loss(x, tt, 0.4, **r), x)  # fmt: skip
    compare(lambda x: F.soft_margin_loss(x, t, **r),
            lambda x: TF.soft_margin_loss(x, tt, **r), 30 * x)  # fmt: skip


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


ACTIVATIONS = {
    "softmin": {"dim": 1}, "softsign": {}, "tanhshrink": {}, "hardsigmoid": {}, "hardswish": {},
    "celu": {"alpha": 0.5}, "gelu": {"approximate": "none"}, "hardtanh": {"min_val": -2.0},
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    options = ACTIVATIONS[name]
    compare(
        lambda x: getattr(F, name)(x, **options),
        lambda x: getattr(TF, name)(x, **options),
        3 * normal(4, 3),
    )


@pytest.mark.parametrize(("shape", "n"), [((4, 3), 1), ((4, 3), 3), ((2, 3, 4, 2), 3), ((5,), 1)])
def test_prelu(shape, n):
    compare(F.prelu, TF.prelu, normal(*shape), normal(n))


# CTC ----------------------------------------------------------------------------------------------

CTC = [
    (6, 3, 4, [6, 5, 4], [2, 3, 1]),
    (7, 2, 5, [7, 7], [3, 3]),
    (5, 2, 3, [5, 3], [1, 0]),
    (1, 1, 3, [1], [1]),
]


def ctc_case(t, n, classes, sizes):
    rng = np.random.default_rng(t)
    targets = rng.integers(1, classes, (n, max(sizes)))
    targets[0, :2] = 1  # repeats need a blank between them
    return rng.standard_normal((t, n, classes)), targets


@pytest.mark.parametrize("case", CTC, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ctc(case, reduction):
    t, n, classes, lengths, sizes = case
    x, targets = ctc_case(t, n, classes, sizes)
    flat = np.concatenate([row[:k] for row, k in zip(targets, sizes, strict=True)])
    for labels in (targets, flat):
        compare(
            lambda x, s=labels: F.ctc_loss(
                F.log_softmax(x), s, lengths, sizes, reduction=reduction
            ),
            lambda x, s=labels: TF.ctc_loss(
                x.log_softmax(-1), torch.tensor(s), lengths, sizes, reduction=reduction
            ),
            x,
        )


def test_ctc_of_another_blank_and_of_one_sequence():
    x, _ = ctc_case(5, 2, 4, [2, 2])
    compare(
        lambda x: F.ctc_loss(F.log_softmax(x), [[0, 1], [2, 2]], [5, 5], [2, 2], blank=3),
        lambda x: TF.ctc_loss(
            x.log_softmax(-1), torch.tensor([[0, 1], [2, 2]]), [5, 5], [2, 2], blank=3
        ),
        x,
    )
    compare(
        lambda x: F.ctc_loss(F.log_softmax(x), [1, 2], 5, 2),
        lambda x: TF.ctc_loss(
            x.log_softmax(-1), torch.tensor([1, 2]), torch.tensor(5), torch.tensor(2)
        ),
        x[:, 0].copy(),
    )


def test_ctc_of_sequences_that_are_too_short():
    x, _ = ctc_case(2, 2, 4, [2, 2])
    targets = [[1, 1], [1, 2]]

    def loss(x, zero):
        return F.ctc_loss(F.log_softmax(x), targets, [2, 2], [2, 2], 0, "none", zero)

    assert np.isinf(loss(x, False).value[0])
    v = ag.Variable(x, True)
    y = loss(v, True)
    assert y.value[0] == 0
    assert y.value[1] > 0
    ag.sum(y).backward()
    assert not v.grad[:, 0].any()
    assert np.isfinite(v.grad).all()


def test_ctc_of_long_sequences_keeps_its_accuracy():
    rng = np.random.default_rng(0)
    x, targets = rng.standard_normal((300, 2, 20)), rng.integers(1, 20, (2, 60))
    compare(
        lambda x: F.ctc_loss(F.log_softmax(x), targets, [300, 250], [60, 40]),
        lambda x: TF.ctc_loss(x.log_softmax(-1), torch.tensor(targets), [300, 250], [60, 40]),
        x,
        order=0,
    )
    half = F.ctc_loss(F.log_softmax(ag.Variable(x.astype("f4"))), targets, [300, 250], [60, 40])
    assert half.dtype == np.float32


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
    (lambda: F.prelu(X, np.ones(4)), "one per channel"),
    (lambda: F.celu(X, 0.0), "must not be 0"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [5], [1]), "within 1 and 4 steps"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [4, 4], [1]), "2 and 1 lengths for 1"),
    (lambda: F.ctc_loss(X[:, None], [[3]], [4], [1]), "label 3 is outside"),
    (lambda: F.ctc_loss(X[:, None], [[0]], [4], [1]), "or the blank"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [4], [2]), "do not fit the targets"),
    (lambda: F.ctc_loss(X[:, None], [1, 1], [4], [1]), "2 labels for"),
    (lambda: F.ctc_loss(X[:, None], [[1]], [4], [1], blank=7), "blank 7"),
    (lambda: F.ctc_loss(X[0], [[1]], [4], [1]), r"must be \[T, N, C\]"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="integers"):
        F.multi_margin_loss(X, [0.5, 1, 2, 0])
    with pytest.raises(TypeError, match="integers"):
        F.ctc_loss(X[:, None], np.ones((1, 1)), [4], [1])


def test_on_every_backend():
    if "cupy" not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    x, targets = ctc_case(6, 3, 4, [2, 3, 1])

    def run(name):
        with ag.use_backend(name):
            v = ag.Variable(x).to(name).detach()
            v.requires_grad = True
            y = F.ctc_loss(F.log_softmax(v), targets, [6, 5, 4], [2, 3, 1])
            y = y + F.gaussian_nll_loss(v, F.normalize(v).detach(), ag.exp(v))
            (g,) = ag.gradients(y, [v], create_graph=True)
            ag.sum(g * g).backward()
            return y.numpy(), g.numpy(), ag.Variable(v.grad).numpy()

    for actual, expected in zip(run("cupy"), run("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
