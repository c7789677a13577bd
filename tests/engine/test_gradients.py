"""gradients(): which nodes run, higher orders, inputs that are not used."""

import numpy as np
import pytest
from operands import leaf

import autograd_gpu as ag


def test_gradients_leaves_grad_alone():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x * w
    dx, dw = ag.gradients(y, [x, w])
    assert (dx.item(), dw.item()) == (12.0, 4.0)
    assert x.grad is None
    assert w.grad is None


def test_gradients_of_results_and_of_several_outputs():
    x = leaf(2.0)
    y = x * x
    z = y * y
    dy = ag.gradients(z, y, retain_graph=True)
    assert dy.item() == 8.0
    dx = ag.gradients([y, z], x, [None, np.array(2.0)])
    assert dx.item() == 4.0 + 2.0 * 8.0 * 4.0


def test_gradients_runs_only_what_leads_to_an_input():
    x, w = leaf(2.0), leaf(3.0)
    side = w * 5.0
    ran = []
    side.grad_fn.register_hook(lambda grads, g: ran.append(1))
    y = x * side
    ag.gradients(y, x, retain_graph=True)
    assert ran == []
    ag.gradients(y, w)
    assert ran == [1]


def test_an_output_that_is_an_input_too():
    x = leaf(2.0)
    y = x * 3.0
    dy, dx = ag.gradients(y, [y, x])
    assert (dy.item(), dx.item()) == (1.0, 3.0)


def test_an_unused_input():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="do not depend on input 1.*allow_unused"):
        ag.gradients(y, [x, w], retain_graph=True)
    dx, dw = ag.gradients(y, [x, w], allow_unused=True)
    assert dx.item() == 4.0
    assert dw is None


def test_higher_orders():
    x = leaf(2.0)
    y = x * x * x * x
    orders = []
    for _ in range(5):
        y = ag.gradients(y, x, create_graph=True)
        orders.append(y.item())
        if not y.requires_grad:
            break
    assert orders == [32.0, 48.0, 48.0, 24.0]


def test_a_gradient_penalty():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (ag.tanh(x * w)).sum()
    dx = ag.gradients(y, x, create_graph=True)
    (dx * dx).sum().backward()
    t = np.tanh(x.value * w.value)
    d = w.value * (1 - t * t)
    np.testing.assert_allclose(
        w.grad, 2 * d * ((1 - t * t) + w.value * x.value * -2 * t * (1 - t * t))
    )


def test_gradients_of_nothing_and_of_no_variables():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="inputs is empty"):
        ag.gradients(x * 1.0, [])
    with pytest.raises(TypeError, match=r"inputs\[0\] is float"):
        ag.gradients(x * 1.0, [1.0])
    with pytest.raises(RuntimeError, match="input 0 does not require"):
        ag.gradients(x * 1.0, ag.Variable(1.0))
    with pytest.raises(ValueError, match="2 grad_outputs were given for 1"):
        ag.gradients([x * 1.0], [x], [None, None])


def test_an_output_given_twice_counts_twice():
    x = leaf(3.0)
    y = x * x
    assert ag.gradients([y, y], x, retain_graph=True).item() == 12.0
    seeds = [np.array(1.0), np.array(10.0)]
    assert ag.gradients([y, y], x, seeds).item() == 66.0
    assert seeds == [1.0, 10.0]


def test_an_unused_input_is_found_before_anything_is_released():
    x = leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="do not depend on input 1"):
        ag.gradients(y, [x, leaf(1.0)])
    y.backward()
    assert x.grad == 6.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: ag.gradients(1.0, x), "outputs are Variables, not float"),
        (lambda x: ag.gradients([x * x], x, 1.0), "grad_outputs is a sequence.*not float"),
    ],
)
def test_gradients_of_what_is_no_sequence(call, match):
    with pytest.raises(TypeError, match=match):
        call(leaf(1.0))
