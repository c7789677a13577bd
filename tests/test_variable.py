"""Variable: construction, dtypes, value semantics, conversions and errors."""

import copy
import pickle

import numpy as np
import pytest

import autograd_gpu as ag


def test_an_array_is_kept_and_not_copied():
    a = np.ones(3)
    assert ag.Variable(a).value is a


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.0, np.float32),
        ([1.0, 2.0], np.float32),
        ([[1, 2], [3, 4]], np.int64),
        (True, np.bool_),
        (1 + 2j, np.complex64),
        ([1.0, 2j], np.complex64),
        ((), np.float32),
    ],
)
def test_numbers_and_lists_get_the_default_dtype(data, dtype):
    x = ag.Variable(data)
    assert type(x.value) is np.ndarray
    assert x.dtype == dtype
    np.testing.assert_array_equal(x.value, np.asarray(data))


def test_the_default_dtype_can_be_set():
    ag.set_default_dtype("float64")
    try:
        assert ag.Variable(1.0).dtype == np.float64
        assert ag.Variable(1j).dtype == np.complex128
    finally:
        ag.set_default_dtype("float32")
    with pytest.raises(TypeError, match="real floating-point"):
        ag.set_default_dtype("int32")


def test_an_explicit_dtype():
    assert ag.Variable([1, 2], dtype="float64").dtype == np.float64
    assert ag.Variable(np.ones(2), dtype=np.float32).dtype == np.float32


def test_numpy_scalars_become_arrays():
    x = ag.Variable(np.float64(2.0), requires_grad=True)
    assert type(x.value) is np.ndarray
    assert x.dtype == np.float64


@pytest.mark.parametrize("data", [np.arange(3), np.array(True), [1, 2]])
def test_integers_and_bools_cannot_require_a_gradient(data):
    with pytest.raises(TypeError, match=r"only floating-point and complex.*astype"):
        ag.Variable(data, requires_grad=True)


@pytest.mark.parametrize(
    "data",
    [
        *("text", None, {1: 2}, object(), ["a"]),
        *(np.array(x) for x in (["a"], [None], np.datetime64("2020-01-01"))),
        np.zeros(2, [("a", float)]),
    ],
)
def test_what_is_no_data(data):
    with pytest.raises(TypeError, match=r"expected (a NumPy|numbers)|Variable\(data\)"):
        ag.Variable(data)


def test_a_variable_of_a_variable_is_an_error():
    with pytest.raises(TypeError, match="detach"):
        ag.Variable(ag.Variable(1.0))


def test_attributes():
    x = ag.Variable(np.zeros((2, 3), np.float32), requires_grad=True, name="w")
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float32)
    assert (x.itemsize, x.nbytes) == (4, 24)
    assert x.device == "cpu"
    assert x.is_leaf
    assert x.grad is None
    assert x.grad_fn is None
    assert x.name == "w"
    assert len(x) == 2
    assert x.T.shape == (3, 2)
    assert x.mT.shape == (3, 2)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = x.nonsense


def test_repr_says_what_it_is():
    x = ag.Variable([1.0], requires_grad=True, name="w")
    assert repr(x) == "Variable(array([1.], dtype=float32), requires_grad=True, name='w')"
    assert "grad_fn=multiply" in repr(x * 2.0)
    assert "AccumulateGrad" in repr((x * 2.0).grad_fn.next_functions[0])
    assert f"{ag.Variable(2.0):.2f}" == "2.00"


def test_requires_grad_can_be_set_on_leaves_only():
    x = ag.Variable([1.0])
    x.requires_grad = True
    y = x * 2.0
    with pytest.raises(RuntimeError, match=r"leaves only.*multiply.*detach"):
        y.requires_grad = False
    x.requires_grad = False
    assert not (x * 2.0).requires_grad


def test_detach_shares_the_value_but_no_graph():
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    y = (x * 2.0).detach()
    assert y.is_leaf
    assert not y.requires_grad


def test_conversions():
    x = ag.Variable([[1.5]])
    assert x.item() == 1.5
    assert x.tolist() == [[1.5]]
    assert (float(x[0, 0]), int(x[0, 0]), complex(x[0, 0]), bool(x)) == (1.5, 1, 1.5, True)
    host = x.numpy()
    host[0, 0] = 9
    assert x.item() == 1.5
    assert [10, 20][ag.Variable(1)] == 20
    with pytest.raises(ValueError, match=r"item.*\(2,\)"):
        ag.Variable([1.0, 2.0]).item()
    with pytest.raises(TypeError, match="0-d integer"):
        _ = [1, 2][ag.Variable(1.0)]
    with pytest.raises(TypeError, match="0-d"):
        len(ag.Variable(1.0))


def test_copies_and_pickles_of_leaves():
    x = ag.Variable([1.0, 2.0], requires_grad=True, name="w")
    (x * x).sum().backward()
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        np.testing.assert_array_equal(other.value, x.value)
        np.testing.assert_array_equal(other.grad, x.grad)
        assert other.requires_grad
        assert other.name == "w"
        assert not np.shares_memory(other.value, x.value)
    y = x * 2.0
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(y)
    with pytest.raises(TypeError, match="detach"):
        pickle.dumps(y)


def test_a_second_name_shares_everything():
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    same = x
    (x * x).sum().backward()
    assert same.grad is x.grad


def test_variables_are_hashable_and_compare_elementwise():
    x, y = ag.Variable([1.0, 2.0]), ag.Variable([1.0, 3.0])
    np.testing.assert_array_equal((x == y).value, [True, False])
    assert len({x, y, x}) == 2


def test_iteration():
    rows = list(ag.Variable([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
    assert [r.tolist() for r in rows] == [[1.0, 2.0], [3.0, 4.0]]
    (rows[0] * rows[1]).sum().backward()
    with pytest.raises(TypeError, match="0-d"):
        iter(ag.Variable(1.0))


def test_writable_copies_only_if_something_else_holds_the_buffer():
    x = ag.Variable(np.ones(3))
    own = x.writable()
    address = own.ctypes.data
    del own
    assert x.writable().ctypes.data == address
    held = x.value
    assert x.writable() is not held
    view = x.value[1:]
    assert not np.shares_memory(x.writable(), view)


def test_writable_of_a_read_only_array():
    a = np.ones(3)
    a.flags.writeable = False
    x = ag.Variable(a)
    del a
    x.writable()[:] = 2.0
    np.testing.assert_array_equal(x.value, np.full(3, 2.0))


def test_python_asks_whether_an_element_is_in_it():
    v = ag.Variable(np.array([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    assert 3.0 in v
    assert 5.0 not in v
    assert v[0] in v


def test_round_and_divmod():
    v = ag.Variable(np.array([1.26, -2.5]), requires_grad=True)
    assert round(v).tolist() == [1, -2]
    assert round(v, 1).tolist() == [1.3, -2.5]
    for a, b in ((v, 2.0), (2.0, v), (v, v.detach())):
        quotient, rest = divmod(a, b)
        np.testing.assert_array_equal((quotient * b + rest).numpy(), (a + 0 * b).numpy())
    divmod(v, 2.0)[1].sum().backward()
    assert v.grad.tolist() == [1, 1]
    with pytest.raises(TypeError, match="divmod"):
        divmod(v, object())


def test_deviations_take_numpys_ddof():
    data = np.arange(6.0).reshape(2, 3) ** 2
    x = ag.Variable(data, requires_grad=True)
    for name in ("std", "var"):
        method, numpys = getattr(x, name), getattr(data, name)
        np.testing.assert_allclose(method(ddof=1).value, numpys(ddof=1))
        np.testing.assert_allclose(method(0, ddof=1).value, method(0, correction=1).value)
        kept = method(axis=1, ddof=1, keepdims=True)
        np.testing.assert_allclose(kept.value, numpys(axis=1, ddof=1, keepdims=True))
        assert kept.requires_grad


def test_an_array_of_variables_is_told_how_to_be_made():
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match="or stack for an array of Variables"):
        np.array([x[0], x[1] ** 2])
    assert ag.stack([x[0], x[1] ** 2]).tolist() == [1.0, 4.0]
