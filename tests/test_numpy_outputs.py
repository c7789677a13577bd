"""`out=`, `where=` and `initial=`, `at` and `reduceat`, and functions that write in place."""

import numpy as np
import pytest

import autograd_gpu as ag

V = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
A = np.array([[1.5, -1.0, 0.5], [2.0, 0.25, -3.0]])
row = np.array([1.0, 2.0, 4.0])


def new(shape=(2, 3), dtype=None):
    """An array to write into, of the kind that the test runs on."""
    return np.full(shape, 7.0, dtype)


WITH_OUT = {
    "add": lambda x, out: np.add(x, A, out=out((2, 3))),
    "add broadcasts up": lambda x, out: np.add(x[0], 1.0, out=out((2, 3))),
    "exp by position": lambda x, out: np.exp(x, out((2, 3))),
    "multiply twice": lambda x, out: np.multiply(np.exp(x, out=out((2, 3))), x),
    "divide where": lambda x, out: np.divide(x, A, out=out((2, 3)), where=A > 0),
    "log where": lambda x, out: np.log(x - 2.0, out=out((2, 3)), where=V > 2.5),
    "divide where, of a row": lambda x, out: np.divide(x, row, out=out((2, 3)), where=row > 1),
    "modf": lambda x, out: np.modf(x / 7, out=(out((2, 3)), None))[0],
    "matmul": lambda x, out: np.matmul(x, x.T, out=out((2, 2))),
    "add.reduce": lambda x, out: np.add.reduce(x, axis=1, out=out((2,))),
    "add.accumulate": lambda x, out: np.add.accumulate(x, axis=1, out=out((2, 3))),
    "multiply.outer": lambda x, out: np.multiply.outer(x[0], row, out=out((3, 3))),
    "sum": lambda x, out: np.sum(x, axis=0, out=out((3,))),
    "sum by position": lambda x, out: np.sum(x, 0, None, out((3,))),
    "mean": lambda x, out: np.mean(x, axis=0, out=out((3,))),
    "cumsum": lambda x, out: np.cumsum(x, out=out((6,))),
    "clip": lambda x, out: np.clip(x, 1.5, 4.5, out=out((2, 3))),
    "concatenate": lambda x, out: np.concatenate([x, A], axis=1, out=out((2, 6))),
    "stack": lambda x, out: np.stack([x, A], out=out((2, 2, 3))),
    "take": lambda x, out: np.take(x, [0, 2], axis=1, out=out((2, 2))),
    "dot": lambda x, out: np.dot(x, A.T, out=out((2, 2))),
    "max": lambda x, out: np.max(x, axis=0, out=out((3,))),
}
PARTLY = {
    "sum where": lambda x: np.sum(x, where=A > 0),
    "sum initial": lambda x: np.sum(x, axis=1, initial=3.0),
    "sum where initial": lambda x: np.sum(x, axis=0, where=A > 0, initial=3.0, keepdims=True),
    "prod where": lambda x: np.prod(x, axis=1, where=A > 0),
    "max initial": lambda x: np.max(x, axis=1, initial=4.5),
    "max where": lambda x: np.max(x, axis=1, where=A > 0, initial=-np.inf),
    "amin where": lambda x: np.amin(x, where=A < 0, initial=9.0),
    "mean where": lambda x: np.mean(x, axis=1, where=A > 0),
    "var where": lambda x: np.var(x, where=A > 0, ddof=1),
    "std where": lambda x: np.std(x, axis=1, where=A > 0),
    "add.reduce where": lambda x: np.add.reduce(x, axis=1, where=A > 0),
    "add.reduce initial": lambda x: np.add.reduce(x, axis=None, initial=2.0),
    "maximum.reduce": lambda x: np.maximum.reduce(x, where=A > 0, initial=0.5),
    "logaddexp.reduceat": lambda x: np.logaddexp.reduceat(x, [0, 2, 1], axis=1),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 1], axis=0),
    "maximum.reduceat": lambda x: np.maximum.reduceat(x, np.array([1, 0, 2]), 1),
    "vecdot axis": lambda x: np.vecdot(x, A, axis=0),
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name):
    f = WITH_OUT[name]
    v = ag.Variable(V, requires_grad=True)
    targets = []

    def out(shape):
        targets.append(ag.Variable(new(shape)))
        return targets[-1]

    found, expected = f(v, out), f(V, new)
    np.testing.assert_allclose(found.numpy(), expected)
    assert found.requires_grad
    assert (found is targets[0]) == (name != "multiply twice")
    assert ag.grad_check(lambda x: f(x, lambda shape: ag.Variable(new(shape))), V)


@pytest.mark.parametrize("name", WITH_OUT)
def test_arrays_as_out(name):
    f = WITH_OUT[name]
    with pytest.raises(TypeError, match=r"^np\.\w+.*: an array can't hold a Variable's gradient"):
        f(ag.Variable(V, requires_grad=True), new)
    np.testing.assert_allclose(f(ag.Variable(V), new), f(V, new))
    with ag.no_grad():
        np.testing.assert_allclose(f(ag.Variable(V, requires_grad=True), new), f(V, new))


@pytest.mark.parametrize("name", PARTLY)
def test_some_elements(name):
    f = PARTLY[name]
    found = f(ag.Variable(V, requires_grad=True))
    np.testing.assert_allclose(found.numpy(), f(V))
    assert found.shape == np.shape(f(V))
    assert ag.grad_check(f, V)


def test_any_and_all():
    v = ag.Variable(V)
    assert (
        np.any(v > 4, axis=1, where=A > 0).tolist() == np.any(V > 4, axis=1, where=A > 0).tolist()
    )
    assert np.all(v > 1, where=A < 0).item() == np.all(V > 1, where=A < 0)


def test_the_standard_deviation_of_equal_elements_has_the_gradient_0():
    v = ag.Variable(np.array([2.0, 2.0, 5.0]), requires_grad=True)
    np.std(v, where=np.array([True, True, False])).backward()
    np.testing.assert_array_equal(v.grad, 0)


def test_what_is_not_computed_has_no_gradient_that_is_nan():
    x = ag.Variable(np.array([0.0, 4.0]), requires_grad=True)
    out = np.log(x, out=ag.Variable(np.zeros(2)), where=x.value > 0)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 0.25])


def test_elements_that_stay_keep_their_gradient():
    x, y = (ag.Variable(V[0], requires_grad=True) for _ in range(2))
    out = y * 2.0
    np.exp(x, out=out, where=np.array([True, False, True]))
    out.sum().backward()
    np.testing.assert_array_equal(y.grad, [0, 2, 0])
    np.testing.assert_allclose(x.grad, np.exp(V[0]) * [1, 0, 1])


def test_a_variable_that_takes_a_result_on_forgets_what_it_was():
    x, y = (ag.Variable(V, requires_grad=True) for _ in range(2))
    out = x * 2.0
    before = out.numpy()
    square = out * out
    assert np.add(y, 1.0, out=out) is out
    (out.sum() + square.sum()).backward()
    np.testing.assert_array_equal(y.grad, np.ones((2, 3)))
    np.testing.assert_array_equal(x.grad, 4 * before)


def test_a_leaf_that_requires_a_gradient_is_no_target():
    x, y = (ag.Variable(V.copy(), requires_grad=True) for _ in range(2))
    for write in (
        lambda: np.add(x, 1.0, out=y),
        lambda: np.sum(x, axis=0, keepdims=True, out=y),
        lambda: np.add(x, 1.0, out=y, where=A > 0),
        lambda: np.add.at(y, [0], 1.0),
    ):
        with pytest.raises(RuntimeError, match="leaf that requires a gradient"):
            write()
    np.testing.assert_array_equal(y.value, V)
    with ag.no_grad():
        np.add(x, 1.0, out=y)
    np.testing.assert_array_equal(y.value, V + 1)


def test_a_part_is_no_target():
    x = ag.Variable(V.copy())
    v = ag.Variable(V, requires_grad=True)
    for write in (
        lambda: np.add(v[0], 1.0, out=x[0]),
        lambda: np.sum(v, axis=1, out=x.T[0, :2]),
        lambda: np.copyto(x[0], v[0]),
        lambda: np.add.at(x[0], [0], v[0, 0]),
        lambda: np.fill_diagonal(x[:, :2], 0.0),
    ):
        with pytest.raises(TypeError, match=r"write x\[i\] = \.\.\. instead"):
            write()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda v: np.add(v, 1, out=ag.Variable(new((3, 3)))),
            ValueError,
            r"broadcast_shapes.*\(3, 3\)",
        ),
        (lambda v: np.sum(v, axis=0, out=ag.Variable(new((2,)))), ValueError, r"np\.sum with out="),
        (lambda v: np.add(v, 1j, out=ag.Variable(new())), TypeError, "of another kind"),
        (lambda v: np.add(v, 1, out=ag.Variable(new(), dtype="int64")), TypeError, "another kind"),
        (lambda v: np.add(v, v, where=A > 0), TypeError, "where= needs out="),
        (lambda v: np.matmul(v, v.T, where=A > 0), TypeError, "unexpected keyword argument"),
        (lambda v: np.max(v, where=A > 0), ValueError, "max: where= needs initial="),
        (lambda v: np.nansum(v, where=A > 0), TypeError, r"np\.nansum: where= is not supported"),
        (lambda v: np.maximum.at(v * 1, [0], 1.0), TypeError, r"np\.maximum\.at has no derivative"),
        (lambda v: np.matmul(v, v, axes=[0]), TypeError, r"np\.matmul: axes is not supported"),
        (lambda v: np.add(v, v, dtype=np.int64), TypeError, "float64, which is not cast to"),
        (lambda v: np.reshape(v, (3, 2), order="F"), TypeError, "order='F' is not supported"),
        (lambda v: np.einsum(v, [0, 1], [0]), TypeError, "einsum: subscripts are a string"),
        (lambda v: np.sum(v, 0, None, None, False, 0, True, 1), TypeError, "too many|takes"),
        (lambda v: np.add.reduce(v, blah=1), TypeError, "blah"),
    ],
)
def test_what_does_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call(ag.Variable(V, requires_grad=True))


def test_float32_stays():
    v = ag.Variable(V.astype(np.float32), requires_grad=True)
    out = ag.Variable(np.zeros((2, 3)))
    assert np.add(v, v, out=out).dtype == np.float64
    out = ag.Variable(np.zeros((2, 3), np.float32))
    assert np.add(v, np.ones(3), out=out).dtype == np.float32
    assert np.mean(v, where=A > 0).dtype == np.float32
    assert np.add(v, v, dtype=np.float64).dtype == np.float64


def test_at_adds_up_repeated_indices():
    v = ag.Variable(np.array([10.0, 20.0, 30.0]), requires_grad=True)
    for ufunc, sign in ((np.add, 1), (np.subtract, -1)):

        def f(x, ufunc=ufunc):
            total = x * 2.0
            ufunc.at(total, [0, 0, 2], x)
            return total

        expected = V[0] * 2
        ufunc.at(expected, [0, 0, 2], V[0])
        np.testing.assert_array_equal(f(ag.Variable(V[0])).value, expected)
        v.zero_grad()
        f(v).sum().backward()
        np.testing.assert_array_equal(v.grad, 2.0 + sign)
        assert ag.grad_check(f, V[0])


def test_at_of_arrays():
    array, v = np.zeros(3), ag.Variable(V[0], requires_grad=True)
    with pytest.raises(TypeError, match=r"np\.add\.at: an array can't hold"):
        np.add.at(array, [0, 1, 1], v)
    np.add.at(array, [0, 1, 1], v.detach())
    np.testing.assert_array_equal(array, [1, 5, 0])


def test_in_place_operators_of_arrays():
    array, v = np.ones(3), ag.Variable(V[0], requires_grad=True)
    with pytest.raises(TypeError, match=r"np\.add: an array can't hold"):
        array += v
    array += v.detach()
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(array, V[0] + 1)


def test_functions_that_write_in_place():
    v = ag.Variable(V, requires_grad=True)
    for write in (
        lambda x: np.copyto(x, V * 2),
        lambda x: np.putmask(x, A > 0, 7.0),
        lambda x: np.fill_diagonal(x, 3.0),
        lambda x: np.put(x, [0, 4], [7.0, 8.0]),
        lambda x: np.put(x, [[0, 1], [4, -1]], [7.0, 8.0, 9.0]),
        lambda x: np.place(x, A > 0, [7.0, 8.0]),
        lambda x: np.put_along_axis(x, np.array([[0], [2]]), 5.0, 1),
    ):
        y, expected = v * 1.0, V.copy()
        write(y)
        write(expected)
        np.testing.assert_array_equal(y.value, expected)
        assert y.requires_grad
    with pytest.raises(TypeError, match="can't hold"):
        np.copyto(V.copy(), v)


def test_put_and_place_hand_gradients_on():
    x = ag.Variable(V, requires_grad=True)
    y = np.zeros((2, 3)) + 0 * x
    np.put(y, [0, 4, 5], x[0, :2])
    (y * V).sum().backward()
    np.testing.assert_array_equal(x.grad, [[V[0, 0] + V[1, 2], V[1, 1], 0], [0, 0, 0]])
    assert ag.grad_check(_placed, V)


def _placed(v):
    y = v * v
    np.place(y, A > 0, v[0, :2])
    return y
