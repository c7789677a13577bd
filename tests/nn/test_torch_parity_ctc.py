"""CTC, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional


REDUCTIONS = ["mean", "sum", "none"]


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
