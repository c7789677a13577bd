"""Assignments and in-place operators: value semantics, recording, NumPy's rules."""

import operator

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import Variable
from autograd_gpu.grad_check import grad_check
from autograd_gpu.ops import inplace

iadd = inplace(ag.add)
imul = inplace(ag.multiply)
imatmul = inplace(ag.matmul)


def leaf(*values, **keywords):
    return Variable(np.array(values, **keywords), requires_grad=True)


# Without recording --------------------------------------------------------------------------


def test_setitem_writes_into_the_variables_own_buffer():
    x = Variable([1.0, 2.0, 3.0])
    buffer = id(x.value)
    x[1:] = 5.0
    x[0] = Variable(7.0)
    assert id(x.value) == buffer
    assert x.tolist() == [7, 5, 5]
    assert x.is_leaf


def test_setitem_leaves_a_users_array_and_views_alone():
    raw = np.arange(3.0)
    x = Variable(raw)
    view = x[1:]
    x[:] = 9.0
    view[0] = 4.0
    assert raw.tolist() == [0, 1, 2]
    assert x.tolist() == [9, 9, 9]
    assert view.tolist() == [4, 2]


@pytest.mark.parametrize(
    "index", [0, slice(None, None, -1), [2, 0], np.array([True, False, True]), Variable(1), ...]
)
def test_setitem_is_numpys(index):
    raw = np.arange(3.0)
    x = Variable(raw.copy())
    x[index] = 8
    raw[index.value if isinstance(index, Variable) else index] = 8
    np.testing.assert_array_equal(x.value, raw)


def test_setitem_of_a_part_of_itself():
    x = Variable([1.0, 2.0, 3.0])
    x[1:] = x[:-1]
    assert x.tolist() == [1, 1, 2]
    x[:] = x
    assert x.tolist() == [1, 1, 2]


def test_setitem_takes_lists_and_casts():
    x = Variable(np.zeros(2, np.int64))
    x[:] = [1.7, 2.2]
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("index", "value", "error"),
    [(3, 0.0, IndexError), (slice(2), np.ones(3), ValueError), ([0, 5], 1.0, IndexError)],
)
def test_setitem_errors_leave_the_value(index, value, error):
    for x in (Variable([1.0, 2.0]), leaf(1.0, 2.0) * 1.0):
        node = x.grad_fn
        with pytest.raises(error, match="setitem"):
            x[index] = value
        assert x.tolist() == [1, 2]
        assert x.grad_fn is node


def test_leaf_under_no_grad():
    w = leaf(1.0, 2.0)
    with ag.no_grad():
        w[0] = 5.0
        iadd(w, 1.0)
    assert w.tolist() == [6, 3]
    assert w.is_leaf
    assert w.requires_grad


# Recorded -----------------------------------------------------------------------------------


def test_leaf_while_recording():
    w = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="no_grad"):
        w[0] = 5.0
    with pytest.raises(RuntimeError, match="no_grad"):
        iadd(w, 1.0)
    assert w.tolist() == [1, 2]


def test_setitem_is_recorded():
    def filled(x, v):
        y = x * 1.0
        y[1] = v * v
        y[[0, 0]] = x[1:3] * v
        return y * y

    rng = np.random.default_rng(0)
    assert grad_check(filled, [rng.uniform(-1, 1, 4), rng.uniform(-1, 1, ())], order=2)


def test_setitem_into_a_constant():
    out = Variable(np.zeros(3))
    v = leaf(2.0, 3.0)
    for i in range(2):
        out[i] = v[i] * v[i]
    assert out.requires_grad
    out.backward(np.ones(3))
    np.testing.assert_array_equal(v.grad, [4, 6])


def test_integers_have_no_room_for_a_gradient():
    x = Variable(np.zeros(2, np.int64))
    with pytest.raises(TypeError, match="int64 would lose the gradient of v"):
        x[0] = leaf(3.0)[0]
    with pytest.raises(TypeError, match="int64 would lose the gradient of v"):
        ag.set_at(x, 0, leaf(3.0)[0])
    x[0] = leaf(3.0)[0].detach()
    with ag.no_grad():
        x[1] = leaf(4.0)[0]
    assert x.is_leaf
    assert x.tolist() == [3, 4]
    assert ag.set_at(x, 0, 5.5).tolist() == [5, 4]


def test_repeated_writes_into_an_unshared_result_copy_nothing():
    y = leaf(1.0, 2.0, 3.0) * 1.0
    buffer = id(y.value)
    for i in range(3):
        y[i] = 0.0
    assert id(y.value) == buffer


USES = {
    "operand": (lambda y: y * y, lambda y: 2 * y),
    "output": (ag.tanh, lambda y: 1 - np.tanh(y) ** 2),
    "view": (lambda y: y[::-1] * y[::-1], lambda y: 2 * y),
}
CHANGES = {
    "setitem": lambda y: operator.setitem(y, slice(None), 100.0),
    "setitem recorded": lambda y: operator.setitem(y, 0, leaf(7.0)[0]),
    "iadd": lambda y: iadd(y, 100.0),
    "imul": lambda y: imul(y, y),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("context", [ag.enable_grad, ag.no_grad])
def test_a_backward_never_sees_a_later_value(use, change, context):
    use, derivative = USES[use]
    x = leaf(0.5, -0.25)
    y = x * 1.0
    z = use(y)
    with context():
        CHANGES[change](y)
    z.backward(np.ones(2))
    np.testing.assert_allclose(x.grad, derivative(np.array([0.5, -0.25])))


def test_a_saved_output_stays():
    x = leaf(0.5, -0.25)
    y = ag.tanh(x)
    kept = y * 1.0
    with ag.no_grad():
        y[:] = 0.0
    kept.backward(np.ones(2))
    np.testing.assert_allclose(x.grad, 1 - np.tanh([0.5, -0.25]) ** 2)


def test_operators_are_recorded():
    def changed(x, v):
        y = x * 1.0
        y = iadd(y, v)
        y = imul(y, y)
        return imul(y, x)

    rng = np.random.default_rng(0)
    assert grad_check(changed, [rng.uniform(-1, 1, (2, 3)), rng.uniform(-1, 1, 3)], order=2)


def test_operators_change_the_object_itself():
    x = Variable([1.0, 2.0])
    other = x
    assert iadd(x, 1.0) is x
    assert other.tolist() == [2, 3]
    v = leaf(1.0, 1.0)
    assert iadd(x, v) is x
    assert other.grad_fn is not None
    x.backward(np.ones(2, np.float32))
    np.testing.assert_array_equal(v.grad, [1, 1])


def test_operators_write_in_place_where_nothing_is_recorded():
    x = Variable([1.0, 2.0])
    buffer = id(x.value)
    iadd(x, Variable([1.0, 1.0]))
    imul(x, 2)
    assert id(x.value) == buffer
    assert x.tolist() == [4, 6]
    imatmul(x, np.eye(2, dtype=np.float32))
    assert x.tolist() == [4, 6]


@pytest.mark.parametrize("record", [False, True])
def test_operators_keep_shape_and_dtype(record):
    def fresh(dtype="float32"):
        x = Variable(np.ones((2, 1), dtype))
        return ag.multiply(Variable(x.value, requires_grad=True), 1) if record else x

    x = iadd(fresh(), np.ones((2, 1)))
    assert x.dtype == np.float32
    assert x.shape == (2, 1)
    with pytest.raises(ValueError, match="add in place"):
        iadd(fresh(), np.ones((2, 3)))
    with pytest.raises(TypeError, match="add in place"):
        iadd(fresh(), np.ones((2, 1), np.complex64))
    y = Variable(np.ones(2, np.int64))
    with pytest.raises(TypeError, match="add in place"):
        iadd(y, leaf(0.5, 0.5) if record else 0.5)


def test_recorded_dtype_of_the_other_operand():
    x = leaf(1.0, 2.0, dtype=np.float32) * 1.0
    v = leaf(1.0, 2.0)
    iadd(x, v)
    x.backward(np.ones(2, np.float32))
    assert v.grad.dtype == np.float64


def test_adding_into_a_part():
    x = Variable([1.0, 2.0, 3.0])
    v = leaf(1.0, 10.0, dtype=np.float32)
    x[1:] += 1.0
    assert x.tolist() == [1, 3, 4]
    x[1:] *= v
    assert x.tolist() == [1, 3, 40]
    (x * x).backward(np.ones(3, np.float32))
    np.testing.assert_array_equal(v.grad, [18, 320])


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_every_operator(name):
    operate = getattr(operator, name)
    raw = np.array([3.0, 5.0])
    x = Variable(raw.copy())
    x.writable()
    buffer = id(x.value)
    assert operate(x, 2.0) is x
    np.testing.assert_allclose(x.value, operate(raw, 2.0))
    assert id(x.value) == buffer


@pytest.mark.parametrize("name", ["iand", "ior", "ixor", "ilshift", "irshift"])
def test_every_operator_on_integers(name):
    operate = getattr(operator, name)
    raw = np.array([3, 5])
    x = Variable(raw.copy())
    assert operate(x, Variable(np.array([1, 2]))) is x
    np.testing.assert_array_equal(x.value, operate(raw, np.array([1, 2])))


@pytest.mark.parametrize("change", ["set", "multiply"])
def test_a_retained_gradient_is_that_of_the_last_value(change):
    x = leaf(1.0, 2.0)
    y = x * 1.0
    y.retain_grad()
    seen = []
    y.register_hook(seen.append)
    before = y * 1.0  # a second user of the old value
    if change == "set":
        y[0] = 7.0
        left = np.array([0.0, 1.0])
    else:
        y *= 3.0
        left = np.array([3.0, 3.0])
    (ag.sum(y * 5.0) + ag.sum(before)).backward()
    np.testing.assert_array_equal(y.grad, [5.0, 5.0])
    np.testing.assert_array_equal(seen, [5.0 * left + 1.0])
    np.testing.assert_array_equal(x.grad, 5.0 * left + 1.0)
