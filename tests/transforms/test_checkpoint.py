"""checkpoint: less memory, the same gradients."""

import weakref

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag
from autograd_gpu.graph import Node

x3 = np.array([0.5, -1.0, 2.0])


def deep(x):
    for _ in range(4):
        x = ag.tanh(x * 1.5)
    return x


def test_checkpoint_gives_the_same_gradient():
    a, b = leaf(x3), leaf(x3)
    ya, yb = deep(a), ag.checkpoint(deep, b)
    assert yb.grad_fn.name == "checkpoint"
    np.testing.assert_array_equal(ya.value, yb.value)
    ag.sum(ya * ya).backward()
    ag.sum(yb * yb).backward()
    np.testing.assert_array_equal(a.grad, b.grad)


def test_checkpoint_of_captured_parameters():
    w, x = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    ag.sum(ag.checkpoint(lambda x: w * w * x, x)).backward()
    np.testing.assert_array_equal(w.grad, 2 * w.value * x)


def test_checkpoint_of_captured_results():
    w, x = leaf(2.0), leaf(3.0)
    u = w * w
    v = u * w  # depends on u, which is captured too
    ag.checkpoint(lambda x: u * v * x, x).backward()
    assert w.grad == 5 * 2.0**4 * 3.0
    assert x.grad == 32.0


def test_hooks_on_what_is_captured_run_once():
    w = leaf(2.0)
    calls = []
    w.register_hook(calls.append)
    u = w * w
    u.register_hook(calls.append)
    ag.checkpoint(lambda: u * w).backward()
    assert len(calls) == 2
    assert w.grad == 12.0


def test_a_captured_variable_may_be_returned():
    w, x = leaf(2.0), leaf(3.0)
    u = w * w
    a, b, c = ag.checkpoint(lambda x: (u, x * u, w), x)
    (a + 10.0 * b + 100.0 * c).backward()
    assert w.grad == 4.0 + 10.0 * 3.0 * 4.0 + 100.0
    assert x.grad == 40.0


def test_checkpoint_keeps_structures_and_plain_outputs():
    x = leaf(x3)
    out = ag.checkpoint(lambda d, k: {"y": d["x"] * k, "n": 3, "p": d["x"].detach()}, {"x": x}, 2.0)
    assert out["n"] == 3
    assert not out["p"].requires_grad
    ag.sum(out["y"]).backward()
    np.testing.assert_array_equal(x.grad, np.full(3, 2.0))


def test_several_outputs_of_which_some_are_used():
    x = leaf(x3)
    a, _ = ag.checkpoint(lambda x: (x * x, ag.sin(x)), x)
    ag.sum(a).backward()
    np.testing.assert_allclose(x.grad, 2 * x3)


def test_nested_checkpoints():
    w = leaf(0.7)

    def outer(x):
        return ag.checkpoint(lambda y: ag.tanh(y * w), x * w) + x

    assert ag.grad_check(lambda x: ag.checkpoint(outer, x), x3, order=2)
    assert ag.grad_check_variables(lambda: ag.checkpoint(outer, x3), w, order=2)


def test_checkpoint_to_higher_orders():
    w = leaf(0.7)
    u = w * w
    assert ag.grad_check(lambda x: ag.checkpoint(lambda t: ag.sin(t) * t * u, x), x3, order=3)
    np.testing.assert_allclose(
        ag.hessian(lambda x: ag.sum(ag.checkpoint(deep, x)))(x3),
        ag.hessian(lambda x: ag.sum(deep(x)))(x3),
    )
    assert ag.grad_check_variables(lambda: ag.checkpoint(lambda t: t * w * (w * w), x3), w, order=3)


def test_gradients_inside_a_checkpoint():
    w = leaf(0.7)
    x = leaf(1.3)
    y = ag.checkpoint(lambda x: ag.grad(lambda t: w * t**3)(x), x)
    y.backward()
    np.testing.assert_allclose(x.grad, 6 * 0.7 * 1.3)
    np.testing.assert_allclose(w.grad, 3 * 1.3**2)


@pytest.mark.usefixtures("collector_off")
def test_nothing_inside_is_kept():
    inside = []

    def f(x):
        y = ag.tanh(x)
        inside.append(weakref.ref(y.grad_fn))
        return y * y

    x = leaf(x3)
    y = ag.checkpoint(f, x)
    assert [node() for node in inside] == [None]
    node: weakref.ref[Node] = weakref.ref(y.grad_fn)
    ag.sum(y).backward()
    assert [n() for n in inside] == [None, None]
    del y
    assert node() is None


def test_a_function_that_keeps_its_activations():
    kept = []

    def f(x):
        h = ag.tanh(x)
        kept.append(h)
        return h * h

    x = leaf(x3)
    ag.sum(ag.checkpoint(f, x)).backward()
    np.testing.assert_allclose(x.grad, 2 * np.tanh(x3) * (1 - np.tanh(x3) ** 2))


def test_a_function_that_changes_its_mind_is_refused():
    w, v, x = leaf(2.0), leaf(3.0), leaf(1.0)
    flags = [True, False]

    def f(x):
        return x * (w if flags.pop(0) else v)

    with pytest.raises(RuntimeError, match="the same thing each time"):
        ag.checkpoint(f, x).backward()


def test_checkpoint_without_anything_to_record():
    with ag.no_grad():
        assert ag.checkpoint(deep, leaf(x3)).is_leaf
    assert ag.checkpoint(deep, ag.Variable(x3)).is_leaf
    assert type(ag.checkpoint(lambda x: x * 2, x3)) is np.ndarray


def test_a_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = ag.checkpoint(deep, x)
    y.backward(retain_graph=True)
    once = x.grad.copy()
    y.backward()
    np.testing.assert_allclose(x.grad, 2 * once)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_a_chain_of_checkpoints():
    x = leaf(x3)
    y = x
    for _ in range(200):
        y = ag.checkpoint(lambda t: ag.tanh(t) + t * 0.1, y)
    ag.sum(y).backward()
    z = leaf(x3)
    y = z
    for _ in range(200):
        y = ag.tanh(y) + y * 0.1
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, z.grad)


def test_dropout_in_a_checkpoint_draws_the_same_mask_again():
    functional = pytest.importorskip("autograd_gpu.nn.functional")
    x = leaf(np.ones(64))
    y = ag.checkpoint(lambda x: functional.dropout(x, 0.5, True) * x, x)
    z = functional.dropout(x.detach(), 0.5, True)
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, 2 * y.value)
    after = functional.dropout(x.detach(), 0.5, True)
    assert not np.array_equal(z.value, after.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, c: ag.checkpoint(f, x, c),
        lambda f, x, c: ag.checkpoint(f, x, c=c),
        lambda f, x, c: ag.checkpoint(f, c=c, x=x),
        lambda f, x, c: ag.checkpoint(lambda x, cs: f(x, cs[0]), x, [c]),
    ],
)
def test_a_checkpoint_does_not_see_arguments_that_changed_afterwards(call):
    x, c = leaf([1.0, 2.0]), ag.Variable(np.array([3.0, 4.0]))
    y = call(lambda x, c: x * x * c, x, c)
    c[0] = 100.0
    c += 1.0
    with ag.no_grad():
        x[:] = 50.0
    ag.sum(y).backward()
    np.testing.assert_array_equal(x.grad, [6.0, 16.0])


def test_a_checkpoint_does_not_keep_its_arguments():
    x = leaf([1.0, 2.0])
    inner = x * 2.0
    y = ag.checkpoint(ag.sin, inner)
    gone = weakref.ref(inner)
    del inner
    assert gone() is None
    ag.sum(y).backward()
    np.testing.assert_allclose(x.grad, 2 * np.cos([2.0, 4.0]))
