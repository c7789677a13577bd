"""Products: values against NumPy, gradients, errors."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import Variable
from autograd_gpu.grad_check import grad_check

SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((3,), (2, 3, 4)),
    ((3,), (5, 2, 3, 4)),
    ((2, 4, 3), (3,)),
    ((5, 2, 4, 3), (3,)),
    ((2, 4, 3), (3, 2)),
    ((2, 2, 4, 3), (3, 2)),
    ((4, 3), (2, 3, 2)),
    ((4, 3), (2, 2, 3, 2)),
    ((2, 4, 3), (2, 3, 2)),
    ((2, 1, 4, 3), (3, 3, 2)),
    ((1, 4, 3), (2, 3, 2)),
    ((2, 4, 3), (1, 3, 2)),
    ((1, 1), (1, 1)),
]
both = pytest.mark.parametrize("dtype", ["float64", "complex128"])


def draw(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype == "complex128" else x).astype(dtype)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@both
def test_matmul(a, b, dtype):
    a, b = draw(a, dtype), draw(b, dtype, 1)
    np.testing.assert_allclose(ag.matmul(Variable(a), b).value, a @ b)
    assert grad_check(ag.matmul, [a, b], order=2)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul_of_a_real_and_a_complex_operand(a, b):
    assert grad_check(ag.matmul, [draw(a), draw(b, "complex128")], order=2)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul_operands_that_are_views(a, b):
    a, b = draw(a).T, draw(b).T
    if a.ndim == b.ndim == 2:
        assert grad_check(lambda a, b: ag.matmul(ag.transpose(a), ag.transpose(b)), [a, b])


@pytest.mark.parametrize(
    ("a", "b"),
    [((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 0, 3), (3, 4)), ((0, 2, 3), (3,)), ((0,), (0,))],
)
def test_matmul_of_nothing(a, b):
    a = Variable(np.ones(a), requires_grad=True)
    b = Variable(np.ones(b), requires_grad=True)
    y = ag.matmul(a, b)
    y.backward(np.ones(y.shape))
    assert not a.grad.any()
    assert not b.grad.any()


def test_matmul_keeps_float32():
    a = Variable(np.ones((2, 3), np.float32), requires_grad=True)
    b = Variable(np.ones((3, 2)), requires_grad=True)
    y = ag.matmul(a, b)
    assert y.dtype == np.float64
    y.backward(np.ones((2, 2)))
    assert a.grad.dtype == np.float32
    assert b.grad.dtype == np.float64


def test_errors_name_op_and_shapes():
    a = Variable(np.ones((2, 3), np.float32))
    b = Variable(np.ones((4, 5), np.float32))
    with pytest.raises(ValueError, match=r"matmul\(a: float32\[2, 3\], b: float32\[4, 5\]\): "):
        ag.matmul(a, b)
    with pytest.raises(ValueError, match=r"matmul\(a: float32\[2, 3\], b: 2.0"):
        ag.matmul(a, 2.0)
    with pytest.raises(ValueError, match="vecdot"):
        ag.vecdot(a, b)
    with pytest.raises(ValueError, match="tensordot"):
        ag.tensordot(a, b)
    with pytest.raises(ValueError, match="tensordot"):
        ag.tensordot(a, b, 3)
    with pytest.raises(IndexError, match="tensordot"):
        ag.tensordot(a, b, ((2,), (0,)))


OTHERS = {
    "vecdot": (ag.vecdot, np.vecdot, (2, 3), (2, 3)),
    "vecdot broadcast": (ag.vecdot, np.vecdot, (4, 1, 3), (2, 3)),
    "vecdot axis": (
        lambda a, b: ag.vecdot(a, b, axis=0),
        lambda a, b: np.vecdot(a, b, axis=0),
        (3, 2),
        (3, 2),
    ),
    "tensordot": (ag.tensordot, np.tensordot, (2, 3, 4), (3, 4, 5)),
    "tensordot 1": (
        lambda a, b: ag.tensordot(a, b, 1),
        lambda a, b: np.tensordot(a, b, 1),
        (2, 3),
        (3, 4),
    ),
    "tensordot 0": (
        lambda a, b: ag.tensordot(a, b, 0),
        lambda a, b: np.tensordot(a, b, 0),
        (2, 3),
        (2,),
    ),
    "tensordot axes": (
        lambda a, b: ag.tensordot(a, b, ((0, -1), (2, 0))),
        lambda a, b: np.tensordot(a, b, ((0, -1), (2, 0))),
        (2, 3, 4),
        (4, 5, 2),
    ),
    "tensordot number": (
        lambda a, b: ag.tensordot(a, b, (1, 0)),
        lambda a, b: np.tensordot(a, b, (1, 0)),
        (2, 3),
        (3, 4),
    ),
    "outer": (ag.outer, np.outer, (2, 2), (3,)),
    "dot": (ag.dot, np.dot, (2, 3), (3, 4)),
    "dot of vectors": (ag.dot, np.dot, (3,), (3,)),
    "dot of a number": (ag.dot, np.dot, (), (3,)),
    "dot of many axes": (ag.dot, np.dot, (2, 3), (4, 3, 5)),
    "dot of a vector": (ag.dot, np.dot, (3,), (4, 3, 5)),
    "inner": (ag.inner, np.inner, (2, 3), (4, 3)),
    "inner of a number": (ag.inner, np.inner, (2, 3), ()),
    "kron": (ag.kron, np.kron, (2, 3), (2, 2)),
    "kron of more axes": (ag.kron, np.kron, (2,), (3, 2, 2)),
}


@pytest.mark.parametrize("name", OTHERS)
@both
def test_other_products(name, dtype):
    ours, numpys, a, b = OTHERS[name]
    a, b = draw(a, dtype), draw(b, dtype, 1)
    np.testing.assert_allclose(ours(Variable(a), Variable(b)).value, numpys(a, b))
    assert grad_check(ours, [a, b], order=2)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((0, 3), (2, 3, 1)),
        ((3, 0), (2, 0, 4)),
        ((2, 3), (0, 3, 4)),
        ((2, 0, 3), (3, 0)),
        ((0,), (2, 0, 3)),
    ],
)
def test_nothing_to_multiply(a, b):
    a, b = (ag.Variable(np.ones(s), requires_grad=True) for s in (a, b))
    y = a @ b
    np.testing.assert_array_equal(y.value, a.value @ b.value)
    for create_graph in (False, True):
        grads = ag.gradients(ag.sum(y), [a, b], create_graph=create_graph, retain_graph=True)
        assert [g.shape for g in grads] == [a.shape, b.shape]
        assert not any(g.value.any() for g in grads)


def test_a_linear_layer_without_inputs():
    x, w = (ag.Variable(np.ones(s), requires_grad=True) for s in ((2, 3, 0), (4, 0)))
    ag.sum(ag.nn.functional.linear(x, w)).backward()
    assert (x.grad.shape, w.grad.shape) == (x.shape, w.shape)
