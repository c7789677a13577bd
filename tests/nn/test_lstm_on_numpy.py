"""NumPy's own form of an LSTM over a sequence, against the general one."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import ops
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import numpy_lstm

XP = load_backend("numpy").xp
N, H = 3, 4


def operands(steps, dtype="f8"):
    rng = np.random.default_rng(steps)
    shapes = (steps, N, 4 * H), (4 * H, H), (N, H), (N, H)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def values_and_gradients(arrays, reverse, wanted=(True,) * 4):
    variables = [ag.Variable(x, w) for x, w in zip(arrays, wanted, strict=True)]
    outputs = ops.recurrence(variables, "lstm", reverse)
    total = sum(ag.sum(y * np.cos(np.arange(y.size)).reshape(y.shape)) for y in outputs)
    total.backward()
    return [y.numpy() for y in outputs], [v.grad for v in variables]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("block", [1, 3 * 4 * N * H, 1 << 16])
def test_the_two_forms_agree(monkeypatch, block, steps, reverse):
    monkeypatch.setattr(numpy_lstm, "BLOCK", block)
    mine = values_and_gradients(operands(steps), reverse)
    for function in ("sequence", "sequence_gradients"):
        monkeypatch.delattr(XP, function)
    for some, others in zip(mine, values_and_gradients(operands(steps), reverse), strict=True):
        for got, want in zip(some, others, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("missing", range(4))
def test_gradients_that_nobody_wants(missing):
    wanted = [i != missing for i in range(4)]
    _, every = values_and_gradients(operands(3), False)
    _, some = values_and_gradients(operands(3), False, wanted)
    assert some[missing] is None
    for i in range(4):
        if wanted[i]:
            np.testing.assert_array_equal(some[i], every[i])


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives(reverse):
    def total(*xs):
        y, h, c = ops.recurrence(xs, "lstm", reverse)
        return ag.sum(y * y) + ag.sum(h * c)

    assert ag.grad_check(total, operands(3), order=2, fast=True)


def test_only_what_it_knows():
    def form(arrays, cell="lstm", has_bias=False):
        return XP.sequence(arrays, cell, False, has_bias)

    arrays = operands(2)
    assert form(arrays) is not NotImplemented
    assert form(arrays, "gru") is NotImplemented
    assert form(arrays, has_bias=True) is NotImplemented
    assert form(operands(2, "f2")) is NotImplemented
    assert form([arrays[0].astype("f4"), *arrays[1:]]) is NotImplemented


def test_a_graph_that_is_kept_gives_the_same_again():
    variables = [ag.Variable(x, True) for x in operands(5, "f4")]
    y, _, _ = ops.recurrence(variables, "lstm")
    loss = ag.sum(y * y)
    loss.backward(retain_graph=True)
    first = [v.grad.copy() for v in variables]
    for v in variables:
        v.zero_grad()
    loss.backward()
    for v, want in zip(variables, first, strict=True):
        np.testing.assert_array_equal(v.grad, want)


def test_results_share_no_memory():
    y, h, c = (v.value for v in ops.recurrence(operands(3), "lstm"))
    assert not np.shares_memory(y, h)
    assert not np.shares_memory(h, c)
