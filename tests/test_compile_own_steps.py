"""Compiled training steps of other forms: several backwards, updates by hand, mixed precision.

What they leave is what eager ones leave, bit for bit, gradients and their memory included.
"""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest
from compiled_steps import STEPS, Training, bits, both, labels, mlp, numbers

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backends.numpy_memory import POOLED
from autograd_gpu.modes import watching


def test_gradients_that_accumulate_over_several_backwards():
    class Accumulating(Training):
        def step(self, x, target):
            loss, _ = self.loss(x, target)
            (loss * 0.25).backward()
            return loss

    def make(compiled):
        training = Accumulating("mlp", "Adam", compiled)
        run = training.run
        count = iter(range(STEPS))

        def cycle(*args):
            loss = run(*args)
            if next(count) % 4 == 3:
                training.optimiser.step()
                training.optimiser.zero_grad()
            return loss

        training.run, training.compiled = cycle, run
        return training

    training = both(make)
    assert training.compiled.replays > 12


def test_two_backwards_in_one_step_and_clipped_gradients():
    class Twice(Training):
        def step(self, x, target):
            self.optimiser.zero_grad()
            loss, _ = self.loss(x, target)
            loss.backward()
            other, _ = self.loss(x * 0.5, target)
            other.backward()
            norm = optim.clip_grad_norm_(self.model.parameters(), 0.1)
            optim.clip_grad_value_(self.model.parameters(), 0.05)
            self.optimiser.step()
            return loss, other, norm

    training = both(lambda compiled: Twice("mlp", "momentum", compiled))
    assert training.run.replays == STEPS - 3


def test_an_update_by_hand():
    class ByHand(Training):
        def step(self, x, target):
            loss, _ = self.loss(x, target)
            for p in self.model.parameters():
                p.zero_grad()
            loss.backward()
            with ag.no_grad():
                for p in self.model.parameters():
                    p -= 0.1 * ag.Variable(p.grad)
            return loss

    training = both(lambda compiled: ByHand("mlp", "SGD", compiled))
    assert training.run.replays == STEPS - 3


def test_an_update_of_raw_arrays_by_hand():
    class ByHand(Training):
        def step(self, x, target):
            loss, _ = self.loss(x, target)
            for p in self.model.parameters():
                p.grad = None
            loss.backward()
            for p in self.model.parameters():
                p.value *= 0.999
                p.value -= 0.1 * p.grad
            return loss

    training = both(lambda compiled: ByHand("lenet", "SGD", compiled))
    assert training.run.replays == STEPS - 3


def test_an_old_value_that_is_used_after_the_update():
    class Old(Training):
        def step(self, x, target):
            before = self.model[0].weight.value
            loss, _ = super().step(x, target)
            return loss, self.model[0].weight.value - before

    training = both(lambda compiled: Old("mlp", "SGD", compiled), calls=8)
    assert "old value" in training.run.reason


def test_a_moving_average_of_the_parameters():
    class Averaging(Training):
        def __init__(self, *args):
            super().__init__(*args)
            self.average = optim.EMA(self.model.parameters(), decay=0.9)

        def step(self, x, target):
            result = super().step(x, target)
            self.average.update()
            return result

        def state(self):
            return super().state(), bits(self.average.state_dict())

    training = both(lambda compiled: Averaging("mlp", "SGD", compiled))
    assert training.run.replays == STEPS - 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision(dtype):
    pytest.importorskip("ml_dtypes")

    class Mixed(Training):
        def __init__(self, *args):
            super().__init__(*args)
            self.scaler = ag.GradScaler(init_scale=1024.0, growth_interval=3)

        def backward(self, x, target):
            self.optimiser.zero_grad()
            with ag.autocast(dtype):
                loss, _ = self.loss(x, target)
            self.scaler.scale(loss).backward()
            return loss

        def step(self, x, target):
            loss = self.compiled(x, target)
            self.scaler.step(self.optimiser)
            self.scaler.update()  # the scale grows every third step
            return loss

    def make(compiled):
        training = Mixed("gpt", "Adam", False)
        training.compiled = ag.compile(training.backward) if compiled else training.backward
        return training

    training = both(make)
    assert training.compiled.replays >= STEPS - 6


def test_a_whole_step_with_a_scaler_looks_at_gradients_and_runs_eagerly():
    class Scaled(Training):
        def __init__(self, *args):
            super().__init__(*args)
            self.scaler = ag.GradScaler(init_scale=8.0)

        def step(self, x, target):
            self.optimiser.zero_grad()
            loss, _ = self.loss(x, target)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimiser)
            self.scaler.update()
            return loss

    training = both(lambda compiled: Scaled("mlp", "Adam", compiled), calls=6)
    assert "to the host" in training.run.reason


def test_half_parameters_with_a_copy_in_float32():
    def make(compiled):
        training = Training("mlp", "Adam", compiled)
        for p in training.model.parameters():
            p.value = p.value.astype("float16")
        training.data = lambda i: (numbers(i, 8, 5).astype("float16"), labels(i, 3, 8))
        return training

    training = both(make)
    assert training.run.reason is None


def test_gradients_are_the_arrays_that_the_step_returned():
    model = mlp()

    def step(x):
        for p in model.parameters():
            p.zero_grad()
        model(x).sum().backward()
        return [p.grad for p in model.parameters()]

    compiled = ag.compile(step)
    results = [compiled(numbers(i, 8, 5)) for i in range(6)]
    assert compiled.replays == 3
    assert all(p.grad is g for p, g in zip(model.parameters(), results[-1], strict=True))
    assert not any(
        np.shares_memory(a, b)
        for one, other in pairwise(results)
        for a, b in zip(one, other, strict=True)
    )


class Wide(Training):
    """With gradients so large that their memory is used again."""

    def __init__(self, compiled):
        super().__init__("mlp", "SGD", compiled)
        self.model = nn.Sequential(nn.Linear(5, 256), nn.Linear(256, 256))
        self.optimiser = optim.SGD(self.model.parameters(), lr=0.01)


def test_memory_of_large_gradients_is_used_again_once_nobody_has_it():
    training = Wide(True)
    weight = training.model[1].weight
    places, held = [], []
    for i in range(12):
        training.run(*training.data(i))
        places.append(weight.grad.ctypes.data)
        if i in (6, 7):
            held.append((weight.grad[1:], weight.grad.copy()[1:]))
    assert places[3] == places[4] == places[5] == places[6] != places[7] != places[8]
    assert places[8] == places[11]
    for view, copy in held:
        np.testing.assert_array_equal(view, copy)


def test_large_gradients_accumulate_after_a_step_that_made_them():
    class Accumulating(Wide):
        def step(self, x, target):
            loss, _ = self.loss(x, target)
            loss.backward()
            return loss

    def make(compiled):
        training = Accumulating(compiled)
        run = training.run
        count = iter(range(STEPS))

        def cycle(*args):
            loss = run(*args)
            if next(count) % 3 == 2:
                training.optimiser.step()
                training.optimiser.zero_grad()
            return loss

        training.run, training.compiled = cycle, run
        return training

    before = set(POOLED)
    training = both(make)
    assert training.compiled.replays > 8
    assert training.compiled.reason is None
    training.compiled.reset()
    del training
    gc.collect()
    assert before >= POOLED


def test_a_jacobian_is_batched_in_a_recording_too():
    looked = []

    def step(x):
        looked.append(bool(watching))  # which would have it go row by row
        return ag.jacobian(ag.tanh)(x)

    compiled = ag.compile(step)
    for _ in range(4):
        compiled(ag.Variable([1.0, 2.0]))
    assert looked
    assert not any(looked)
