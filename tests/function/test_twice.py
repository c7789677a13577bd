"""Function: derivatives of derivatives, and what would be lost."""

import numpy as np
import pytest
from operands import leaf
from user_functions import Cube, Exp, PlainSquare

import autograd_gpu as ag
from autograd_gpu.function import Function
from autograd_gpu.grad_check import grad_check


def test_plain_members_are_fine_once():
    x = leaf([1.0, 2.0])
    assert grad_check(PlainSquare.apply, x)
    dx = ag.gradients(PlainSquare.apply(x), x, np.ones(2), create_graph=True)
    np.testing.assert_array_equal(dx.value, [2.0, 4.0])


def test_plain_members_refuse_a_second_derivative():
    x = leaf(3.0)
    dx = ag.gradients(PlainSquare.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"PlainSquare can't be differentiated twice.*self\.x"):
        ag.gradients(dx, x)
    dx = ag.gradients(PlainSquare.apply(x * x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.save"):
        dx.backward()


def test_plain_members_allow_the_derivative_by_the_cotangent():
    x, g = leaf([3.0, 4.0]), leaf([1.0, 1.0])
    dx = ag.gradients(PlainSquare.apply(x), x, g, create_graph=True)
    np.testing.assert_array_equal(ag.gradients(dx, g, np.ones(2)).value, [6.0, 8.0])


@pytest.mark.parametrize("hide", [lambda x: [x], lambda x: {"a": (x,)}, ag.Variable])
def test_arrays_are_found_in_containers(hide):
    class Hidden(Function):
        def forward(self, x):
            self.kept = hide(2 * x)
            return x * x

        def backward(self, g):
            kept = self.kept
            while not hasattr(kept, "dtype"):
                kept = kept["a"] if isinstance(kept, dict) else kept[0]
            return g * kept

    x = leaf(3.0)
    dx = ag.gradients(Hidden.apply(x), x, create_graph=True)
    assert dx.value == 6.0
    with pytest.raises(RuntimeError, match=r"self\.kept"):
        ag.gradients(dx, x)


def test_a_saved_intermediate_is_not_connected():
    class Between(Function):
        def forward(self, x):
            double = 2 * x
            self.save(double)
            return x * x

        def backward(self, g):
            return g * self.saved[0]

    x = leaf(3.0)
    dx = ag.gradients(Between.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.saved\[0\]"):
        ag.gradients(dx, x)


def test_masks_parameters_and_constants_may_be_members():
    class Masked(Function):
        def forward(self, x, w, *, table):
            self.save(x)
            self.mask = x > 0
            self.w = w
            self.table = table
            return np.where(self.mask, w * table * x**2, 0)

        def backward(self, g):
            (x,) = self.saved
            return 2 * g * x * (self.mask * self.w * self.table), None

    w, table = np.array([2.0, 3.0]), np.array([0.5, 0.25])
    assert grad_check(lambda x: Masked.apply(x, w, table=table), np.array([1.5, -2.0]), order=2)


def test_slots_are_members_too():
    class Slotted(Function):
        __slots__ = ("x",)

        def forward(self, x):
            self.x = x
            return x * x

        def backward(self, g):
            return 2 * g * self.x

    x = leaf(3.0)
    dx = ag.gradients(Slotted.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"self\.x"):
        ag.gradients(dx, x)


def test_a_plain_array_under_create_graph_is_not_connected():
    class Detached(Function):
        def forward(self, x):
            self.save(x)
            return x * x

        def backward(self, g):
            (x,) = self.saved
            raw = x.value if isinstance(x, ag.Variable) else x
            return 2 * raw * (g.value if isinstance(g, ag.Variable) else g)

    x = leaf(3.0)
    dx = ag.gradients(Detached.apply(x), x, create_graph=True)
    assert dx.value == 6.0
    with pytest.raises(RuntimeError, match="plain array for input 0"):
        ag.gradients(dx, x)


def test_two_inputs_that_share_an_array_are_told_apart():
    class Second(Function):
        def forward(self, a, b):
            self.save(b)
            return a * b

        def backward(self, g):
            (b,) = self.saved
            return g * b, None

    x = leaf(3.0)
    dx = ag.gradients(Second.apply(x, x.detach()), x, create_graph=True)
    assert not dx.requires_grad


def test_the_sum_of_a_function_and_an_op_differentiates_twice():
    x = leaf([0.5, -0.5])
    assert grad_check(lambda x: Exp.apply(Cube.apply(x)) * ag.tanh(x), x, order=2)
