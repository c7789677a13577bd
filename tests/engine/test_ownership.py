"""Who owns a gradient: sharing, dtypes, and what a leaf may change in between."""

import numpy as np
from operands import leaf

import autograd_gpu as ag


def test_no_two_gradients_share_memory():
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    seed = np.ones(3)
    (a + b).backward(seed)
    assert not np.shares_memory(a.grad, b.grad)
    assert not np.shares_memory(a.grad, seed)
    assert not np.shares_memory(b.grad, seed)
    a.grad += 1
    np.testing.assert_array_equal(b.grad, np.ones(3))
    np.testing.assert_array_equal(seed, np.ones(3))


def test_a_gradient_that_the_user_holds_does_not_change():
    x = leaf(np.ones(3))
    (x * 2.0).sum().backward()
    held = x.grad
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(held, np.full(3, 2.0))
    np.testing.assert_array_equal(x.grad, np.full(3, 4.0))


def test_a_hook_may_keep_what_it_saw():
    x = leaf(np.ones(3))
    kept = []
    y = x * 1.0
    y.register_hook(kept.append)
    (y + y + y).sum().backward()
    before = kept[0].copy()
    x.grad += 100
    np.testing.assert_array_equal(kept[0], before)


def test_sums_over_paths_are_right_when_buffers_are_reused():
    x = leaf(np.arange(4.0))
    y = x + x + x * x + x
    y.backward(np.ones(4), retain_graph=True)
    np.testing.assert_array_equal(x.grad, 3 + 2 * np.arange(4.0))
    y.backward(np.ones(4))
    np.testing.assert_array_equal(x.grad, 2 * (3 + 2 * np.arange(4.0)))


def test_gradients_are_arrays_also_of_scalars():
    x, y = leaf(2.0), leaf([1.0])
    (x * x * y).sum().backward()
    assert type(x.grad) is np.ndarray
    assert x.grad.shape == ()
    assert type(y.grad) is np.ndarray


def test_gradients_have_the_dtype_of_their_leaf():
    x = ag.Variable(np.ones(2, np.float32), requires_grad=True)
    y = ag.Variable(np.ones(2, np.float64), requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == np.float32
    assert y.grad.dtype == np.float64


def test_gradients_share_memory_with_nothing():
    x, y, g = leaf([1.0, 2.0]), leaf([3.0, 4.0]), np.ones(2)
    a, b = ag.gradients(x + y, [x, y], g)
    assert not np.shares_memory(a.value, b.value)
    assert not np.shares_memory(a.value, g)
    a, b = ag.gradients(x * x, [x, x], g)
    assert not np.shares_memory(a.value, b.value)
    a = ag.gradients(ag.reshape(x, (2, 1)), x, g[:, None])
    assert not np.shares_memory(a.value, g)
    assert ag.gradients(ag.sum(x), x).value.flags.writeable


def test_retained_gradients_share_memory_with_nothing():
    x = leaf([1.0, 2.0])
    y = ag.positive(x)
    y.retain_grad()
    g = np.ones(2)
    y.backward(g)
    assert not np.shares_memory(y.grad, x.grad)
    assert not np.shares_memory(y.grad, g)


def test_requires_grad_set_again_keeps_the_graph():
    x = leaf([1.0, 2.0])
    y = ag.sum(x * x)
    x.requires_grad = True
    np.testing.assert_array_equal(ag.gradients(y, x).numpy(), [2.0, 4.0])


def test_a_leaf_with_a_new_value_gets_gradients_like_that():
    x = leaf([1.0, 2.0])
    before = ag.sum(x * x)
    x.value = np.ones(3, np.float32)
    ag.sum(x * 2.0).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])
    assert x.grad.dtype == np.float32
    del before
