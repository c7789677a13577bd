"""Function: what is freed, and when."""

import weakref

import numpy as np
import pytest
from operands import leaf
from user_functions import Cube, Exp, Pair, PlainSquare

import autograd_gpu as ag


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("op", [Cube, Exp, PlainSquare])
def test_release_frees_the_function_and_what_it_saved(op):
    x = leaf([1.0, 2.0, 3.0])
    y = op.apply(x)
    function = weakref.ref(y.grad_fn.function)
    y.backward(np.ones(3))
    assert function() is None
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward(np.ones(3))


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("op", [Cube, Exp, PlainSquare])
def test_dropping_the_result_frees_the_graph(op):
    y = op.apply(leaf([1.0]))
    node, function = weakref.ref(y.grad_fn), weakref.ref(y.grad_fn.function)
    del y
    assert node() is None
    assert function() is None


@pytest.mark.usefixtures("collector_off")
def test_create_graph_makes_no_cycle():
    x = leaf([1.0])
    y = Exp.apply(x)
    function = weakref.ref(y.grad_fn.function)
    dx = ag.gradients(y, x, create_graph=True)
    ddx = ag.gradients(dx, x)
    assert ddx.value == y.value
    del y, dx, ddx
    assert function() is None


@pytest.mark.usefixtures("collector_off")
def test_several_outputs_are_freed_too():
    a, b = Pair.apply(leaf([1.0]), leaf([1.0]))
    function = weakref.ref(a.grad_fn.next_functions[0].function)
    del a
    assert function() is not None
    del b
    assert function() is None


def test_retain_graph_runs_twice():
    x = leaf(2.0)
    y = PlainSquare.apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 8.0
