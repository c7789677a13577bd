"""Under `autocast` a parameter is cast once, and anew when it has changed."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim
from autograd_gpu.backend import load_backend


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def on(backend, x):
    return ag.Variable(load_backend(backend).from_host(x), True)


def casts_of(monkeypatch):
    """A list that each cast of a Variable to a half type will be appended to."""
    made = []
    astype = ag.ops.astype

    def watched(x, dtype, **more):
        made.append(x)
        return astype(x, dtype, **more)

    monkeypatch.setattr(ag.ops, "astype", watched)
    return made


def test_a_parameter_is_cast_once_in_a_block(backend, monkeypatch):
    with ag.use_backend(backend):
        layer = nn.Linear(4, 4)
        x = on(backend, normal(3, 4))
        made = casts_of(monkeypatch)

        def loss():
            return ag.sum(layer(ag.tanh(layer(layer(x)))).astype("float32"))

        with ag.autocast("float16"):
            loss().backward()
            assert sum(v is layer.weight for v in made) == 1
            assert sum(v is layer.bias for v in made) == 1
            with ag.autocast("float16"):  # a block of its own
                loss()
            assert sum(v is layer.weight for v in made) == 2
            loss()
            assert sum(v is layer.weight for v in made) == 2
        with ag.autocast("float16"):
            loss()
        assert sum(v is layer.weight for v in made) == 3
        made.clear()
        optimizer = optim.SGD(layer.parameters(), lr=0.1)
        with ag.autocast("float16"):
            before = loss()
            buffer = id(layer.weight.value)
            optimizer.step()
            after = loss()
            assert id(layer.weight.value) == buffer  # the step was in place
        assert sum(v is layer.weight for v in made) == 2
        assert before.item() != after.item()


@pytest.mark.parametrize("change", ["value", "add", "item", "load"])
def test_the_cast_of_a_changed_parameter_is_not_used(backend, change):
    with ag.use_backend(backend):
        layer = nn.Linear(4, 4, bias=False)
        x = on(backend, np.eye(4, dtype="f4"))
        with ag.autocast("float16"):
            layer(x)
            with ag.no_grad():
                if change == "value":
                    layer.weight.value = layer.weight.value * 2
                elif change == "add":
                    layer.weight += 1.0
                elif change == "item":
                    layer.weight[0] = 7.0
                else:
                    layer.load_state_dict({"weight": normal(4, 4)})
            y = layer(x)
        expected = layer.weight.numpy().T.astype("f2")
        np.testing.assert_array_equal(y.numpy(), expected)


def test_gradients_of_a_shared_cast_add_up_in_float32():
    w = nn.Parameter(np.ones(1, "f4"))
    x = ag.Variable(np.full((1, 1), 1024, "f2"))
    with ag.autocast("float16"):
        # 1024 + 0.5 has no float16
        y = ag.matmul(x, w) + ag.matmul(x * 0 + 0.5, w)
    ag.sum(y).backward()
    assert w.grad.tolist() == [1024.5]


def test_second_derivatives_and_checkpoints_with_shared_casts():
    w = nn.Parameter(normal(4, 4) / 2)
    x = ag.Variable(normal(3, 4))

    def f(w):
        return ag.sum(ag.tanh(ag.tanh(x @ w) @ w).astype("float32") ** 2)

    def second(use):
        with ag.autocast("float16"):
            g = ag.gradients(use(f, w), w, create_graph=True)
            return ag.gradients(ag.sum(g * g), w).value

    plain = second(lambda f, w: f(w))
    np.testing.assert_allclose(
        second(lambda f, w: ag.checkpoint(f, w)), plain, rtol=1e-2, atol=1e-2
    )
    exact = ag.gradients(f(w), w, create_graph=True)
    np.testing.assert_allclose(plain, ag.gradients(ag.sum(exact * exact), w).value, atol=0.1)


@pytest.mark.parametrize("outside", [False, True])
def test_a_compiled_step_casts_the_parameters_of_now(backend, outside):
    with ag.use_backend(backend):

        def train(compiled):
            ag.manual_seed(0)
            layer = nn.Linear(4, 4)
            optimizer = optim.SGD(layer.parameters(), lr=0.1)
            x = on(backend, normal(3, 4))

            def step(x):
                with ag.autocast("float16"):
                    loss = ag.sum(layer(ag.tanh(layer(x))).astype("float32") ** 2)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return loss

            run = ag.compile(step) if compiled else step
            with ag.autocast("float16", enabled=outside):
                layer(x)  # a cast from before the step
                losses = [run(x).item() for _ in range(6)]
            return [*losses, layer.weight.numpy()]

        for a, b in zip(train(True), train(False), strict=True):
            np.testing.assert_array_equal(a, b)
