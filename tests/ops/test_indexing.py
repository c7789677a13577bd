"""Indexing against NumPy, and its gradients."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import autograd_gpu as ag
from autograd_gpu import Variable
from autograd_gpu.backend import load_backend
from autograd_gpu.grad_check import grad_check

INDICES = {
    "integer": 1,
    "negative": -1,
    "NumPy integer": np.int64(1),
    "slice": slice(1, None),
    "negative step": slice(None, None, -2),
    "empty slice": slice(2, 2),
    "integers": (1, -2),
    "mixed basic": (slice(None), 2, slice(3, 0, -1)),
    "None": (None, 1, None),
    "Ellipsis": (..., 0),
    "Ellipsis between": (0, ..., slice(None, None, 2)),
    "everything": ...,
    "empty tuple": (),
    "array": np.array([2, 0, 0]),
    "list": [0, -1, 0],
    "empty list": [],
    "2-d array": np.array([[0, 1], [1, 1]]),
    "0-d array": np.array(1),
    "array behind": (slice(None), np.array([2, 0, 2])),
    "last axis": (..., [1, 1, 0]),
    "two arrays": ([0, 1, 0], [1, 2, 1]),
    "broadcast arrays": (np.array([[0], [1]]), np.array([1, 1, 2])),
    "arrays apart": ([0, 1, 0], slice(1, None), [1, 1, 1]),
    "arrays and integer": (0, slice(None), [1, 1]),
    "array and None": (None, [0, 0], None, slice(None, None, -1)),
    "mask": np.arange(24).reshape(2, 3, 4) % 5 < 2,
    "mask of leading axes": np.array([[True, False, True], [False, True, True]]),
    "mask behind": (slice(None), np.array([True, False, True])),
    "mask and array": (np.array([True, True]), [1, 2]),
    "list of bools": [True, False],
    "True": True,
}
SHAPES = {"slice": (3,), "negative step": (5, 2), "array": (3, 2), "list": (4,)}
every = pytest.mark.parametrize("name", INDICES)


def draw(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype == "complex128" else x).astype(dtype)


def picked(name):
    return draw(SHAPES.get(name, (2, 3, 4))), INDICES[name]


def expected_gradient(x, index, g):
    grad = np.zeros_like(x)
    index = np.array(index, int) if isinstance(index, list) and not index else index
    np.add.at(grad, index, g)
    return grad


@every
def test_getitem(name):
    raw, index = picked(name)
    x = Variable(raw, requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.value, raw[index])
    assert type(y.value) is np.ndarray
    g = draw(y.shape, seed=1)
    y.backward(g)
    np.testing.assert_allclose(x.grad, expected_gradient(raw, index, g))


@every
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_getitem_second_order(name, dtype):
    raw, index = picked(name)
    x = draw(raw.shape, dtype)
    if x[index].size:
        assert grad_check(lambda x: x[index] * x[index], [x], order=2)


def test_getitem_views_for_basic_indices():
    x = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(Variable(x)[1:, ::-1].value, x)


def test_variables_in_an_index():
    x = Variable(np.arange(6.0).reshape(2, 3), requires_grad=True)
    i = Variable(np.array([1, 1]))
    y = x[i, [Variable(0), 2]]
    np.testing.assert_array_equal(y.value, [3, 5])
    x[i].backward(np.ones((2, 3)))
    np.testing.assert_array_equal(x.grad, [[0, 0, 0], [2, 2, 2]])
    np.testing.assert_array_equal(x[Variable(np.array([False, True]))].value, [[3, 4, 5]])
    np.testing.assert_array_equal(x[Variable(1)].value, [3, 4, 5])
    np.testing.assert_array_equal(x[:, Variable(np.array(1)) :].value, [[1, 2], [4, 5]])


def test_an_index_that_changes_afterwards():
    x = Variable(np.arange(4.0), requires_grad=True)
    listed = [0, 0]
    counted = Variable(np.array([1, 1]))
    y = x[listed] + x[counted]
    listed[:] = [3, 3]
    counted += 1
    y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2, 2, 0, 0])
    assert counted.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (2, IndexError),
        ((0, 0, 0), IndexError),
        ([0, 2], IndexError),
        ((slice(None), np.array([-4])), IndexError),
        (np.array([True, False, True]), IndexError),
        (np.array([0.5]), IndexError),
        ("name", IndexError),
        (1.0, IndexError),
    ],
)
def test_wrong_indices(index, error):
    with pytest.raises(error, match=r"getitem\(x: float64\[2, 3\], index="):
        Variable(np.ones((2, 3)))[index]


@pytest.fixture(params=["numpy", "cupy"])
def xp(request):
    if request.param not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    return load_backend(request.param).xp


@pytest.mark.parametrize("index", [1.5, 1.0, np.float32(1), 1j, "1", (0, 1.5), np.array(1.5)])
def test_an_index_is_never_cut_off_to_an_integer(xp, index):
    x = Variable(xp.ones((2, 3)))
    with pytest.raises(IndexError, match=r"getitem\(x: float64\[2, 3\], index="):
        x[index]
    with pytest.raises(IndexError, match=r"setitem\(x: float64\[2, 3\]"):
        x[index] = 0.0
    assert x.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("index", [np.array(1), (slice(None), np.array(-1)), np.array(True)])
def test_a_0d_array_on_the_host_is_an_index_on_every_backend(xp, index):
    x = Variable(xp.asarray(np.arange(6.0).reshape(2, 3).tolist()), requires_grad=True)
    expected = np.arange(6.0, dtype=x.dtype).reshape(2, 3)
    y = x * 1
    y[index] = 9.0
    (y.sum() + x[index].sum()).backward()
    assert x[index].tolist() == expected[index].tolist()
    gradient = np.ones((2, 3))
    gradient[index] = 1.0  # of x[index] alone
    assert x.grad.tolist() == gradient.tolist()
    expected[index] = 9.0
    assert y.tolist() == expected.tolist()


@pytest.mark.parametrize("indices", [[0.0, 1.0], []])
def test_take_refuses_floats_on_every_backend(xp, indices):
    with pytest.raises(TypeError, match="take: indices are integers, not float64"):
        ag.take(Variable(xp.ones(3)), Variable(xp.asarray(indices, dtype="float64")))


@st.composite
def indexed(draw_):
    shape = draw_(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    arrays = hnp.integer_array_indices(shape)
    masks = hnp.arrays(np.bool_, shape)
    return shape, draw_(st.one_of(basic, arrays, masks, _mixed(shape)))


@st.composite
def _mixed(draw_, shape):
    """Integers, slices and 1-d arrays of one length, one for each axis."""
    length = draw_(st.integers(0, 3))
    index = []
    for n in shape:
        entry = draw_(
            st.one_of(
                st.integers(-n, n - 1),
                st.slices(n),
                hnp.arrays(np.int64, length, elements=st.integers(-n, n - 1)),
            )
        )
        index.append(entry)
    return tuple(index)


@settings(max_examples=150, deadline=None)
@given(indexed())
def test_getitem_is_numpys(case):
    shape, index = case
    raw = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    x = Variable(raw, requires_grad=True)
    y = x[index]
    np.testing.assert_array_equal(y.value, raw[index])
    g = np.arange(1.0, y.size + 1).reshape(y.shape)
    y.backward(g)
    np.testing.assert_array_equal(x.grad, expected_gradient(raw, index, g))


@settings(max_examples=150, deadline=None)
@given(indexed())
def test_set_at_is_numpys(case):
    shape, index = case
    raw = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    places = np.full(shape, -1)
    v = np.arange(1.0, raw[index].size + 1).reshape(raw[index].shape)
    expected = raw.copy()
    expected[index] = v
    places[index] = np.arange(v.size).reshape(v.shape)
    a, b = Variable(raw, requires_grad=True), Variable(v, requires_grad=True)
    y = ag.set_at(a, index, b)
    np.testing.assert_array_equal(y.value, expected)
    g = np.arange(1.0, y.size + 1).reshape(shape)
    y.backward(g)
    np.testing.assert_array_equal(a.grad, np.where(places < 0, g, 0))
    grad = np.zeros(v.size)  # the last write to each place gets its gradient
    grad[places[places >= 0]] = g[places >= 0]
    np.testing.assert_array_equal(b.grad, grad.reshape(v.shape))


@every
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_set_at_second_order(name, dtype):
    raw, index = picked(name)
    x, v = draw(raw.shape, dtype), draw(raw[index].shape, dtype, 1)

    def squared(x, v):
        y = ag.set_at(x, index, v)
        return y * y * y

    inputs = [x, v] if v.size else [x, Variable(v)]
    assert grad_check(squared, inputs if v.size else [x, v], order=2)


@pytest.mark.parametrize("shape", [(), (1,), (1, 4), (3, 4), (1, 1, 1, 4)])
def test_set_at_broadcasts_the_value(shape):
    x, v = draw((2, 3, 4)), draw(shape, seed=1)
    assert grad_check(lambda x, v: ag.set_at(x, 1, v) * 2.0, [x, v], order=2)


def test_set_at_keeps_the_dtype():
    x = Variable(np.zeros(3, np.float32), requires_grad=True)
    v = Variable(np.ones(2), requires_grad=True)
    y = ag.set_at(x, slice(2), v)
    assert y.dtype == np.float32
    y.backward(np.ones(3, np.float32))
    assert v.grad.dtype == np.float64
    assert ag.set_at(Variable(np.zeros(3, np.int64)), slice(2), v.detach()).is_leaf


@pytest.mark.parametrize("name", [name for name in INDICES if name != "True"])
def test_scatter_add(name):
    raw, index = picked(name)
    g = draw(raw[index].shape, seed=1)
    y = ag.scatter_add(Variable(g), index, raw.shape)
    np.testing.assert_allclose(y.value, expected_gradient(raw, index, g))
    if g.size:
        assert grad_check(lambda g: ag.scatter_add(g, index, raw.shape) * 2.0, [g], order=2)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [[2, 0, 0], [[1], [1]], 1, []])
def test_take(axis, indices):
    x = draw((3, 4, 3))
    expected = x.take(np.array(indices, dtype=np.int64), axis)
    np.testing.assert_array_equal(ag.take(Variable(x), indices, axis).value, expected)
    if expected.size:
        assert grad_check(
            lambda x: ag.take(x, indices, axis) * ag.take(x, indices, axis), [x], order=2
        )


def test_take_out_of_range():
    with pytest.raises(IndexError, match=r"take\(x: float64\[3\]"):
        ag.take(Variable(np.ones(3)), [3])


@pytest.mark.parametrize("shape", [(3, 2, 4), (1, 2, 4), (3, 5, 1)])
def test_along_axis(shape):
    x = draw((3, 4, 4))
    i = np.random.default_rng(0).integers(-4, 4, shape)
    expected = np.take_along_axis(x, i, 1)
    np.testing.assert_array_equal(ag.take_along_axis(Variable(x), i, 1).value, expected)
    assert grad_check(lambda x: ag.take_along_axis(x, Variable(i), 1) * 2.0, [x], order=2)
    if 1 not in shape:
        y = x.copy()
        np.put_along_axis(y, i, expected, 1)
        np.testing.assert_array_equal(ag.put_along_axis(Variable(x), i, expected, 1).value, y)


def test_along_axis_errors():
    x = Variable(np.ones((2, 3)))
    with pytest.raises(ValueError, match="as many axes"):
        ag.take_along_axis(x, [0])
    with pytest.raises(IndexError, match="axis 2"):
        ag.take_along_axis(x, [[0]], 2)
    with pytest.raises(IndexError):
        ag.take_along_axis(x, [[3]])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, -1])
def test_sort(axis, descending):
    x = np.random.default_rng(0).permutation(12).reshape(3, 4) * 1.0
    expected = np.sort(x, axis)
    expected = np.flip(expected, axis) if descending else expected
    for required in (False, True):
        y = ag.sort(Variable(x, requires_grad=required), axis, descending)
        np.testing.assert_array_equal(y.value, expected)
    order = ag.argsort(Variable(x), axis, descending).value
    np.testing.assert_array_equal(np.take_along_axis(x, order, axis), expected)
    weights = Variable(draw((3, 4)))
    assert grad_check(lambda x: ag.sort(x, axis, descending) * weights, [x], order=2)


def test_searches():
    x = Variable([3.0, 0.0, 3.0, 1.0], requires_grad=True)
    assert ag.nonzero(x)[0].tolist() == [0, 2, 3]
    assert ag.unique_values(x).tolist() == [0, 1, 3]
    values, counts = ag.unique_counts(x)
    assert counts.tolist() == [1, 1, 2]
    values.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 1]  # where each value comes first
    assert counts.is_leaf
    assert ag.unique_inverse(x)[1].tolist() == [2, 0, 2, 1]
    assert [y.tolist() for y in ag.unique_all(x)] == [[0, 1, 3], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]
    found = ag.searchsorted(Variable([1.0, 2.0, 2.0]), Variable([2.0]), "right")
    assert found.tolist() == [3]
    assert not found.requires_grad
