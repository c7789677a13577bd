"""Hooks on leaves, results and nodes; retained gradients."""

import weakref

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag


def test_hooks_on_leaves_and_results():
    x = leaf(2.0)
    handle = x.register_hook(lambda g: g * 10)
    y = x * 3.0
    y.register_hook(lambda g: g * 2)
    y.backward(retain_graph=True)
    assert x.grad == 60.0
    handle.remove()
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad == 6.0


def test_a_leaf_hook_runs_once_with_the_whole_gradient():
    x = leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(float(g)))
    (x * 2.0 + x * 3.0).backward()
    assert seen == [5.0]


def test_node_hooks():
    x = leaf(2.0)
    y = x * x
    y.grad_fn.register_prehook(lambda g: g * 3)
    y.grad_fn.register_hook(lambda grads, g: tuple(10 * d for d in grads))
    y.backward()
    assert x.grad == 3 * 10 * 4.0


def test_retain_grad():
    x = leaf(2.0)
    y = x * 3.0
    y.retain_grad()
    (y * y).backward()
    assert y.grad == 12.0
    assert type(y.grad) is np.ndarray


def test_retain_grad_makes_no_cycle(collector_off):
    x = leaf(2.0)
    y = x * 3.0
    y.retain_grad()
    gone = weakref.ref(y)
    del y
    assert gone() is None


def test_post_accumulate_hook_sees_the_sum_at_once():
    x, w = leaf(2.0), leaf(1.0)
    seen = []

    def step(v):
        seen.append(float(v.grad))
        v.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x * w).backward()
    assert seen == [4.0]
    assert x.grad is None
    assert w.grad == 4.0


def test_under_create_graph_hooks_see_variables():
    x = leaf(2.0)
    y = x * x
    kinds = []
    y.register_hook(lambda g: kinds.append(type(g)))
    ag.gradients(y, x, create_graph=True)
    assert kinds == [ag.Variable]


def test_a_hook_may_run_another_backward():
    x, w = leaf(2.0), leaf(3.0)

    def inner(g):
        with ag.enable_grad():
            loss = w * w
        loss.backward()

    y = x * 2.0
    y.register_hook(inner)
    y.backward()
    assert x.grad == 2.0
    assert w.grad == 6.0


def test_retain_grad_is_written_by_a_whole_backward_only():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    y.retain_grad()
    z = ag.sum(y * y)
    ag.gradients(z, x, retain_graph=True)
    assert y.grad is None

    def fail(g):
        raise ZeroDivisionError

    handle = x.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    assert y.grad is None
    handle.remove()
    z.backward(retain_graph=True)
    first = y.grad
    z.backward()
    np.testing.assert_array_equal(first, [6.0, 12.0])
    np.testing.assert_array_equal(y.grad, [12.0, 24.0])


def test_prehooks_of_a_node_with_several_outputs():
    x = leaf([1.0, 2.0])
    first, _ = ag.split(x, 2)
    node = first.grad_fn.next_functions[0]
    handle = node.register_prehook(lambda g: tuple(None if d is None else 3 * d for d in g))
    first.backward(np.ones(1), retain_graph=True)
    np.testing.assert_array_equal(x.grad, [3.0, 0.0])
    handle.remove()
    for wrong in ((np.ones(1),), np.ones(2), (None, None), (np.ones(2), None)):
        handle = node.register_prehook(lambda g, wrong=wrong: wrong)
        with pytest.raises((TypeError, ValueError), match="a hook on split"):
            first.backward(np.ones(1), retain_graph=True)
        handle.remove()


def test_hooks_that_return_no_tuple_are_named():
    x = leaf([1.0])
    for wrong in (5, np.ones(1)):
        y = ag.exp(x)
        y.grad_fn.register_hook(lambda grads, g, wrong=wrong: wrong)
        with pytest.raises(TypeError, match="a hook on exp returned"):
            y.backward()


def test_a_hook_on_a_leaf_is_named_after_the_leaf():
    x = leaf([1.0], name="weight")
    x.register_hook(lambda g: "nonsense")
    with pytest.raises(TypeError, match="a hook on the leaf 'weight' returned str"):
        ag.exp(x).backward()
