"""Function: values, gradients, what forward and backward get."""

import numpy as np
import pytest
from operands import leaf
from user_functions import Cube, Exp, Pair, Product

import autograd_gpu as ag
from autograd_gpu.function import Function
from autograd_gpu.grad_check import grad_check


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (Cube.apply, [(3,)]),
        (lambda x: Cube.apply(x, scale=2.5), [(2, 2)]),
        (Exp.apply, [()]),
        (Product.apply, [(3,), (3,)]),
        (Pair.apply, [(3,), (2,)]),
        (lambda x, y: Pair.apply(x, y)[1], [(3,), (2,)]),
    ],
)
def test_every_order_of_derivative(f, shapes):
    rng = np.random.default_rng(0)
    assert grad_check(f, [rng.uniform(0.5, 1.5, shape) for shape in shapes], order=3)


def test_the_node_is_named_after_the_class():
    y = Cube.apply(leaf(2.0))
    assert y.grad_fn.name == "Cube"
    assert repr(y.grad_fn) == "<FunctionNode Cube>"


def test_forward_gets_raw_arrays_and_other_objects_as_they_are():
    seen = []

    class Look(Function):
        def forward(self, *arrays, **params):
            seen.extend(arrays)
            seen.append(params)
            return arrays[0]

        def backward(self, g):
            return (g, *[None] * 4)

    x = leaf([1.0])
    Look.apply(x, np.ones(2), 3, None, (1, 2), k="v").backward()
    assert seen[0] is x.value
    assert isinstance(seen[1], np.ndarray)
    assert seen[2:] == [3, None, (1, 2), {"k": "v"}]
    assert x.grad == 1.0


def test_only_numbers_become_arrays():
    assert Cube.apply(2.0).value == 8.0
    assert isinstance(Cube.apply(2.0).value, np.ndarray)


def test_forward_records_nothing_and_may_use_the_library():
    class Inside(Function):
        def forward(self, x):
            assert not ag.is_grad_enabled()
            self.save(x)
            return ag.tanh(ag.Variable(x))

        def backward(self, g):
            t = ag.tanh(self.saved[0])
            return g * (1 - t * t)

    x = leaf([0.3, 0.4])
    y = Inside.apply(x)
    assert y.grad_fn.name == "Inside"
    assert ag.is_grad_enabled()
    assert grad_check(Inside.apply, x)


def test_needs_input_grad():
    a, b = leaf([2.0]), np.array([3.0])
    y = Product.apply(a, b)
    assert y.grad_fn.function.needs_input_grad == (True, False)
    assert y.grad_fn.function.saved == (None, b)
    y.backward()
    assert a.grad == 3.0


def test_gradients_asks_only_for_what_is_wanted():
    asked = []

    class Ask(Function):
        def forward(self, a, b):
            return a + b

        def backward(self, g):
            asked.append(self.needs_input_grad)
            return g, g

    a, b = leaf(1.0), leaf(2.0)
    ag.gradients(Ask.apply(a, b), b)
    Ask.apply(a, b).backward()
    assert asked == [(False, True), (True, True)]


def test_several_outputs_get_zeros_where_no_gradient_arrived():
    seen = []

    class Three(Function):
        def forward(self, x):
            return x, 2 * x, np.arange(3)

        def backward(self, g):
            seen.extend(g)
            return g[0] + 2 * g[1]

    x = leaf([1.0, 2.0])
    first, second, third = Three.apply(x)
    assert not third.requires_grad
    assert third.grad_fn is None
    second.backward(np.array([1.0, 10.0]))
    np.testing.assert_array_equal(seen[0], [0.0, 0.0])
    np.testing.assert_array_equal(x.grad, [2.0, 20.0])
    assert first.shape == (2,)


def test_a_tuple_of_one_output_stays_a_tuple():
    class One(Function):
        def forward(self, x):
            return (x * 2,)

        def backward(self, g):
            return g[0] * 2

    (y,) = One.apply(leaf(1.0))
    y.backward()
    assert y.grad_fn.next_functions[0].name == "One"


def test_an_integer_output_is_a_leaf():
    class Sign(Function):
        def forward(self, x):
            return (x > 0).astype(np.int64)

    y = Sign.apply(leaf([1.0, -1.0]))
    assert not y.requires_grad


def test_none_is_no_gradient():
    class Stop(Function):
        def forward(self, x, y):
            return x + y

        def backward(self, g):
            return g, None

    a, b = leaf(1.0), leaf(2.0)
    Stop.apply(a, b).backward()
    assert a.grad == 1.0
    assert b.grad is None


def test_an_input_may_be_returned_and_keeps_its_value():
    class Reverse(Function):
        def forward(self, x):
            return x

        def backward(self, g):
            return -g

    x = leaf([1.0, 2.0])
    y = Reverse.apply(x)
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [-1.0, -1.0])


def test_no_grad_and_plain_inputs_record_nothing():
    with ag.no_grad():
        assert Cube.apply(leaf(2.0)).grad_fn is None
    assert Cube.apply(np.array(2.0)).grad_fn is None
    with ag.no_grad():
        a, b = Pair.apply(leaf(2.0), leaf(1.0))
    assert a.grad_fn is None
    assert b.is_leaf


def test_dtypes():
    x = leaf([1.0, 2.0], np.float32)
    y = Cube.apply(x)
    assert y.dtype == np.float32
    y.backward(np.ones(2, np.float32))
    assert x.grad.dtype == np.float32


def test_complex():
    class Square(Function):
        def forward(self, x):
            self.save(x)
            return x * x

        def backward(self, g):
            return g * 2 * np.conj(self.saved[0]) if isinstance(g, np.ndarray) else None

    assert grad_check(Square.apply, np.array([1.0 + 2.0j, -0.5j]))
