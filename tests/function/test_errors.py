"""Function: what is refused."""

import numpy as np
import pytest
from operands import leaf
from user_functions import Cube

import autograd_gpu as ag
from autograd_gpu.function import Function


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda g: g, ValueError, "Broken returned 1 gradients for 2 inputs"),
        (lambda g: (g, g, g), ValueError, "Broken returned 3 gradients for 2 inputs"),
        (
            lambda g: (g, np.ones((2, 1))),
            ValueError,
            r"Broken for input 1 returned a gradient of shape \(2, 1\); the shape is \(2,\)",
        ),
        (lambda g: (g, np.ones(())), ValueError, r"input 1 .*shape \(\); the shape is \(2,\)"),
        (lambda g: (np.ones((3, 2)), g), ValueError, r"input 0 .*\(3, 2\); the shape is \(2,\)"),
        (lambda g: (g, np.ones(2, np.float32)), TypeError, "input 1 .*float32.*float64"),
        (lambda g: (g, np.ones(2, complex)), TypeError, "input 1 .*complex128.*float64"),
        (lambda g: (g, "text"), TypeError, "input 1 returned str"),
        (lambda g: (g, 1.0), TypeError, "input 1 returned float"),
    ],
)
def test_wrong_gradients_are_refused(wrong, kind, message, create_graph):
    class Broken(Function):
        def forward(self, *arrays):
            return arrays[0] * 1.0

        def backward(self, g):
            return wrong(g)

    inputs = [leaf(np.ones(2)) for _ in range(2)]
    y = Broken.apply(*inputs)
    with pytest.raises(kind, match=message):
        ag.gradients(y, inputs, np.ones(2), create_graph=create_graph)
    assert ag.is_grad_enabled()


def test_a_failed_forward_leaves_the_mode_and_names_itself():
    class Fails(Function):
        def forward(self, x):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside") as caught:
        Fails.apply(leaf(1.0))
    assert ag.is_grad_enabled()
    assert caught.value.__notes__ == ["raised in the forward of Fails"]
    with ag.no_grad():
        with pytest.raises(KeyError):
            Fails.apply(leaf(1.0))
        assert not ag.is_grad_enabled()


def test_a_failed_backward_names_itself():
    class Fails(Function):
        def forward(self, x):
            return x * 1.0

        def backward(self, g):
            raise KeyError("inside")

    x = leaf(1.0)
    with pytest.raises(KeyError) as caught:
        Fails.apply(x).backward()
    assert "Fails" in caught.value.__notes__[0]
    assert x.grad is None


def test_a_missing_forward_or_backward():
    class Empty(Function):
        pass

    class OneWay(Function):
        def forward(self, x):
            return x * 1.0

    with pytest.raises(NotImplementedError, match="Empty defines no forward"):
        Empty.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="OneWay defines no backward"):
        OneWay.apply(leaf(1.0)).backward()


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, (None,)])
def test_outputs_are_arrays(value):
    class Odd(Function):
        def forward(self, x):
            return value

    with pytest.raises(TypeError, match="Odd: forward returned"):
        Odd.apply(leaf(1.0))


def test_no_output_is_refused():
    class Nothing(Function):
        def forward(self, x):
            return ()

    with pytest.raises(ValueError, match="Nothing: forward returned no output"):
        Nothing.apply(leaf(1.0))


def test_gradients_that_would_be_lost_are_refused():
    x = leaf(2.0)
    with pytest.raises(TypeError, match=r"Cube\.apply: argument 'scale' .*positional"):
        Cube.apply(x, scale=leaf(1.0))
    with pytest.raises(TypeError, match="one by one"):
        Cube.apply([x, x])
    with ag.no_grad():
        assert Cube.apply(x, scale=leaf(2.0)).value == 16.0
    assert Cube.apply(x, scale=ag.Variable(np.array(2.0))).value == 16.0


def test_scalar_results_are_arrays():
    class Total(Function):
        def forward(self, x):
            return x.sum()

        def backward(self, g):
            return g * np.ones(3) if isinstance(g, np.ndarray) else g * ag.Variable(np.ones(3))

    x = leaf([1.0, 2.0, 3.0])
    y = Total.apply(x)
    assert type(y.value) is np.ndarray
    y.backward()
    np.testing.assert_array_equal(x.grad, np.ones(3))


def test_hooks_work_on_the_node():
    x = leaf(2.0)
    y = Cube.apply(x)
    y.grad_fn.register_prehook(lambda g: g * 10)
    y.backward()
    assert x.grad == 120.0
