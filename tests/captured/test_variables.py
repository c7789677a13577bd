"""What captured steps go on from: Variables, memory and streams."""

from __future__ import annotations

import numpy as np
import pytest
from captured_steps import (
    STEPS,
    Training,
    assert_same,
    both,
    is_emulated,
    parameter,
)

import autograd_gpu as ag
from autograd_gpu import nn, optim

F = nn.functional


def test_gradients_that_accumulate(cp):
    w = parameter(cp)

    def step(x):
        (w * x).sum().backward()

    function = ag.compile(step)
    expected = np.zeros(3, "float32")
    for i in range(6):
        if i == 4:
            w.grad, expected = None, expected * 0
        function(ag.Variable(cp.full(3, float(i), "float32")))
        expected += i
        assert w.grad.get().tolist() == expected.tolist()
    assert function.replays > 0


def test_gradients_that_are_zeroed_outside(cp):
    w = parameter(cp)

    def step(x):
        (w * x).sum().backward()

    function = ag.compile(step)
    for i in range(6):
        w.grad = None
        function(ag.Variable(cp.full(3, float(i), "float32")))
        assert w.grad.get().tolist() == [float(i)] * 3
    assert function.replays == 4


def test_values_that_the_step_replaces(cp):
    def make():
        w = ag.Variable(cp.ones(3, "float32"))

        def step(x):
            w.value = (w * 0.5 + x).value
            return w.detach() * 1.0

        return step

    assert both(cp, make).replays == STEPS - 2


def test_values_that_are_replaced_from_outside(cp):
    w = parameter(cp)
    function = ag.compile(lambda x: (w * x).detach())
    for i in range(6):
        if i == 3:
            w.value = cp.full(3, 10.0, "float32")
        y = function(ag.Variable(cp.full(3, float(i), "float32")))
        assert float(y.value[0]) == i * (10.0 if i >= 3 else 1.0)
    assert function.reason is None
    assert function.replays == 3


def test_values_that_are_held_elsewhere_stay(cp):
    w = parameter(cp)
    optimizer = optim.SGD([w], lr=1.0)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    held = []
    for i in range(6):
        function(x)
        if i in (2, 4):
            held.append(w.value)
    assert [float(v[0]) for v in held] == [-2.0, -4.0]
    assert float(w.value[0]) == -5.0


def test_a_loaded_state_is_gone_on_from(cp, counting):
    for load in ("optimizer", "model"):
        ends = []
        for is_compiled in (False, True):
            training = Training("mlp", is_compiled)
            for i in range(STEPS):
                if i == 2:
                    saved = {
                        "optimizer": training.optimizer.state_dict(),
                        "model": {k: v.copy() for k, v in training.model.state_dict().items()},
                    }
                if i == 5:
                    getattr(training, load).load_state_dict(saved[load])
                training.step(*training.batch(cp))
            ends.append(training.state())
        assert training.step.replays >= STEPS - 4
        assert_same(*ends)


def test_parameters_may_be_frozen(cp):
    a, b = parameter(cp), parameter(cp)
    optimizer = optim.SGD([a, b], lr=1.0)

    def step(x):
        optimizer.zero_grad()
        ((a + b) * x).sum().backward()
        optimizer.step()

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    for i in range(8):
        b.requires_grad = i < 4
        function(x)
    assert (float(a.value[0]), float(b.value[0])) == (-7.0, -3.0)
    assert function.replays == 5


def test_the_training_mode_counts(cp):
    drop = nn.Dropout(0.5)
    function = ag.compile(lambda x: drop(x))
    x = ag.Variable(cp.ones(64, "float32"))
    for i in range(8):
        drop.train(i < 4)
        assert (function(x).value.get() == 1).all() == (i >= 4)


def test_a_graphs_memory_is_its_own(cp, products):
    training = Training("mlp", True)
    eager = Training("mlp", False)
    ag.manual_seed(1)
    expected = [eager.step(*eager.batch(cp)).value.get() for _ in range(STEPS)]
    ag.manual_seed(1)
    others = []
    for i in range(STEPS):
        loss = training.step(*training.batch(cp))
        np.testing.assert_allclose(loss.value.get(), expected[i], rtol=0 if is_emulated() else 1e-3)
        for n in (1, 4, 8, 30, 32, 40, 48, 2000):  # sizes as the step has them
            others.append(cp.full(n, float(i), "float32"))
        for j, x in enumerate(others):
            assert (x.get() == j // 8).all()


def test_what_the_step_reads_from_elsewhere_is_kept(cp):
    tables = {"a": cp.full(1000, 3.0, "float32"), "b": cp.full(1000, 4.0, "float32")}
    first, second = tables  # names that are not in the code of the step, so that it notices nothing

    def step(x):
        return x * ag.Variable(tables[first]) + ag.Variable(tables[second])

    function = ag.compile(step)
    x = ag.Variable(cp.ones(1000, "float32"))
    for _ in range(3):
        function(x)
    tables.clear()  # the step is recorded with what was in it
    others = [cp.full(1000, 9.0, "float32") for _ in range(20)]
    assert (function(x).value.get() == 7).all()
    assert len(others) == 20


def test_what_is_bound_to_a_name_is_noticed(cp):
    table = cp.full(1000, 3.0, "float32")
    function = ag.compile(lambda x: x * ag.Variable(table))
    x = ag.Variable(cp.ones(1000, "float32"))
    for _ in range(4):
        assert (function(x).value.get() == 3).all()
    table = cp.full(1000, 4.0, "float32")
    for _ in range(4):
        assert (function(x).value.get() == 4).all()
    assert function.replays == 5


def test_schedules_within_the_step_are_refused(cp):
    w = parameter(cp)
    optimizer = optim.SGD([w], lr=1.0)
    schedule = optim.ExponentialLR(optimizer, 0.5)

    def step():
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
        schedule.step()

    function = ag.compile(step)
    for _ in range(4):
        function()
    assert "ExponentialLR.step" in function.reason
    assert optimizer.param_groups[0]["lr"] == 0.5**4


def test_launches_on_another_stream(cp):
    w = parameter(cp)

    def step(x):
        w.value = (w + x).value
        return w.detach() * 1.0

    function = ag.compile(step)
    stream = cp.cuda.Stream(non_blocking=True)
    for i in range(6):
        x = ag.Variable(cp.full(3, 1.0, "float32"))
        cp.cuda.Device().synchronize()
        if i % 2:
            with stream:
                y = function(x)
            stream.synchronize()
        else:
            y = function(x)
        assert y.value.get().tolist() == [i + 2.0] * 3
    assert function.replays == 4


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_that_come_and_go(cp, register):
    """A replay is none that would call others than the step did."""

    def double(x):
        if isinstance(x, ag.Variable):  # after the gradient has been added
            x.grad = x.grad * 2
            return None
        return x * 2

    w = parameter(cp)

    @ag.compile
    def step(x):
        w.grad = None
        ag.sum(w * x).backward()

    found = []
    for i in range(8):
        if i == 3:
            handle = getattr(w, register)(double)
        if i == 6:
            handle.remove()
        step(ag.Variable(cp.ones(3, "float32")))
        found.append(float(w.grad[0]))
    assert found == [1.0] * 3 + [2.0] * 3 + [1.0] * 2
    assert step.reason is None
    assert step.replays == 5  # all but an eager call and two recordings
