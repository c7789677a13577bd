"""Compiled training steps: model, optimiser and gradients as after eager ones, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_steps import MODELS, OPTIMISERS, STEPS, Training, bits, both, numbers

import autograd_gpu as ag
from autograd_gpu import nn, optim


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
