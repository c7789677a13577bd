"""States of optimisers between captured steps: whoever changes them, steps are as eager ones."""

from __future__ import annotations

import numpy as np
import pytest
from captured_steps import assert_same

import autograd_gpu as ag
from autograd_gpu import optim

CHANGES = {
    "forgotten": lambda optimizer, x: optimizer.state.clear(),
    "forgotten for one": lambda optimizer, x: optimizer.state.pop(x),
    "another array": lambda optimizer, x: optimizer.state[x].update(m=optimizer.state[x]["m"] * 0),
    "written into": lambda optimizer, x: optimizer.state[x]["m"].fill(0),
    "another count": lambda optimizer, x: optimizer.state[x].update(step=100),
    "another group": lambda optimizer, x: setattr(
        optimizer, "param_groups", [{**group, "lr": 0.5} for group in optimizer.param_groups]
    ),
    "fewer parameters": lambda optimizer, x: optimizer.param_groups[0].update(params=[x]),
    "loaded": lambda optimizer, x: optimizer.load_state_dict(optimizer.state_dict()),
}


class Training:
    """Two parameters, of which the second one may have no part in the loss."""

    def __init__(self, cp, wrap, dtype="float32"):
        self.cp = cp
        self.params = [ag.Variable(cp.full(3, v, dtype), requires_grad=True) for v in (1.0, 2.0)]
        self.optimizer = optim.Adam(self.params, lr=0.1)
        self.run = wrap(self.step)

    def step(self, x, both=True):
        a, b = self.params
        self.optimizer.zero_grad()
        loss = ag.sum(a * a * x) + (ag.sum(b * b * x) if both else 0.0)
        loss.backward()
        self.optimizer.step()
        return loss

    def call(self, factor, *args):
        x = ag.Variable(self.cp.full(3, factor, self.params[0].dtype))
        return self.run(x, *args).value.get()

    def state(self):
        values = [v for state in self.optimizer.state.values() for v in state.values()]
        return [x.numpy() for x in self.params] + [
            v.get() if hasattr(v, "get") else v for v in values
        ]


def eager(function):
    return function


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_state_is_noticed(cp, name):
    ends = []
    for wrap in (eager, ag.compile):
        training = Training(cp, wrap)
        losses = []
        for i in range(9):
            if i == 4:
                CHANGES[name](training.optimizer, training.params[0])
            losses.append(training.call(1.0 + i))
        ends.append([*losses, *training.state()])
    assert training.run.reason is None
    assert training.run.replays >= 4
    assert_same(*ends)


def test_parameters_that_were_once_as_old_as_others(cp):
    """They were changed in one launch with one count of steps, and that is over."""
    ends = []
    for wrap in (eager, ag.compile):
        training = Training(cp, wrap)
        losses = [training.call(1.0, i % 8 < 4) for i in range(24)]
        ends.append([*losses, *training.state()])
    assert ends[0][-1] != ends[0][-4]  # the counts
    assert training.run.replays >= 18
    assert_same(*ends)


@pytest.mark.parametrize("when", [1, 4])
def test_a_float32_copy_that_is_looked_at_goes_on(cp, when):
    """Like all arrays of a state it is written in place, captured or not."""
    ends = []
    for wrap in (eager, ag.compile):
        training = Training(cp, wrap, "float16")
        for i in range(8):
            training.call(1.0)
            if i == when - 1:
                copies = [training.optimizer.state[x]["master"] for x in training.params]
        ends.append([*training.state(), *(copy.get() for copy in copies)])
    assert training.run.replays == 6
    assert_same(*ends)
    for x, copy in zip(training.params, copies, strict=True):
        np.testing.assert_array_equal(copy.get().astype("float16"), x.numpy())


def test_a_step_that_is_never_taken_leaves_no_state(cp):
    """Captures fail, since the optimiser has nothing yet, and what they have begun is forgotten."""
    w = ag.Variable(cp.ones(3, "float32"), requires_grad=True)
    optimizer, scaler = optim.Adam([w], lr=0.1), optim.GradScaler(8.0)

    @ag.compile
    def step(x):
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(3):
        step(ag.Variable(cp.full(3, np.inf, "float32")))
    assert optimizer.state == {}


@pytest.mark.parametrize("kind", [optim.EMA, optim.SWA])
def test_averages_go_on_and_may_be_loaded(cp, kind):
    ends = []
    for wrap in (eager, ag.compile):
        training = Training(cp, eager)
        averages = kind(training.params)

        def step(x, training=training, averages=averages):
            loss = training.step(x)
            averages.update()
            return loss

        training.run = wrap(step)
        losses = []
        for i in range(10):
            losses.append(training.call(1.0 + i))
            if i == 3:
                saved = averages.state_dict()
            if i == 6:
                averages.load_state_dict(saved)
        state = averages.state_dict()
        ends.append([*losses, *training.state(), state.get("count", 0)])
        ends[-1] += [average.get() for average in state["averages"]]
    assert training.run.replays == 7  # all but an eager call and two recordings
    assert_same(*ends)


def test_a_failed_capture_does_not_count_for_an_average(cp):
    x = ag.Variable(cp.ones(3, "float32"))
    averages = optim.SWA([x])

    @ag.compile
    def step():
        averages.update()
        return x.value.sum().item()

    for _ in range(3):
        step()
    assert averages.count == 3
    assert "cannot be captured" in step.reason
