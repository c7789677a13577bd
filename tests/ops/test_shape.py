"""Shapes, joining and casts: values, views, errors, gradients of first and second order."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import Variable
from autograd_gpu.grad_check import grad_check


def draw(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return (x + 1j * rng.uniform(-1, 1, shape) if dtype == "complex128" else x).astype(dtype)


# name: (ours, NumPy's, shape, whether the result is a view)
UNARY = {
    "reshape": (lambda x: ag.reshape(x, (6, 2)), lambda x: x.reshape(6, 2), (3, 4), True),
    "reshape -1": (lambda x: ag.reshape(x, -1), lambda x: x.reshape(-1), (3, 4), True),
    "reshape 0-d": (lambda x: ag.reshape(x, ()), lambda x: x.reshape(()), (1, 1), True),
    "permute": (
        lambda x: ag.permute_dims(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        (2, 3, 4),
        True,
    ),
    "permute negative": (
        lambda x: ag.permute_dims(x, (-1, 0, -2)),
        lambda x: x.transpose(-1, 0, -2),
        (2, 3, 4),
        True,
    ),
    "transpose": (ag.transpose, np.transpose, (2, 3, 4), True),
    "matrix_transpose": (ag.matrix_transpose, np.matrix_transpose, (2, 3, 4), True),
    "swapaxes": (lambda x: ag.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1), (2, 3, 4), True),
    "moveaxis": (
        lambda x: ag.moveaxis(x, (0, 1), (-1, 0)),
        lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
        (2, 3, 4),
        True,
    ),
    "expand_dims": (lambda x: ag.expand_dims(x, -2), lambda x: np.expand_dims(x, -2), (2, 3), True),
    "expand_dims axes": (
        lambda x: ag.expand_dims(x, (0, -1)),
        lambda x: np.expand_dims(x, (0, -1)),
        (2, 3),
        True,
    ),
    "squeeze": (lambda x: ag.squeeze(x, 1), lambda x: x.squeeze(1), (2, 1, 3, 1), True),
    "squeeze all": (ag.squeeze, np.squeeze, (2, 1, 3, 1), True),
    "squeeze axes": (
        lambda x: ag.squeeze(x, [1, -1]),
        lambda x: x.squeeze((1, -1)),
        (2, 1, 3, 1),
        True,
    ),
    "broadcast_to": (
        lambda x: ag.broadcast_to(x, (500, 3, 4)),
        lambda x: np.broadcast_to(x, (500, 3, 4)),
        (3, 1),
        True,
    ),
    "flip": (ag.flip, np.flip, (2, 3), True),
    "flip axis": (lambda x: ag.flip(x, -1), lambda x: np.flip(x, -1), (2, 3), True),
    "flip axes": (lambda x: ag.flip(x, [0, 2]), lambda x: np.flip(x, (0, 2)), (2, 3, 4), True),
    "roll": (lambda x: ag.roll(x, 4), lambda x: np.roll(x, 4), (2, 3), False),
    "roll axis": (lambda x: ag.roll(x, -1, 1), lambda x: np.roll(x, -1, 1), (2, 3), False),
    "roll axes": (
        lambda x: ag.roll(x, (1, 2), (0, 1)),
        lambda x: np.roll(x, (1, 2), (0, 1)),
        (2, 3),
        False,
    ),
    "tile": (lambda x: ag.tile(x, 2), lambda x: np.tile(x, 2), (2, 3), False),
    "tile more": (lambda x: ag.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), (2, 3), False),
    "tile less": (lambda x: ag.tile(x, (2,)), lambda x: np.tile(x, (2,)), (2, 3), False),
    "repeat": (lambda x: ag.repeat(x, 3), lambda x: x.repeat(3), (2, 3), False),
    "repeat axis": (lambda x: ag.repeat(x, 2, -2), lambda x: x.repeat(2, -2), (2, 3), False),
    "repeat counts": (
        lambda x: ag.repeat(x, [0, 2, 1], 1),
        lambda x: x.repeat([0, 2, 1], 1),
        (2, 3),
        False,
    ),
    "repeat flat counts": (
        lambda x: ag.repeat(x, np.array([1, 0, 2, 1])),
        lambda x: x.repeat([1, 0, 2, 1]),
        (2, 2),
        False,
    ),
    "ravel": (ag.ravel, np.ravel, (2, 3), True),
    "flatten": (lambda x: ag.flatten(x, 1), lambda x: x.reshape(2, 12), (2, 3, 4), True),
    "flatten 0-d": (ag.flatten, np.ravel, (), True),
    "atleast_1d": (ag.atleast_1d, np.atleast_1d, (), True),
    "atleast_2d": (ag.atleast_2d, np.atleast_2d, (3,), True),
    "atleast_3d": (ag.atleast_3d, np.atleast_3d, (3,), True),
    "atleast_3d matrix": (ag.atleast_3d, np.atleast_3d, (2, 3), True),
    "pad": (lambda x: ag.pad(x, 1), lambda x: np.pad(x, 1), (2, 3), False),
    "pad pair": (lambda x: ag.pad(x, (1, 2)), lambda x: np.pad(x, (1, 2)), (2, 3), False),
    "pad pairs": (
        lambda x: ag.pad(x, ((1, 0), (0, 2)), constant_values=7),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=7),
        (2, 3),
        False,
    ),
    "unstack": (
        lambda x: ag.unstack(x, -1)[1] * 2.0,
        lambda x: np.unstack(x, axis=-1)[1] * 2,
        (2, 3),
        False,
    ),
    "split": (
        lambda x: ag.split(x, 3, 1)[1] * 2.0,
        lambda x: np.split(x, 3, 1)[1] * 2,
        (2, 6),
        False,
    ),
    "split indices": (
        lambda x: ag.split(x, [1, 4], -1)[2] * 2.0,
        lambda x: np.split(x, [1, 4], -1)[2] * 2,
        (2, 6),
        False,
    ),
}
every = pytest.mark.parametrize("name", UNARY)
both = pytest.mark.parametrize("dtype", ["float64", "complex128"])


@every
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_values_are_numpys(name, dtype):
    ours, numpys, shape, _ = UNARY[name]
    x = (10 * draw(*shape)).astype(dtype)
    y = ours(Variable(x))
    expected = numpys(x)
    assert y.dtype == expected.dtype or dtype == "int64"
    np.testing.assert_array_equal(y.value, expected)
    assert type(y.value) is np.ndarray


@every
def test_views_where_numpy_gives_views(name):
    ours, _, shape, view = UNARY[name]
    x = draw(*shape)
    assert np.shares_memory(ours(Variable(x)).value, x) == view


@every
@both
def test_gradients(name, dtype):
    ours, _, shape, _ = UNARY[name]

    def squared(x):
        y = ours(x)
        return y * y

    assert grad_check(squared, [draw(*shape, dtype=dtype)], order=2)


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_empty_arrays(shape):
    for ours in (
        lambda x: ag.reshape(x, (0, 5)),
        ag.permute_dims,
        ag.flip,
        lambda x: ag.pad(x, 1),
        lambda x: ag.repeat(x, 2),
        lambda x: ag.tile(x, 2),
        lambda x: ag.concat([x, x]),
        lambda x: ag.stack([x, x]),
    ):
        x = Variable(np.zeros(shape), requires_grad=True)
        y = ours(x)
        y.backward(np.ones(y.shape))
        assert x.grad.shape == shape


JOINS = {
    "concat": (ag.concat, np.concat, ((2, 3), (1, 3), (0, 3))),
    "concat axis": (lambda xs: ag.concat(xs, -1), lambda xs: np.concat(xs, -1), ((2, 3), (2, 1))),
    "concat flat": (lambda xs: ag.concat(xs, None), lambda xs: np.concat(xs, None), ((2, 3), (2,))),
    "stack": (ag.stack, np.stack, ((2, 3), (2, 3))),
    "stack axis": (lambda xs: ag.stack(xs, -1), lambda xs: np.stack(xs, -1), ((2, 3), (2, 3))),
    "stack 0-d": (ag.stack, np.stack, ((), (), ())),
    "broadcast": (
        lambda xs: ag.concat(ag.broadcast_arrays(*xs)),
        lambda xs: np.concat(np.broadcast_arrays(*xs)),
        ((2, 1), (3,)),
    ),
    "all parts": (
        lambda xs: ag.concat(ag.unstack(xs[0])[::-1]),
        lambda xs: np.concat(np.unstack(xs[0])[::-1]),
        ((3, 2),),
    ),
}


@pytest.mark.parametrize("name", JOINS)
@both
def test_joins(name, dtype):
    ours, numpys, shapes = JOINS[name]
    xs = [draw(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    np.testing.assert_array_equal(ours([Variable(x) for x in xs]).value, numpys(xs))

    def squared(*xs):
        y = ours(xs)
        return y * y

    assert grad_check(squared, xs, order=2)


def test_join_of_mixed_dtypes_keeps_the_gradients_dtypes():
    a = Variable(np.ones(2, np.float32), requires_grad=True)
    b = Variable(np.ones(3), requires_grad=True)
    y = ag.concat([a, b, np.ones(1)])
    assert y.dtype == np.float64
    y.backward(np.arange(6.0))
    assert a.grad.dtype == np.float32
    np.testing.assert_array_equal(b.grad, [2, 3, 4])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: ag.reshape(x, (5,)), ValueError, r"reshape\(x: float64\[2, 3\]"),
        (lambda x: ag.permute_dims(x, (0,)), ValueError, "permute_dims"),
        (lambda x: ag.permute_dims(x, (0, 0)), ValueError, "permute_dims"),
        (lambda x: ag.permute_dims(x, (0, 5)), IndexError, "permute_dims"),
        (lambda x: ag.swapaxes(x, 0, 2), IndexError, "swapaxes"),
        (lambda x: ag.expand_dims(x, 4), IndexError, "expand_dims"),
        (lambda x: ag.squeeze(x, 0), ValueError, "squeeze"),
        (lambda x: ag.matrix_transpose(x[0]), ValueError, "matrix_transpose"),
        (lambda x: ag.broadcast_to(x, (2, 4)), ValueError, "broadcast_to"),
        (lambda x: ag.broadcast_arrays(x, np.ones(2)), ValueError, "broadcast"),
        (lambda x: ag.flip(x, 2), IndexError, "flip"),
        (lambda x: ag.repeat(x, [1, 2], 1), ValueError, "repeat"),
        (lambda x: ag.flatten(x, 1, 0), ValueError, "flatten"),
        (lambda x: ag.flatten(x, 2), IndexError, "flatten"),
        (lambda x: ag.concat([x, np.ones((2, 2))]), ValueError, r"concat\(arrays\[0\]: float64"),
        (lambda x: ag.concat([]), ValueError, "at least one"),
        (lambda x: ag.concat([x, x], 2), IndexError, "concat"),
        (lambda x: ag.stack([x, np.ones((2, 2))]), ValueError, "stack"),
        (lambda x: ag.stack([x, x], 3), IndexError, "stack"),
        (lambda x: ag.split(x, 4), ValueError, "split"),
        (lambda x: ag.split(x, [2, 1], 1), ValueError, "split"),
        (lambda x: ag.split(x, 2, 2), IndexError, "split"),
        (lambda x: ag.unstack(x, 2), IndexError, "unstack"),
        (lambda x: ag.pad(x, (1, 2, 3)), ValueError, "pad"),
        (lambda x: ag.pad(x, -1), ValueError, "pad"),
        (lambda x: ag.pad(x, 1, "empty"), ValueError, "pad: mode 'empty'"),
        (lambda x: ag.pad(x, 9, "reflect", reflect_type="odd"), ValueError, "odd reflection"),
        (lambda x: ag.pad(x[:0], 1, "edge"), ValueError, "axis 0 is empty"),
        (lambda x: ag.pad(x, 1, "mean", stat_length=0), ValueError, "stat_length"),
        (lambda x: ag.pad(x, 1, "reflect", reflect_type="no"), ValueError, "reflect_type"),
    ],
)
def test_errors_name_the_op(call, error, match):
    with pytest.raises(error, match=match):
        call(Variable(np.ones((2, 3))))


def test_astype():
    x = Variable(np.array([1.5, 2.5]), requires_grad=True)
    y = ag.astype(x, np.float32)
    y.backward(np.array([1, 2], np.float32))
    assert y.dtype == np.float32
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(x.grad, [1, 2])


def test_astype_to_complex_takes_the_real_part_back():
    x = Variable(np.array([1.5, 2.5]), requires_grad=True)
    ag.astype(x, "complex128").backward(np.array([1 + 2j, 3j]))
    np.testing.assert_array_equal(x.grad, [1, 0])


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_astype_to_integers_is_a_leaf(dtype):
    x = Variable([1.5, 0.0], requires_grad=True)
    y = ag.astype(x, dtype)
    assert y.is_leaf
    assert not y.requires_grad
    np.testing.assert_array_equal(y.value, x.value.astype(dtype))


def test_astype_shares_memory_only_if_asked_to():
    x = Variable([1.5, 0.0])
    assert ag.astype(x, "float32").value is x.value
    assert not np.shares_memory(ag.astype(x, "float32", copy=True).value, x.value)


def test_to_is_the_variable_itself_where_nothing_changes():
    x = Variable([1.5, 0.0], requires_grad=True)
    for target in ("numpy", "cpu", "float32", np.float32):
        assert x.to(target) is x
    assert x.cpu() is x
    assert x.to("float64").dtype == np.float64
    with pytest.raises(TypeError):
        x.to("nowhere")
