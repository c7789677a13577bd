"""Steps of every optimiser in a compiled function are those of an eager one, bit for bit."""

import numpy as np
import pytest
from optimisers import CASES, MORE

import autograd_gpu as ag
from autograd_gpu.backend import load_backend


@pytest.mark.parametrize("name", CASES | MORE)
def test_compiled_steps_are_eager_ones(backend, name):
    kind, options = (CASES | MORE)[name]
    put = load_backend(backend).from_host

    def train(compiled):
        with ag.use_backend(backend):
            w = ag.Variable(put(np.linspace(-1, 1, 6).reshape(2, 3)), True)
            optimizer = kind([w], **options)
            x = ag.Variable(put(np.ones((4, 2))))

            def step(x):
                optimizer.zero_grad()
                loss = ag.sum(ag.sin(x @ w) ** 2)
                loss.backward()
                optimizer.step()
                return loss

            run = ag.compile(step) if compiled else step
            losses = [run(x).item() for _ in range(7)]
            if compiled:
                assert run.replays >= 3, run.reason
            return [*losses, w.numpy()]

    for a, b in zip(train(True), train(False), strict=True):
        np.testing.assert_array_equal(a, b)
