"""compile: what errors leave behind, recordings within others and threads that share them."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from compiled_steps import CALLS, X, bits, mlp, refused
from operands import leaf

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.nn import functional as F


def test_an_error_leaves_what_an_eager_one_leaves():
    states = []
    for compiled in (False, True):
        ag.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 1))
        optimiser = optim.Adam(model.parameters())

        def step(tokens, model=model, optimiser=optimiser):
            optimiser.zero_grad()
            loss = model(tokens).sum()
            loss.backward()
            optimiser.step()
            return loss

        run = ag.compile(step) if compiled else step
        good, bad = np.array([[0, 1, 2]]), np.array([[0, 1, 7]])
        found = []
        for i in range(8):
            if i in (0, 2, 5):
                with pytest.raises(IndexError, match="outside"):
                    run(bad)
            found.append(bits([run(good), [p.grad for p in model.parameters()]]))
        found.append(bits([model.state_dict(), optimiser.state_dict()]))
        states.append(found)
    assert states[0] == states[1]
    assert run.replays > 3
    replays = run.replays
    with pytest.raises(IndexError, match=r"embedding\(.*7 is outside"):
        run(bad)
    assert run.replays == replays


def test_an_error_after_the_first_effect_is_raised_in_the_replay():
    w = leaf([1.0, 2.0])

    @ag.compile
    def step(tokens):
        (w * w).sum().backward()
        return F.embedding(tokens, w.detach().reshape((2, 1)))

    for _ in range(5):
        step(np.array([0, 1]))
    with pytest.raises(IndexError, match="2 is outside") as info:
        step(np.array([0, 2]))
    assert "replay" in info.value.__notes__[0]
    np.testing.assert_array_equal(w.grad, [12.0, 24.0])


def test_an_error_that_the_step_goes_on_from():
    def step(x):
        try:
            return ag.linalg.cholesky(x).detach()
        except np.linalg.LinAlgError:
            return (x * 2).detach()

    a = np.eye(2)
    refused(step, "goes on from", [(ag.Variable(x),) for x in (a, -a, -a, -a, a, -a, a)])


def test_an_error_in_the_function_while_it_is_recorded():
    w = ag.Variable(np.ones(3), requires_grad=True)
    fail = [False]

    def step(x):
        y = (w * x).sum()
        y.backward()
        if fail[0]:
            raise RuntimeError("on purpose")
        return y

    compiled = ag.compile(step)
    compiled(np.ones(3))
    fail[0] = True
    with pytest.raises(RuntimeError, match="on purpose"):
        compiled(np.ones(3))
    fail[0] = False
    assert type(w.value) is np.ndarray
    assert w.grad.tolist() == [2.0, 2.0, 2.0]
    assert type(ag.Variable.__dict__["value"]).__name__ == "member_descriptor"
    for i in range(5):
        compiled(np.ones(3))
        assert w.grad.tolist() == [3.0 + i] * 3
    assert compiled.replays > 0


def test_floating_point_errors_that_numpy_raises():
    def step(x):
        with np.errstate(divide="raise"):
            return (1 / x).detach()

    refused(step, "np.errstate", [(ag.Variable(x),) for x in X])
    compiled = ag.compile(step)
    for x in X:
        compiled(ag.Variable(x))
    with pytest.raises(FloatingPointError):
        compiled(ag.Variable(X[0] * 0))


def test_a_compiled_function_within_another_and_within_itself():
    inner = ag.compile(lambda x: x * 2)

    def step(x, depth):
        return inner(x) + 1 if not depth else outer(x, depth - 1)

    outer = ag.compile(step)
    for x in X:
        np.testing.assert_array_equal(outer(x, 2), x * 2 + 1)
    assert outer.replays == CALLS - 3


def test_threads_share_a_compiled_function():
    model = mlp().eval()
    compiled = ag.compile(lambda x: model(x).detach())
    other = ag.compile(lambda x: model(x * 2).detach())
    expected = [bits(model(x)) for x in X], [bits(model(x * 2)) for x in X]
    wrong = []

    def work(function, wanted):
        for _ in range(20):
            for x, y in zip(X, wanted, strict=True):
                if bits(function(x)) != y:
                    wrong.append(x)

    jobs = [(compiled, expected[0]), (other, expected[1]), (lambda x: model(x), expected[0])] * 2
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert compiled.replays == 2 * 20 * CALLS - 3


def test_a_recording_does_not_keep_what_a_parameter_held():
    w = ag.Variable(np.ones(3), requires_grad=True)
    compiled = ag.compile(lambda x: (w * x).detach())
    for _ in range(5):
        compiled(np.ones(3))
    held = weakref.ref(w.value)
    w.value = np.zeros(3)
    gc.collect()
    assert held() is None
    assert compiled(np.ones(3)).tolist() == [0, 0, 0]
