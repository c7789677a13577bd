"""Compiled training steps: model, optimiser and gradients as after eager ones, bit for bit."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest
from compiled_steps import MODELS, OPTIMISERS, bits, labels, mlp, numbers

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backends.numpy_memory import POOLED
from autograd_gpu.nn import functional as F

STEPS = 24


class Training:
    """A model, an optimiser and a step."""

    def __init__(self, model="mlp", optimiser="SGD", compiled=True):
        make, self.data = MODELS[model]
        self.generator = ag.manual_seed(3)
        self.model = make()
        self.optimiser = OPTIMISERS[optimiser](self.model.parameters())
        self.run = ag.compile(self.step) if compiled else self.step

    def loss(self, x, target):
        y = self.model(x)
        return F.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1)), y

    def step(self, x, target):
        self.optimiser.zero_grad()
        loss, y = self.loss(x, target)
        loss.backward()
        self.optimiser.step()
        return loss, y.detach()

    def state(self):
        gradients = [x.grad for x in self.model.parameters()]
        return bits(
            [
                self.model.state_dict(),
                self.optimiser.state_dict(),
                gradients,
                self.generator.next_key(),
            ]
        )


def both(make, calls=STEPS):
    """Run an eager and a compiled training; the compiled one, after comparing all that is left."""
    histories, trainings = [], []
    for compiled in (False, True):
        training = make(compiled)
        history = [bits(training.run(*training.data(i))) for i in range(calls)]
        history.append(training.state())
        histories.append(history)
        trainings.append(training)
    assert histories[0] == histories[1]
    return trainings[1]


@pytest.mark.parametrize("optimiser", sorted(OPTIMISERS))
@pytest.mark.parametrize("model", sorted(MODELS))
def test_steps_are_those_of_an_eager_training(model, optimiser):
    training = both(lambda compiled: Training(model, optimiser, compiled))
    assert training.run.reason is None
    assert training.run.replays == STEPS - 3


def test_an_eager_step_goes_on_from_a_compiled_one_and_the_other_way_round():
    def make(compiled):
        training = Training("mlp", "Adam", compiled)
        run = training.run
        count = iter(range(STEPS))
        training.run = lambda *a: (training.step if next(count) % 7 == 6 else run)(*a)
        return training

    both(make)


def test_a_learning_rate_schedule_and_a_change_of_other_options():
    def make(compiled):
        training = Training("mlp", "momentum", compiled)
        schedule = optim.CosineAnnealingLR(training.optimiser, STEPS)
        run = training.run
        count = iter(range(STEPS))

        def scheduled(*args):
            result = run(*args)
            schedule.step()
            if next(count) == 10:
                training.optimiser.param_groups[0]["momentum"] = 0.5
            return result

        training.run = scheduled
        return training

    both(make)


@pytest.mark.parametrize("model", ["mlp", "lenet"])
def test_states_that_are_loaded_half_way(model):
    saved = Training(model, "AdamW", False)
    for i in range(3):
        saved.run(*saved.data(i))
    states = saved.model.state_dict(), saved.optimiser.state_dict()

    def make(compiled):
        training = Training(model, "AdamW", compiled)
        run = training.run
        count = iter(range(STEPS))

        def loading(*args):
            if next(count) == 8:
                training.model.load_state_dict(states[0])
                training.optimiser.load_state_dict(states[1])
            return run(*args)

        training.run = loading
        training.compiled = run
        return training

    training = both(make)
    assert training.compiled.replays == STEPS - 3  # new arrays are taken in without a recording


def test_a_parameter_that_is_bound_to_another_array():
    def make(compiled):
        training = Training("mlp", "SGD", compiled)
        run, weight = training.run, training.model[0].weight
        count = iter(range(STEPS))

        def binding(*args):
            i = next(count)
            if i == 6:
                weight.value = weight.value * 2
            if i == 9:
                weight.value = np.asfortranarray(weight.value)  # another layout
            return run(*args)

        training.run, training.compiled = binding, run
        return training

    training = both(make)
    assert training.compiled.reason is None


def test_arrays_that_a_user_holds_are_left_alone():
    training = Training("mlp", "SGD")
    for i in range(6):
        held = training.model[0].weight.value
        gradient = training.model[0].weight.grad
        before = held.copy(), None if gradient is None else gradient.copy()
        training.run(*training.data(i))
        np.testing.assert_array_equal(held, before[0])
        if gradient is not None:
            np.testing.assert_array_equal(gradient, before[1])
        assert training.model[0].weight.value is not held
    del held
    array = training.model[0].weight.value
    place = array.ctypes.data
    del array
    training.run(*training.data(9))
    assert training.model[0].weight.value.ctypes.data == place  # and otherwise written in place


def test_training_and_evaluation_are_two_recordings():
    def make(compiled):
        training = Training("lenet", "SGD", compiled)
        run = training.run
        count = iter(range(STEPS))

        def switching(*args):
            training.model.train(next(count) % 3 != 0)
            return run(*args)

        training.run, training.compiled = switching, run
        return training

    training = both(make)
    assert training.compiled.replays > 10


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


def test_a_frozen_parameter_and_a_hook_that_come_later():
    def make(compiled):
        training = Training("mlp", "SGD", compiled)
        run = training.run
        count = iter(range(STEPS))

        def changing(*args):
            i = next(count)
            if i == 8:
                training.model[0].weight.requires_grad = False
            if i == 14:
                training.model[0].weight.requires_grad = True
                training.model[3].weight.register_hook(lambda g: g * 2)
            return run(*args)

        training.run = changing
        return training

    both(make)


def test_a_model_in_float64_under_no_grad_evaluates():
    model = nn.Sequential(nn.Linear(3, 4, dtype="float64"), nn.Softmax(-1))
    compiled = ag.compile(lambda x: model(x))
    with ag.no_grad():
        for i in range(6):
            x = numbers(i, 2, 3).astype("float64")
            assert bits(compiled(x)) == bits(model(x))
    assert compiled.replays == 3
