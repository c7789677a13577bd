"""Nodes, edges and make_result, the only place that records."""

import ast
from pathlib import Path

import numpy as np

import autograd_gpu as ag
from autograd_gpu.graph import AccumulateGrad, edges_of, gradient_edge, make_result, reconnected

SOURCE = Path(__file__).resolve().parents[1] / "autograd_gpu"


def leaf(value=1.0):
    return ag.Variable(np.asarray(value), requires_grad=True)


def test_a_result_without_a_node_is_a_plain_leaf():
    y = make_result(np.ones(2))
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad is None
    assert y.name is None


def test_edges_are_looked_up_only_where_something_is_to_be_recorded():
    x, constant = leaf(), ag.Variable(1.0)
    assert edges_of([x, constant, 2.0]) == (gradient_edge(x), None, None)
    assert edges_of([constant, 2.0]) is None
    with ag.no_grad():
        assert edges_of([x]) is None


def test_recording_happens_in_make_result_only():
    """`grad_fn` of a result is assigned in graph.py, and where a Variable takes a result over."""
    assigning = {
        path.name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr == "grad_fn"
    }
    assert assigning <= {"graph.py", "variable.py", "inplace.py"}


def test_a_node_knows_the_shape_and_dtype_of_its_value():
    y = leaf(np.ones((2, 3), np.float32)) * np.ones((4, 1, 1), np.float64)
    assert y.grad_fn.shape == (4, 2, 3)
    assert y.grad_fn.dtype == np.float64
    accumulate = y.grad_fn.next_functions[0]
    assert isinstance(accumulate, AccumulateGrad)
    assert accumulate.shape == (2, 3)
    assert accumulate.dtype == np.float32


def test_reconnected_arrays_lead_to_their_node():
    x = leaf(2.0)
    node = gradient_edge(x)
    again = reconnected(x.value, node)
    assert ag.gradients(again * again, x).item() == 4.0
    assert reconnected(x.value, None) is x.value


def test_python_control_flow_decides_the_shape_of_the_graph():
    x = leaf(3.0)
    y = x
    while y.item() < 100:
        y = y * x
    y.backward()
    assert y.item() == 243.0
    assert x.grad == 5 * 3.0**4
