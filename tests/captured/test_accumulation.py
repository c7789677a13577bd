"""Gradients that several captured calls add up, and another one uses."""

from __future__ import annotations

import pytest
from captured_steps import assert_same

import autograd_gpu as ag
from autograd_gpu import optim


@pytest.mark.parametrize("is_split", [False, True])
def test_batches_in_parts(cp, is_split):
    """`is_split`: the optimiser's step, which clips in place, is a function of its own."""
    ends = []
    for wrap in (lambda function: function, ag.compile):
        w = ag.Variable(cp.ones(3, "float32"), requires_grad=True)
        optimizer = optim.Adam([w], lr=0.1)

        def part(x, w=w):
            loss = ag.sum(w * w * x)
            loss.backward()
            return loss

        def update(w=w, optimizer=optimizer):
            optim.clip_grad_norm_([w], 0.5)
            optimizer.step()
            optimizer.zero_grad()

        adding, updating = wrap(part), wrap(update) if is_split else update
        log = []
        for i in range(24):
            log.append(adding(ag.Variable(cp.full(3, 1.0 + i, "float32"))).value.get())
            log.append(w.grad.get())
            if i % 3 == 2:
                updating()
                log.append(w.numpy())
        ends.append(log)
    assert_same(*ends)
    assert adding.reason is None
    assert adding.replays == 20  # all but an eager call and recordings
    assert not is_split or updating.replays == 6


def test_a_gradient_that_somebody_holds_is_not_added_to(cp):
    w = ag.Variable(cp.ones(3, "float32"), requires_grad=True)
    add = ag.compile(lambda x: ag.sum(w * x).backward())
    x = ag.Variable(cp.full(3, 2.0, "float32"))
    for _ in range(3):
        w.grad = None
        add(x)
    kept = w.grad
    add(x)
    assert kept.tolist() == [2.0] * 3
    assert w.grad.tolist() == [4.0] * 3
    assert "held elsewhere" in add.reason


def test_graphs_that_are_gone_hold_no_gradients(cp):
    replays = pytest.importorskip("autograd_gpu.backends.cupy_graph_replay")
    before = dict(replays._finals)
    w = ag.Variable(cp.ones(3, "float32"), requires_grad=True)
    add = ag.compile(lambda x: ag.sum(w * x).backward())
    for _ in range(3):
        w.grad = None
        add(ag.Variable(cp.ones(3, "float32")))
    assert replays._finals[id(w.grad)] == 1
    add.reset()
    assert dict(replays._finals) == before
