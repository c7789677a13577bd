"""compile: modules, leaves and schedules that change between the calls or within a step."""

import numpy as np
import pytest
from compiled_steps import side_by_side
from operands import leaf

import autograd_gpu as ag
from autograd_gpu import nn, optim

# Modules --------------------------------------------------------------------------------------


def test_attributes_of_modules():
    def make():
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        return lambda x: model(x).sum().detach(), model, list

    def between(i, model):
        if i == 6:
            model[1].p = 0.25
        if i == 12:
            model[0].weight = nn.Parameter(np.ones((4, 3), "float32"))
        if i == 18:
            model[2].register_forward_hook(lambda module, args, y: y * 2)

    step = side_by_side(make, 24, between)
    assert step.replays >= 9


def test_a_module_that_changes_itself_runs_eagerly():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * (2 if self.calls % 5 == 0 else 1)

    def make():
        model = Counting()
        return lambda x: model(ag.Variable(x)).detach(), model, lambda: [model.calls]

    step = side_by_side(make, 24)
    assert "attribute of a module" in step.reason


# Leaves ---------------------------------------------------------------------------------------


def test_a_leaf_that_is_frozen_for_a_while_and_hooks_that_come_and_go():
    def make():
        w = leaf([1.0, 2.0, 3.0], np.float32)

        def step(x):
            w.grad = None
            loss = (w * x * w).sum() + ag.sum(v * x)
            loss.backward()

        v = leaf([1.0, 1.0, 1.0], np.float32)
        state = lambda: [np.nan if w.grad is None else w.grad, v.grad]  # noqa: E731
        return step, (w, []), state

    def between(i, things):
        w, handles = things
        w.requires_grad = not 5 <= i < 7
        if i in (9, 13):
            handles.append(w.register_hook(lambda g: g * 2))
        if i == 17:
            handles[0].remove()

    side_by_side(make, 22, between)


# Values that Variables exchange -----------------------------------------------------------------


def exchanged():
    w, v = leaf([1.0, 2.0, 3.0], np.float32), leaf([0.0, 1.0, 0.0], np.float32)

    def step(x):
        w.value, v.value = v.value, w.value
        w.grad, v.grad = v.grad, w.grad
        loss = (w * x + v * v * x).sum()
        loss.backward()
        return loss

    return step, None, lambda: [w.value, v.value, w.grad, v.grad]


def copied_over():
    w, target = leaf([1.0, 2.0, 3.0], np.float32), ag.Variable(np.zeros(3, "float32"))
    optimizer = optim.SGD([w], lr=0.1, momentum=0.5)

    def step(x):
        optimizer.zero_grad()
        loss = ((w * x - target) ** 2).sum()
        loss.backward()
        optimizer.step()
        target.value = w.value
        return loss

    return step, None, lambda: [w.value, target.value]


def put_back():
    w = leaf([1.0, 2.0, 3.0], np.float32)

    def step(x):
        before = w.value
        w.value = w.value * 2
        y = (w * x).detach()
        w.value = before
        return y

    return step, None, lambda: [w.value]


@pytest.mark.parametrize("make", [exchanged, copied_over, put_back])
def test_values_that_move_between_variables(make):
    step = side_by_side(make)
    assert step.reason is None
    assert step.replays >= 10


# Schedules ------------------------------------------------------------------------------------


SCHEDULES = {
    "StepLR": lambda o: optim.StepLR(o, 3),
    "OneCycleLR": lambda o: optim.OneCycleLR(o, 0.1, total_steps=30),
    "CyclicLR": lambda o: optim.CyclicLR(o, 0.01, 0.1, step_size_up=4),
    "CosineAnnealingWarmRestarts": lambda o: optim.CosineAnnealingWarmRestarts(o, 4),
    "SequentialLR": lambda o: optim.SequentialLR(
        o, [optim.LinearLR(o), optim.ExponentialLR(o, 0.5)], [6]
    ),
    "ChainedScheduler": lambda o: optim.ChainedScheduler(
        [optim.LinearLR(o), optim.ExponentialLR(o, 0.5)]
    ),
}


def trained(schedule_of, advance):
    def make():
        w = leaf([1.0, 2.0, 3.0], np.float32)
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        schedule = schedule_of(optimizer)

        def step(x):
            optimizer.zero_grad()
            loss = ((w * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            advance(schedule, loss)
            return loss

        options = optimizer.param_groups[0]
        return step, None, lambda: [w.value, options["lr"], options["momentum"]]

    return make


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_go_on_within_a_step(name):
    step = side_by_side(trained(SCHEDULES[name], lambda schedule, loss: schedule.step()), 20)
    assert step.reason is None
    assert step.replays == 17


def test_schedules_that_get_a_number_run_eagerly():
    plateau = lambda o: optim.ReduceLROnPlateau(o, patience=1)  # noqa: E731
    step = side_by_side(trained(plateau, lambda schedule, loss: schedule.step(1.0)), 20)
    assert "ReduceLROnPlateau.step gets a number" in step.reason
    restarts = SCHEDULES["CosineAnnealingWarmRestarts"]
    step = side_by_side(trained(restarts, lambda schedule, loss: schedule.step(2.5)), 20)
    assert "CosineAnnealingWarmRestarts.step gets a number" in step.reason
