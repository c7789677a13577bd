"""compile on CuPy: a step as a CUDA graph does what the eager step does, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from captured_steps import (
    NETWORKS,
    STEPS,
    Training,
    assert_near,
    assert_same,
    both,
    is_emulated,
    parameter,
)

import autograd_gpu as ag
from autograd_gpu import nn, optim

F = nn.functional


@pytest.mark.parametrize("name", NETWORKS)
def test_a_captured_step_is_the_eager_one(cp, products, name):
    runs = []
    for is_compiled in (False, True):
        training = Training(name, is_compiled)
        ag.manual_seed(1)
        losses = [training.step(*training.batch(cp)).value.get() for _ in range(STEPS)]
        runs.append((losses, training.state()))
    assert training.step.reason is None
    assert training.step.replays == STEPS - 2
    for eager, captured in zip(*runs, strict=True):
        # cuBLAS may choose another algorithm for a captured product
        same = assert_same if is_emulated() else assert_near
        same(captured, eager)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_replay_neither_waits_nor_copies_nor_asks_for_memory(cp, counting, name):
    training = Training(name, True)
    for i in range(4):
        batch = training.batch(cp)
        with counting() as c:
            training.step(*batch)
        if i >= 2:
            assert (c.graph_launches, c.waits, c.to_host, c.to_device) == (1, 0, 0, 0)
            assert c.raw_sizes == []
    assert training.step.reason is None


def test_nothing_is_allocated_in_the_capture(cp, counting):
    training = Training("mlp", True)
    training.step(*training.batch(cp))
    batch = training.batch(cp)
    with counting() as c:
        training.step(*batch)
    assert training.step.reason is None
    assert len(c.raw_sizes) == 1  # the pool's, before the capture
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)


def test_eager_and_captured_steps_may_alternate(cp, counting):
    states = []
    for is_compiled in (False, True):
        training = Training("mlp", is_compiled)
        ema = optim.EMA(training.model.parameters(), 0.9)
        plain = training.plain

        def step(x, t, plain=plain, ema=ema):
            loss = plain(x, t)
            ema.update()
            return loss

        function = ag.compile(step) if is_compiled else step
        for i in range(2 * STEPS):
            (step if i % 3 == 2 else function)(*training.batch(cp))
        states.append(training.state() + [a.get() for a in ema.averages])
    assert function.replays > STEPS
    assert_same(*states)


class Halving(optim.Optimizer):
    """An optimiser of somebody's own, made of array operations and a count on the host."""

    def update(self, x, grad, state, group):
        state["step"] = state.get("step", 0) + 1
        x.value = x.value - grad / 2 ** state["step"]


def test_optimisers_of_ones_own_run_eagerly(cp):
    w = parameter(cp)
    optimizer = Halving([w], {})

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    function = ag.compile(step)
    for _ in range(4):
        function(ag.Variable(cp.ones(3, "float32")))
    assert function.replays == 0
    assert "Halving has no kernel that counts its steps" in function.reason
    assert optimizer.state[w]["step"] == 4
    assert w.tolist() == [1 - 15 / 16] * 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_half_types_keep_their_masters(cp, counting, dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    states = []
    for is_compiled in (False, True):
        training = Training("mlp", is_compiled, dtype)
        for _ in range(STEPS):
            training.step(*training.batch(cp))
        states.append(training.state())
    assert training.step.replays == STEPS - 2
    assert_same(*states)


def test_the_learning_rate_may_change_between_calls(cp):
    outputs = []
    for wrap in (lambda f: f, ag.compile):
        w = parameter(cp)
        optimizer = optim.AdamW([w], lr=0.1)
        schedule = optim.StepLR(optimizer, 2, 0.5)

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return w.detach() * 1.0

        function = wrap(step)
        outputs.append([])
        for _ in range(STEPS):
            outputs[-1].append(function(ag.Variable(cp.ones(3, "float32"))).value.get()[0])
            schedule.step()
    assert outputs[1] == outputs[0]
    assert function.replays == STEPS - 2
    steps = -np.diff(outputs[0])
    assert steps[0] > 1.5 * steps[1] > 2.5 * steps[3]


def test_masks_go_on_with_the_generator(cp):
    generators = []

    def make():
        generators.append(ag.random.Generator(5))
        return lambda x: F.dropout(x, 0.5, generator=generators[-1])

    function = both(cp, make, argument=lambda i: 1.0)
    assert function.replays == STEPS - 2
    assert [g.state_dict()["offset"] for g in generators] == [STEPS, STEPS]
    generators[-1].manual_seed(5)  # also the seed is read anew
    first = function(ag.Variable(cp.ones(3, "float32")))
    generators[0].manual_seed(5)
    np.testing.assert_array_equal(
        first.value.get(),
        F.dropout(cp.ones(3, "float32"), 0.5, generator=generators[0]).value.get(),
    )


def test_more_numbers_than_one_block_has(cp):
    def make():
        def step(x):
            y = x
            for _ in range(70):
                y = y + F.dropout(x + 1.0, 0.5)
            return y

        return step

    assert both(cp, make, 5).replays == 3
