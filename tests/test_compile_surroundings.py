"""compile: what a step reads from elsewhere, and what it changes there."""

import functools
import random

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag
from autograd_gpu import nn, optim

X = np.random.default_rng(0).standard_normal((24, 3)).astype("float32")
SCALE = 2.0
SHIFT = {"rate": 1.0, "unused": 0}


def compare(make, calls=14, between=lambda i, names: None):
    """A step eagerly and compiled, with the same things done between the calls: bitwise the same.

    `make` returns the step, what `between` changes, and a function of the state.
    """
    runs = []
    for wrap in (lambda f: f, ag.compile):
        ag.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        step, things, state = make()
        step = wrap(step)
        history = []
        for i in range(calls):
            between(i, things)
            history.append([np.array(getattr(y, "value", y)) for y in (step(X[i]), *state())])
        runs.append(history)
    for i, (eager, compiled) in enumerate(zip(*runs, strict=True)):
        for x, y in zip(eager, compiled, strict=True):
            assert x.tobytes() == y.tobytes(), (i, x, y, step)
    return step


class Options:
    """Attributes, and what has some."""

    def __init__(self):
        self.rate, self.inner = 1.0, None

    @property
    def doubled(self):
        return self.rate * 2

    def scaled(self, x):
        return (ag.Variable(x) * self.rate).detach()

    def __call__(self, x):
        return self.scaled(x)


def scaled_by_global(x):
    return (x * SCALE).detach()


def by_closure():
    rate = 1.0

    def step(x):
        return (ag.Variable(x) * rate).detach()

    def change(value):
        nonlocal rate
        rate = value

    return step, change


def by_global():
    def change(value):
        global SCALE
        SCALE = value

    change(1.0)
    return lambda x: scaled_by_global(ag.Variable(x)), change


def by_attribute():
    options = Options()
    options.inner = Options()
    change = lambda value: setattr(options.inner, "rate", value)  # noqa: E731
    return lambda x: (ag.Variable(x) * options.inner.rate).detach(), change


def by_entry():
    options = {"rate": 1.0, "unused": 0}
    change = lambda value: options.update(rate=value)  # noqa: E731
    return lambda x: (ag.Variable(x) * options["rate"]).detach(), change


def by_element():
    options = [0, 1.0]
    change = lambda value: options.__setitem__(1, value)  # noqa: E731
    return lambda x: (ag.Variable(x) * options[1]).detach(), change


def by_array():
    options = Options()
    options.rate = np.ones(3, "float32")
    change = lambda value: setattr(options, "rate", np.full(3, value, "float32"))  # noqa: E731
    return lambda x: (ag.Variable(x) * options.rate).detach(), change


def by_method():
    options = Options()
    return lambda x: options.scaled(x), lambda value: setattr(options, "rate", value)


def by_property():
    options = Options()
    change = lambda value: setattr(options, "rate", value)  # noqa: E731
    return lambda x: (ag.Variable(x) * options.doubled).detach(), change


def by_object():
    options = Options()
    return options, lambda value: setattr(options, "rate", value)


def by_partial():
    options = Options()
    step = functools.partial(Options.scaled, options)
    return step, lambda value: setattr(options, "rate", value)


def by_alike():
    """Two closures of the same code."""

    def scaling(box):
        return lambda x: x * box[0]

    boxes = [1.0], [1.0]
    first, second = map(scaling, boxes)
    change = lambda value: boxes[1].__setitem__(0, value)  # noqa: E731
    return lambda x: second(first(ag.Variable(x))).detach(), change


@pytest.mark.parametrize(
    "make",
    [
        by_closure,
        by_global,
        by_attribute,
        by_entry,
        by_element,
        by_array,
        by_method,
        by_property,
        by_object,
        by_partial,
        by_alike,
    ],
)
def test_what_is_bound_to_a_name(make):
    def between(i, change):
        if i in (6, 11):
            change(float(i))

    step = compare(lambda: (*make(), list), 18, between)
    assert step.reason is None
    assert step.replays >= 6


def test_what_the_step_does_not_read_may_change():
    options = Options()
    step = ag.compile(lambda x: (ag.Variable(x) * options.rate).detach())
    for i in range(10):
        options.inner = i
        step(X[i])
    assert step.replays == 7


def test_an_equal_number_is_the_same():
    options = Options()
    step = ag.compile(lambda x: (ag.Variable(x) * options.rate).detach())
    for i in range(10):
        options.rate = float("1.5")  # a new object each time
        step(X[i])
    assert step.replays == 7


def test_what_changes_before_each_call_is_named():
    history = []

    def make():
        return lambda x: (ag.Variable(x) * min(len(history), 1)).detach(), history, list

    step = compare(make, 24, lambda i, history: history.append(i))
    assert "history was not what it had been" in step.reason


def counts():
    count = 0

    def step(x):
        nonlocal count
        count += 1
        return (ag.Variable(x) * (2 if count % 5 == 0 else 1)).detach()

    return step, "count"


def counts_in_an_object():
    options = Options()

    def step(x):
        options.rate += 1
        return (ag.Variable(x) * (2 if options.rate % 5 == 0 else 1)).detach()

    return step, "options.rate"


def appends():
    seen = []

    def step(x):
        seen.append(1)
        return (ag.Variable(x) * (2 if len(seen) % 5 == 0 else 1)).detach()

    return step, "seen"


def binds_an_array():
    options = {"rate": np.zeros(3, "float32")}

    def step(x):
        y = (ag.Variable(x) * options["rate"]).detach()
        options["rate"] = options["rate"] + 1
        return y

    return step, "options['rate']"


def draws_now_and_then():
    rng = np.random.default_rng(0)
    return lambda x: (ag.Variable(x) * int(rng.random() < 0.8)).detach(), "rng"


def draws_from_numpy():
    return lambda x: (ag.Variable(x) * int(np.random.rand() < 0.8)).detach(), "NumPy or Python"  # noqa: NPY002


def draws_from_python():
    return lambda x: (ag.Variable(x) * random.choice([1, 1, 2])).detach(), "NumPy or Python"


def draws_on_the_host():
    draw = ag.Generator(0)
    return lambda x: (ag.Variable(x) * int(draw.uniform(()) < 0.8)).detach(), "on the host"


@pytest.mark.parametrize(
    "make",
    [
        counts,
        counts_in_an_object,
        appends,
        binds_an_array,
        draws_now_and_then,
        draws_from_numpy,
        draws_from_python,
        draws_on_the_host,
    ],
)
def test_what_the_step_changes_runs_eagerly(make):
    words = []

    def made():
        step, word = make()
        words.append(word)
        return step, None, list

    step = compare(made, 24)
    assert step.replays == 0
    assert words[0] in step.reason


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

    step = compare(make, 24, between)
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

    step = compare(make, 24)
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

    compare(make, 22, between)


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
    step = compare(make)
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
    step = compare(trained(SCHEDULES[name], lambda schedule, loss: schedule.step()), 20)
    assert step.reason is None
    assert step.replays == 17


def test_schedules_that_get_a_number_run_eagerly():
    plateau = lambda o: optim.ReduceLROnPlateau(o, patience=1)  # noqa: E731
    step = compare(trained(plateau, lambda schedule, loss: schedule.step(1.0)), 20)
    assert "ReduceLROnPlateau.step gets a number" in step.reason
    restarts = SCHEDULES["CosineAnnealingWarmRestarts"]
    step = compare(trained(restarts, lambda schedule, loss: schedule.step(2.5)), 20)
    assert "CosineAnnealingWarmRestarts.step gets a number" in step.reason
