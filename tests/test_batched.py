"""Batched arrays: one more axis than they tell of."""

import numpy as np
import pytest

from autograd_gpu.backend import NAMESPACES, load_backend
from autograd_gpu.batched import Batched
from autograd_gpu.batching import batched

rng = np.random.default_rng(0)
DATA = rng.standard_normal((4, 2, 3))
ROW = rng.standard_normal(3)
plain = load_backend("numpy").xp
xp = NAMESPACES[type(batched(DATA))]


def check(f, *others):
    """`f` of a batch is the batch of `f`, with the plain arrays the same for all."""
    found = f(xp, batched(DATA), *others)
    expected = np.stack([f(plain, x, *others) for x in DATA])
    assert isinstance(found, Batched)
    assert found.shape == expected.shape[1:]
    np.testing.assert_allclose(found.data, expected)


FUNCTIONS = {
    "operators": lambda xp, x, b: (2 - x) * b / (x * x + 1) - -x,
    "comparison": lambda xp, x, b: xp.where(x > b, x, 0),
    "more axes beside": lambda xp, x, b: x * b.reshape((3, 1, 1)),
    "fewer axes": lambda xp, x, b: x[0] * np.ones((2, 2, 3)) + b,
    "methods": lambda xp, x, b: x.T.reshape((-1,)).astype("float32").swapaxes(0, -1),
    "several axes": lambda xp, x, b: x.reshape((1, 3, 2)).transpose((2, 0, 1)),
    "sum": lambda xp, x, b: xp.sum(x, axis=-1, keepdims=True) + xp.sum(x),
    "mean of axes": lambda xp, x, b: xp.mean(x, axis=(0, 1)),
    "concat": lambda xp, x, b: xp.concat([x, b[None], x], axis=0),
    "concat flat": lambda xp, x, b: xp.concat([x, b], axis=None),
    "stack": lambda xp, x, b: xp.stack([x[0], b, x[1]], axis=-1),
    "matrix product": lambda xp, x, b: xp.matmul(x, b),
    "product with itself": lambda xp, x, b: xp.matmul(x.T, x),
    "row times matrix": lambda xp, x, b: xp.matmul(x[0], np.ones((3, 2))),
    "matrix times row": lambda xp, x, b: xp.matmul(np.ones((2, 3)), x[1]),
    "rows": lambda xp, x, b: xp.matmul(x[0], x[1]) + b,
    "batch of matrices times row": lambda xp, x, b: xp.matmul(np.ones((5, 2, 3)), x[1]),
    "row times batch of matrices": lambda xp, x, b: xp.matmul(x[1], np.ones((5, 3, 2))),
    "an index": lambda xp, x, b: x[1, ::-1],
    "arrays as index": lambda xp, x, b: x[..., np.array([0, 0, 2])],
    "arrays apart": lambda xp, x, b: x[:, :, None][np.array([0, 1]), :, np.array([0, 0])],
    "scatter": lambda xp, x, b: xp.scatter_add(x, (slice(None), np.array([1, 1, 0])), (2, 4)),
    "scatter apart": lambda xp, x, b: xp.scatter_add(
        x, (np.array([0, 0]), slice(None), np.array([1, 1])), (2, 3, 2)
    ),
    "take": lambda xp, x, b: xp.take(x, np.array([[1, 0]]), axis=-1),
    "flip, roll": lambda xp, x, b: xp.flip(xp.roll(x, 1, axis=0), axis=None),
    "roll flat": lambda xp, x, b: xp.roll(x, 2),
    "repeat, tile": lambda xp, x, b: xp.tile(x.repeat(2, 1), (2, 1, 2)),
    "repeat flat": lambda xp, x, b: x.repeat(2, None),
    "axes": lambda xp, x, b: xp.squeeze(xp.moveaxis(xp.expand_dims(x, axis=-1), -1, 0), axis=0),
    "all axes of size 1": lambda xp, x, b: xp.squeeze(x[:1]),
    "broadcast": lambda xp, x, b: xp.broadcast_to(x[0], (2, 3, 3)),
    "solve": lambda xp, x, b: xp.linalg.solve(np.eye(2) * 2, x),
    "solve for a vector": lambda xp, x, b: xp.linalg.solve(np.eye(3) * 2, x[0]),
    "no rule": lambda xp, x, b: xp.linalg.pinv(x),
    "no rule, several results": lambda xp, x, b: xp.linalg.qr(x)[1],
    "special": lambda xp, x, b: xp.special.erf(x),
    "fft": lambda xp, x, b: xp.fft.fftn(x, s=(3,), axes=(-1,)).real,
    "pad": lambda xp, x, b: xp.pad(x, ((1, 0), (0, 2))),
    "cumulative": lambda xp, x, b: xp.cumulative_sum(x, axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(FUNCTIONS[name], ROW)


def test_plain_arrays_on_the_left_leave_operators_to_the_batch():
    for f in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b):
        np.testing.assert_array_equal(f(ROW, batched(DATA)).data, f(ROW, DATA))


def test_updates_in_place_change_this_array_only():
    data = DATA.copy()
    x = batched(data)
    x += ROW
    x *= 2
    np.testing.assert_array_equal(x.data, (DATA + ROW) * 2)
    np.testing.assert_array_equal(data, DATA)
    x = batched(data.copy())
    x[1, 0] = 5.0
    assert (x.data[:, 1, 0] == 5.0).all()


def test_without_a_batch_it_is_the_plain_namespace():
    assert type(xp.sum(ROW)) is type(plain.sum(ROW))
    assert type(xp.zeros(2)) is np.ndarray
    with pytest.raises(AttributeError, match="no function frobnicate"):
        xp.frobnicate(batched(DATA))
    with pytest.raises(TypeError):
        batched(DATA) + "1"
