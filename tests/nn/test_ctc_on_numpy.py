"""NumPy's own form of the sums over alignments, against the general one."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F

XP = load_backend("numpy").xp
TARGETS = [[1, 2, 2], [3, 0, 0], [1, 1, 1]]
CASES = {
    "of one length": ([9, 9, 9], [3, 1, 3]),
    "of several lengths": ([9, 2, 5], [3, 1, 3]),
    "too short": ([9, 1, 4], [3, 1, 3]),  # three equal labels take five steps
    "no label": ([9, 4, 9], [3, 0, 2]),
}


def loss_and_gradient(lengths, sizes, dtype, scale=1.0):
    x = scale * np.random.default_rng(0).standard_normal((9, 3, 4))
    log_probs = ag.Variable(F.log_softmax(x, -1).numpy().astype(dtype), requires_grad=True)
    loss = F.ctc_loss(log_probs, TARGETS, lengths, sizes, reduction="none", zero_infinity=True)
    ag.sum(loss * np.arange(1, 4, dtype=dtype)).backward()
    return loss.numpy(), log_probs.grad


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_the_two_forms_agree(name, dtype, scale, monkeypatch):
    mine = loss_and_gradient(*CASES[name], dtype, scale)
    for function in ("alignments", "alignment_gradient"):
        monkeypatch.delattr(XP, function)
    rtol = 1e-4 if dtype == "f4" else 1e-10
    for got, want in zip(mine, loss_and_gradient(*CASES[name], dtype, scale), strict=True):
        assert got.dtype == want.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def test_derivatives():
    x = np.random.default_rng(1).standard_normal((9, 3, 4))

    def loss(x):
        return ag.sum(F.ctc_loss(F.log_softmax(x, -1), TARGETS, [9, 2, 5], [3, 1, 3]) ** 2)

    assert ag.grad_check(loss, [x], order=2, fast=True)


def test_compiled():
    def step(log_probs):
        log_probs = ag.Variable(log_probs, requires_grad=True)
        loss = F.ctc_loss(log_probs, TARGETS, [9, 2, 5], [3, 1, 3])
        loss.backward()
        return loss.detach(), log_probs.grad

    compiled = ag.compile(step)
    for seed in range(6):
        x = F.log_softmax(np.random.default_rng(seed).standard_normal((9, 3, 4)), -1).value
        (loss, gradient), (want, wanted) = compiled(x), step(x)
        assert loss.item() == want.item()
        np.testing.assert_array_equal(gradient, wanted)
    assert compiled.reason is None
    assert compiled.replays
