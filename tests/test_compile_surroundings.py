"""compile: what a step reads from elsewhere, and what it changes there."""

import functools
import random

import numpy as np
import pytest
from compiled_steps import ROWS, side_by_side

import autograd_gpu as ag

SCALE = 2.0
SHIFT = {"rate": 1.0, "unused": 0}


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

    step = side_by_side(lambda: (*make(), list), 18, between)
    assert step.reason is None
    assert step.replays >= 6


def test_what_the_step_does_not_read_may_change():
    options = Options()
    step = ag.compile(lambda x: (ag.Variable(x) * options.rate).detach())
    for i in range(10):
        options.inner = i
        step(ROWS[i])
    assert step.replays == 7


def test_an_equal_number_is_the_same():
    options = Options()
    step = ag.compile(lambda x: (ag.Variable(x) * options.rate).detach())
    for i in range(10):
        options.rate = float("1.5")  # a new object each time
        step(ROWS[i])
    assert step.replays == 7


def test_what_changes_before_each_call_is_named():
    history = []

    def make():
        return lambda x: (ag.Variable(x) * min(len(history), 1)).detach(), history, list

    step = side_by_side(make, 24, lambda i, history: history.append(i))
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

    step = side_by_side(made, 24)
    assert step.replays == 0
    assert words[0] in step.reason
