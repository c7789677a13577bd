"""Bad input to a backward: a clear error, and everything as it was."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag


def test_a_root_needs_a_graph():
    x = ag.Variable(np.ones(()))
    with pytest.raises(RuntimeError, match="does not require a gradient"):
        x.backward()
    with ag.no_grad():
        y = leaf(1.0) * 2.0
    with pytest.raises(RuntimeError, match="no_grad"):
        y.backward()


def test_a_root_that_is_no_scalar_needs_a_gradient():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"shape \(2,\).*must be given"):
        (x * 2.0).backward()
    assert x.grad is None


def test_a_complex_root_needs_a_gradient():
    z = ag.Variable(np.array(1 + 1j), requires_grad=True)
    with pytest.raises(RuntimeError, match="complex128 must be given"):
        (z * z).backward()


@pytest.mark.parametrize(
    ("grad", "error", "match"),
    [
        (np.ones(3), ValueError, r"shape \(3,\); the shape is \(2,\)"),
        (np.ones(2, np.float32), TypeError, "float32; the dtype is float64"),
        ("one", TypeError, "str"),
        (1.0, ValueError, r"a number, the root has shape \(2,\)"),
    ],
)
def test_a_seed_that_does_not_fit(grad, error, match):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    with pytest.raises(error, match=match):
        y.backward(grad)
    assert x.grad is None
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


@pytest.mark.parametrize(
    ("returned", "error", "match"),
    [
        (lambda g: np.ones(5), ValueError, r"hook on multiply.*\(5,\)"),
        (lambda g: g.astype(np.float32), TypeError, "hook on multiply.*float32"),
        (lambda g: "nonsense", TypeError, "hook on multiply.*str"),
    ],
)
def test_a_hook_that_returns_something_wrong(returned, error, match):
    x = leaf([1.0, 2.0])
    y = x * 2.0
    handle = y.register_hook(returned)
    with pytest.raises(error, match=match):
        y.backward(np.ones(2), retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_an_error_in_a_hook_leaves_gradients_and_modes_alone():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward()
    before = x.grad.copy(), w.grad.copy()
    y = x * 2.0

    def fail(g):
        raise ZeroDivisionError("from the hook")

    handle = y.register_hook(fail)
    z = y * w + x
    with pytest.raises(ZeroDivisionError, match="from the hook") as info:
        z.backward(retain_graph=True)
    assert any("multiply" in note for note in info.value.__notes__)
    assert (x.grad, w.grad) == before
    assert ag.is_grad_enabled()
    handle.remove()
    z.backward()
    assert x.grad == before[0] + 2 * 3.0 + 1
    assert w.grad == before[1] + 4.0


def test_anomaly_mode_names_the_line():
    x = leaf(2.0)
    with ag.detect_anomaly():
        y = x * 2.0  # the line in question

    def fail(g):
        raise ArithmeticError("bad")

    y.register_hook(fail)
    with pytest.raises(ArithmeticError) as info:
        y.backward()
    assert any("the line in question" in note for note in info.value.__notes__)


def test_anomaly_mode_finds_nans():
    x = leaf(1.0)
    with ag.detect_anomaly():
        y = x * np.nan
        with pytest.raises(RuntimeError, match="backward of multiply returned a NaN for input 0"):
            y.backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("grad", "error", "match"),
    [
        (np.ones((2, 2)), ValueError, r"'w'.*\(2, 2\)"),
        (np.ones(2, int), TypeError, "'w'.*int64"),
        ([1.0, 2.0], TypeError, "'w'.*list"),
    ],
)
def test_a_grad_that_does_not_fit_leaves_the_others_alone(grad, error, match):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0], name="w")
    w.grad = grad
    for y in (x * w, w * x):
        with pytest.raises(error, match=match):
            y.backward(np.ones(2))
        assert x.grad is None
        assert w.grad is grad
