"""GradScaler in captured steps: the device skips and scales as the host does in eager ones."""

from __future__ import annotations

import copy
import importlib
import logging
import pickle

import numpy as np
import pytest
from captured_steps import (
    assert_near,
    assert_same as assert_equal,
    both,
    is_emulated,
    mlp,
    parameter,
)
from optimisers import CASES, MORE

import autograd_gpu as ag
from autograd_gpu import nn, optim

F = nn.functional
INF = float("inf")


def assert_same(a, b):
    """Equal on the emulated device, which is a CPU; another one's `pow` has other last bits."""
    (assert_equal if is_emulated() else assert_near)(a, b)


class Scaled:
    """A parameter that is trained with a scaler: `calls` are the factors of the losses."""

    def __init__(self, cp, make, is_compiled, **options):
        self.cp = cp
        self.w = ag.Variable(cp.linspace(-1, 1, 6).reshape(2, 3), True)
        self.optimizer = make([self.w])
        self.scaler = optim.GradScaler(**{"init_scale": 8.0, "growth_interval": 2, **options})
        self.run = ag.compile(self.step) if is_compiled else self.step

    def backward(self, x):
        self.optimizer.zero_grad()
        loss = ag.sum(ag.sin(self.w) ** 2 * x)
        self.scaler.scale(loss).backward()
        return loss

    def step(self, x):
        loss = self.backward(x)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def call(self, factor, run=None):
        x = ag.Variable(self.cp.full((2, 3), factor))
        return (run or self.run)(x).value.get()

    def state(self):
        states = [*self.optimizer.state_dict()["state"].values()]
        numbers = [v.get() if hasattr(v, "get") else v for s in states for v in s.values()]
        return [self.w.numpy(), *numbers, *self.scaler.state_dict().values()]


CALLS = (1.0, 2.0, INF, 0.5, 1.0, 1.5, INF, INF, 0.7, 1.0, 1.0, 0.3)


@pytest.mark.parametrize("name", CASES | MORE)
def test_a_captured_step_skips_and_scales_as_the_eager_one(cp, name):
    kind, options = (CASES | MORE)[name]
    runs = []
    for is_compiled in (False, True):
        training = Scaled(cp, lambda params: kind(params, **options), is_compiled)
        losses = [training.call(factor) for factor in CALLS]
        runs.append((losses, training.state()))
    assert training.run.reason is None
    assert training.run.replays == len(CALLS) - 2
    for eager, captured in zip(*runs, strict=True):
        assert_same(captured, eager)
    assert runs[0][1][-2] != 8.0


def test_a_replay_neither_waits_nor_copies(cp, counting, caplog):
    training = Scaled(cp, optim.Adam, True)
    with caplog.at_level(logging.WARNING, "autograd_gpu"):
        for i, factor in enumerate(CALLS):
            x = ag.Variable(cp.full((2, 3), factor))
            with counting() as c:
                training.run(x)
            if i >= 2:
                assert (c.graph_launches, c.waits, c.to_host, c.to_device) == (1, 0, 0, 0)
        assert not caplog.records
        assert training.optimizer.state[training.w]["step"] == len(CALLS) - 3
    assert "3 steps of Adam were skipped" in caplog.text
    with counting() as c:
        training.optimizer.state_dict()
        assert training.scaler.get_scale() == training.scaler.get_scale()
    assert c.to_host == 1  # the scale, once


def test_mixed_precision_with_clipped_gradients(cp, products):
    ends = []
    for is_compiled in (False, True):
        ag.manual_seed(0)
        model = mlp().to("cupy")
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        scaler, rng = optim.GradScaler(growth_interval=3), np.random.default_rng(0)

        def step(x, t, model=model, optimizer=optimizer, scaler=scaler):
            optimizer.zero_grad()
            with ag.autocast("float16"):
                loss = F.cross_entropy(model(x), t)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            optim.clip_grad_norm_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
            return loss

        run = ag.compile(step) if is_compiled else step
        losses = []
        for i in range(8):
            x = rng.standard_normal((5, 6)).astype("float32") * (1e30 if i == 4 else 1)
            t = rng.integers(0, 4, 5)
            losses.append(run(ag.Variable(cp.asarray(x)), ag.Variable(cp.asarray(t))).item())
        ends.append([*losses, *[p.numpy() for p in model.parameters()], scaler.get_scale()])
    assert run.replays == 6, run.reason
    assert_same(*ends)


def test_eager_and_captured_steps_may_alternate(cp):
    """Each takes the other's scale and counts, also steps of the optimiser without a scaler."""
    ends = []
    for is_compiled in (False, True):
        training = Scaled(cp, optim.Adam, is_compiled)

        def plain(x, training=training):
            training.optimizer.zero_grad()
            loss = ag.sum(training.w * x)
            loss.backward()
            training.optimizer.step()
            return loss

        run = ag.compile(plain) if is_compiled else plain
        losses = []
        for i, factor in enumerate(CALLS * 2):
            losses.append(training.call(factor, training.step if i % 5 == 4 else None))
            if i % 3 == 2:
                losses.append(training.call(1.0, run))
            if i == 17:
                training.scaler.load_state_dict({"scale": 2.0, "good": 1})
        ends.append([*losses, *training.state()])
    assert training.run.reason is None
    assert run.reason is None
    assert training.run.replays > len(CALLS)
    assert run.replays > 3
    assert_same(*ends)


@pytest.mark.parametrize("part", ["backward", "unscale"])
def test_the_rest_of_a_step_may_be_eager(cp, part):
    ends = []
    for is_compiled in (False, True):
        training = Scaled(cp, optim.Adam, False)

        def first(x, training=training):
            loss = training.backward(x)
            if part == "unscale":
                training.scaler.unscale_(training.optimizer)
            return loss

        run = ag.compile(first) if is_compiled else first
        took, losses = [], []
        for factor in CALLS:
            losses.append(training.call(factor, run))
            took.append(training.scaler.step(training.optimizer))
            training.scaler.update()
        assert took == [factor != INF for factor in CALLS]
        ends.append([*losses, *training.state()])
    assert run.replays == len(CALLS) - 2, run.reason
    assert_same(*ends)


def test_a_step_whose_gradients_were_looked_at_elsewhere_is_eager(cp):
    training = Scaled(cp, optim.Adam, False)
    step = ag.compile(lambda: training.scaler.step(training.optimizer))
    for factor in CALLS[:6]:
        training.call(factor, training.backward)
        training.scaler.unscale_(training.optimizer)
        assert step() is (factor != INF)
        training.scaler.update()
    assert step.replays == 0
    assert "looked at gradients outside of it" in step.reason


def test_what_the_step_returns_is_known_to_the_device(cp):
    w = parameter(cp)
    optimizer, scaler = optim.SGD([w], lr=0.1), optim.GradScaler(8.0)

    def step(x):
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        took = scaler.step(optimizer)
        scaler.update()
        return took

    function = ag.compile(step)
    took = [bool(function(ag.Variable(cp.full(3, f, "float32")))) for f in CALLS]
    assert took == [f != INF for f in CALLS]
    assert function.replays == len(CALLS) - 2


def test_a_step_that_asks_if_it_was_skipped_is_eager(cp):
    def make():
        w = parameter(cp)
        optimizer, scaler = optim.SGD([w], lr=0.1, momentum=0.5), optim.GradScaler(8.0)

        def step(x):
            optimizer.zero_grad()
            scaler.scale((w * x).sum()).backward()
            took = scaler.step(optimizer)
            scaler.update()
            return (w if took else -w).detach() * 1.0

        return step

    function = both(cp, make, 6, argument=lambda i: INF if i == 3 else 1.0)
    assert function.replays == 0
    assert "cannot be captured in a CUDA graph" in function.reason


def test_a_step_that_looks_at_the_scale_is_eager(cp):
    training = Scaled(cp, optim.SGD, True)
    step = ag.compile(lambda x: training.step(x).detach() * training.scaler.get_scale())
    for _ in range(4):
        training.call(1.0, step)
    assert step.replays == 0
    assert "looks at the scale of a GradScaler" in step.reason


@pytest.mark.parametrize("kind", [optim.Adam, optim.SGD])
def test_first_steps_that_are_skipped_are_tried_again(cp, kind):
    """The optimiser has nothing before its first step, which no replay may begin."""
    ends = []
    options = {"momentum": 0.9, "dampening": 0.5} if kind is optim.SGD else {}
    for is_compiled in (False, True):
        training = Scaled(cp, lambda p: kind(p, lr=0.1, **options), is_compiled)
        losses = [training.call(factor) for factor in (INF, INF, INF, 1.0, 2.0, INF, 1.0)]
        ends.append([*losses, *training.state()])
    assert training.run.reason is None
    assert training.run.replays == 2  # after three eager steps, one that begins, and a recording
    assert_same(*ends)


def test_a_capture_that_fails_leaves_the_scaler_as_it_was(cp, counting):
    ends = []
    for wrap in (lambda f: f, ag.compile):
        training = Scaled(cp, optim.NAdam, False)

        def step(x, training=training):
            training.step(x)
            return training.w.detach().sum().item()

        run = wrap(step)
        x = [ag.Variable(cp.full((2, 3), factor)) for factor in CALLS]
        ends.append([*map(run, x), *training.state()])
    assert run.replays == 0
    assert_same(*ends)


def test_copies_and_moved_counts(cp):
    """Copies of a scaler and an optimiser go on by themselves from where they were taken."""
    training = Scaled(cp, optim.Adam, True)
    for factor in CALLS:
        training.call(factor)
    other = Scaled(cp, optim.Adam, True)
    other.scaler = pickle.loads(pickle.dumps(training.scaler))
    other.w, other.optimizer = copy.deepcopy((training.w, training.optimizer))
    for factor in CALLS:
        assert_same([training.call(factor)], [other.call(factor)])
    assert training.run.replays == 2 * len(CALLS) - 2
    assert other.run.replays == len(CALLS) - 2
    assert_same(training.state(), other.state())


def test_parameters_that_have_a_gradient_may_be_others(cp):
    ends = []
    for is_compiled in (False, True):
        a, b = parameter(cp), parameter(cp, 2.0)
        optimizer, scaler = optim.Adam([a, b], lr=0.1), optim.GradScaler(8.0)

        def step(x, both, a=a, b=b, optimizer=optimizer, scaler=scaler):
            optimizer.zero_grad()
            scaler.scale(ag.sum(a * a * x) + (ag.sum(b * b * x) if both else 0.0)).backward()
            scaler.step(optimizer)
            scaler.update()

        run = ag.compile(step) if is_compiled else step
        for i in range(16):
            factor = INF if i in (4, 10, 11) else 1.0
            run(ag.Variable(cp.full(3, factor, "float32")), i % 8 < 4)
        counts = [optimizer.state[x]["step"] for x in (a, b)]
        ends.append([a.numpy(), b.numpy(), *counts, scaler.get_scale()])
    assert ends[0][2:4] == [13, 6]
    assert run.replays > 4
    assert_same(*ends)


def test_reset_gives_back_memory(cp, counting):
    pools = importlib.import_module("autograd_gpu.backends.cupy_graph_pools")
    before = pools.reserved()
    training = Scaled(cp, optim.Adam, True)
    for factor in CALLS[:4]:
        training.call(factor)
    assert pools.reserved() > before
    training.w.grad = None
    training.run.reset()
    assert pools.reserved() <= before


def test_two_optimisers(cp):
    ends = []
    for is_compiled in (False, True):
        a, b = parameter(cp), parameter(cp, 2.0)
        first, second = optim.Adam([a], lr=0.1), optim.RAdam([b], lr=0.1)
        scaler = optim.GradScaler(8.0, growth_interval=2)

        def step(x, y, a=a, b=b, first=first, second=second, scaler=scaler):
            first.zero_grad()
            second.zero_grad()
            scaler.scale(ag.sum(a * a * x) + ag.sum(b * b * y)).backward()
            scaler.step(first)
            scaler.step(second)
            scaler.update()

        run = ag.compile(step) if is_compiled else step
        for i in range(9):
            x, y = (ag.Variable(cp.full(3, INF if i % 4 == k else 1.0, "float32")) for k in (2, 3))
            run(x, y)
        counts = [o.state[v]["step"] for o, v in ((first, a), (second, b))]
        ends.append([a.numpy(), b.numpy(), *counts, scaler.get_scale()])
    assert run.replays == 7, run.reason
    assert ends[0][2:4] == [7, 7]
    assert_same(*ends)


class OwnStep(optim.SGD):
    def step(self, closure=None):
        for x in self.parameters():
            x.value = x.value - x.grad


class OwnUpdate(optim.SGD):
    def update_all(self, targets, group):
        for t in targets:
            t.x.value = t.x.value - t.grad


@pytest.mark.parametrize("kind", [OwnStep, OwnUpdate])
def test_optimisers_with_steps_of_their_own_are_eager(cp, kind):
    training = Scaled(cp, kind, True)
    for factor in CALLS[:5]:
        training.call(factor)
    assert training.run.replays == 0
    assert f"{kind.__name__} has steps of its own" in training.run.reason
    assert np.isfinite(training.w.numpy()).all()
