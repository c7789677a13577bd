"""scatter_add on every backend against np.add.at."""

import numpy as np
import pytest


def added(g, index, shape):
    out = np.zeros(shape, np.result_type(g.dtype, np.float64))
    np.add.at(out, index, g)
    return out


def on(backend, index):
    """`index` with its NumPy arrays moved to `backend`."""
    if type(index) is tuple:
        return tuple(on(backend, entry) for entry in index)
    return backend.from_host(index) if isinstance(index, np.ndarray) else index


def scattered(backend, g, index, shape):
    out = backend.xp.scatter_add(backend.from_host(g), on(backend, index), shape)
    assert type(out) is backend.array_type
    assert out.dtype == g.dtype
    assert out.flags.c_contiguous
    assert not backend.is_shared(out)
    return backend.to_host(out)


I = np.array  # noqa: E741
SCATTERS = [
    ((6,), I([1, 1, -1, 0])),
    ((6,), I(2)),
    ((6, 3), I([[1, 1], [5, -6]])),
    ((6, 3), [0, 0, 2]),
    ((6, 3), []),
    ((6, 3), (I([1, 1, 0]), I([2, 2, -1]))),
    ((6, 3), (slice(None), I([1, 1, 0]))),
    ((6, 3), (..., I([1, 1, 0]))),
    ((6, 3), (I([0, 0]), ...)),
    ((6, 3), (slice(1, 5, 2), I([1, 1, 0]))),
    ((6, 3), (slice(None, None, -1), I([[1], [1]]))),
    ((6, 3), (None, I([3, 3]), None, slice(1, None))),
    ((4, 3, 5), (I([1, 1]), slice(None), I([2, 2]))),
    ((4, 3, 5), (1, slice(None), I([2, 2]))),
    ((4, 3, 5), (I([1, 1]), None, I([2, 2]))),
    ((4, 3, 5), (I([1, 1]), I([[2], [2]]))),
    ((4, 3, 5), (slice(None), I([1, 1]), I([[2], [2]]))),
    ((4, 3, 5), (slice(1, 3), 2, I([4, 4, 0]))),
    ((4, 3, 5), (I([0, 0]), ..., I([1, 1]))),
    ((4, 3), (I([0, 0]), ..., I([1, 1]))),
    # the arrays' axes come first where something, even nothing, stands between them
    ((4, 3, 5), (slice(None), I([1, 1]), None, I([2, 2]))),
    ((4, 3, 5), (slice(None), I([1, 1]), ..., I([2, 2]))),
    ((4, 3, 5, 2), (slice(None), I([1, 1]), slice(2), I([0, 0]))),
    ((4, 3, 5), (None, I([1, 1]), slice(1, None), 2)),
    ((4, 3), (I([True, False, True, True]), I([1]))),
    ((4, 3), (I([True, False, False, False]), I([1, 1]))),
    ((4, 3), I([True, False, True, True])),
    ((4, 3), np.eye(4, 3) > 0),
    ((4, 3), (slice(None), I([True, False, True]))),
    ((4, 3), (I([True, False, True, True]), 1)),
    ((4, 3), 2),
    ((4, 3), np.int64(2)),
    ((4, 3), (slice(None), -1)),
    ((4, 3), (slice(None, None, -2), None)),
    ((4, 3), ...),
    ((4, 3), ()),
    ((), ()),
    ((), None),
    ((4, 0), I([1, 1])),
    ((0, 3), I([], dtype=int)),
]


@pytest.mark.parametrize(("shape", "index"), SCATTERS, ids=str)
def test_scatter_add_is_add_at(backend, shape, index):
    dtypes = ["f2", "f4", "f8", "c8", "c16", "i8"] if backend.name == "numpy" else ["f4"]
    for dtype in dtypes:
        rng = np.random.default_rng(0)
        g = rng.integers(-9, 9, np.zeros(shape)[index].shape).astype(dtype)
        out = scattered(backend, g, index, shape)
        np.testing.assert_array_equal(out, added(g, index, shape))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i8"])
@pytest.mark.parametrize(
    ("rows", "width", "n"),
    [(500, 64, 300), (60, 12, 300), (5, 64, 500), (7, 2, 90), (40, 1, 99), (9, 3, 2100)],
)
def test_scatter_add_of_rows(backend, rows, width, n, dtype):
    rng = np.random.default_rng(0)
    # few and many repetitions at once: one row takes a third of all
    index = np.where(rng.random(n) < 0.3, 3, rng.integers(-rows, rows, n))
    g = rng.integers(-2, 3, (n, width)).astype(dtype)
    out = scattered(backend, g, index, (rows, width))
    np.testing.assert_array_equal(out, added(g, index, (rows, width)))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 1024, 1025, 40_000])
@pytest.mark.parametrize("rows", [1, 2, 37])
def test_scatter_add_of_sorted_runs(backend, rows, n):
    # runs that begin and end at, before and after the borders of blocks
    index = np.arange(n) * rows // n
    g = np.random.default_rng(0).integers(-9, 9, n).astype("f8")
    np.testing.assert_array_equal(scattered(backend, g, index, (rows,)), added(g, index, (rows,)))


@pytest.mark.parametrize("width", [1, 64])
def test_scatter_add_sums_float16_in_float32(backend, width):
    # in float16 a sum of ones sticks at 2048
    out = scattered(backend, np.ones((3000, width), "f2"), np.zeros(3000, int), (2, width))
    assert (out[0] == 3000).all()
    assert (out[1] == 0).all()


def test_scatter_add_takes_non_contiguous_gradients(backend):
    index = I([0, 2, 2, 1, 0, 0])
    host = np.arange(24.0).reshape(4, 6)
    g = backend.from_host(host).T
    out = backend.xp.scatter_add(g, on(backend, index), (3, 4))
    np.testing.assert_array_equal(backend.to_host(out), added(host.T, index, (3, 4)))
    ones = backend.xp.broadcast_to(backend.asarray(1.0), (6, 4))
    out = backend.xp.scatter_add(ones, on(backend, index), (3, 4))
    np.testing.assert_array_equal(backend.to_host(out), added(np.ones((6, 4)), index, (3, 4)))


def test_scatter_add_is_reproducible(backend):
    rng = np.random.default_rng(0)
    g = rng.standard_normal((3000, 3)).astype("f4")
    index = rng.integers(0, 7, 3000)
    first = scattered(backend, g, index, (7, 3))
    for _ in range(3):
        np.testing.assert_array_equal(scattered(backend, g, index, (7, 3)), first)
    np.testing.assert_allclose(first, added(g, index, (7, 3)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8"])
@pytest.mark.parametrize("width", [1, 5])
def test_scatter_add_by_atomics(cupy_backend, counting, monkeypatch, dtype, width):
    from autograd_gpu.backends import cupy_settings

    rng = np.random.default_rng(0)
    index = rng.integers(-7, 7, (20, 30))
    g = rng.integers(-9, 9, (20, 30, width)).astype(dtype)
    monkeypatch.setattr(cupy_settings, "deterministic", False)
    there = cupy_backend.from_host(np.moveaxis(g, -1, 0).copy()).transpose(1, 2, 0)
    at = cupy_backend.from_host(index)
    with counting() as c:
        out = cupy_backend.xp.scatter_add(there, at, (7, width))
    np.testing.assert_array_equal(cupy_backend.to_host(out), added(g, index, (7, width)))
    is_atomic = "autograd_gpu_add_rows" in c.kernels
    assert is_atomic == (dtype in ("f4", "f8")), str(c)
    assert ("thrust.argsort" in c.replaced) == (not is_atomic)
    cupy_settings.set_deterministic(True)
    with counting() as c:
        again = cupy_backend.xp.scatter_add(there, at, (7, width))
    assert "autograd_gpu_add_rows" not in c.kernels
    np.testing.assert_array_equal(cupy_backend.to_host(again), cupy_backend.to_host(out))


def test_scatter_add_refuses_too_many_indices(backend):
    with pytest.raises(IndexError, match="too many"):
        scattered(backend, np.ones(2), (I([0, 0]), I([0, 0])), (3,))


def test_scatter_add_of_bfloat16(backend):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    index = I([0, 2, 2, 1, 0, 0] * 100)
    for width in (1, 5):
        g = np.ones((600, width), bfloat16)
        out = scattered(backend, g, index, (3, width))
        # summed in bfloat16 they would stick at 256
        np.testing.assert_array_equal(out.astype("f4"), added(g.astype("f4"), index, (3, width)))
