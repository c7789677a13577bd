"""`assign`: of several writes to one element the last wins, whatever order they happen in."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.backends.indexing import assign_last


class Reversed(np.ndarray):
    """Writes to the elements of an integer array in reverse."""

    def __setitem__(self, index, v):
        if isinstance(index, np.ndarray) and index.dtype.kind == "i":
            v = np.broadcast_to(v, (*index.shape, *self.shape[1:]))
            index, v = index.reshape(-1)[::-1], v.reshape(-1, *self.shape[1:])[::-1]
        super().__setitem__(index, v)


@pytest.mark.parametrize("index", [[2, 0, 0, -3, 2], [[1, 1], [0, 1]], []])
@pytest.mark.parametrize("value", ["full", "row", "number"])
def test_the_last_write_wins(index, value):
    index = np.array(index, dtype=np.int64)
    full = np.arange(1.0, index.size * 2 + 1).reshape(*index.shape, 2)
    v = {"full": full, "row": full.reshape(-1, 2)[:1].reshape(-1)[-2:], "number": 5.0}[value]
    if value == "row" and not index.size:
        v = np.ones(2)
    expected = np.zeros((3, 2))
    expected[index] = v
    x = np.zeros((3, 2)).view(Reversed)
    assign_last(np, x, index, v)
    np.testing.assert_array_equal(np.asarray(x), expected)


CASES = [
    (1, 2.0),
    (slice(None, None, -1), np.arange(3.0)[:, None]),
    (np.array([2, 0, 2]), np.arange(12.0).reshape(3, 4)),
    (np.array([2, 0, 2]), np.arange(12.0).reshape(1, 3, 4)),
    ((np.array([0, 0]), np.array([1, 1])), np.array([1.0, 2])),
    ((slice(None), np.array([3, 3])), np.array([1.0, 2])),
    (np.arange(12).reshape(3, 4) % 2 == 0, 7.0),
    (np.array([True, False, True]), np.arange(4.0)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("name", ag.available_backends())
def test_assign_is_numpys(case, name):
    index, v = CASES[case]
    expected = np.zeros((3, 4))
    expected[index] = v
    backend = load_backend(name)

    def moved(x):
        return backend.from_host(x) if isinstance(x, np.ndarray) else x

    x = backend.xp.zeros((3, 4), dtype="float64")
    index = tuple(map(moved, index)) if isinstance(index, tuple) else moved(index)
    backend.xp.assign(x, index, moved(v))
    np.testing.assert_array_equal(backend.to_host(x), expected)
    y = np.zeros((3, 4))
    assign_last(np, y, *CASES[case])
    np.testing.assert_array_equal(y, expected)
