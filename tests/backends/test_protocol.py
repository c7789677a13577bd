"""What both backends promise besides scatter_add, matmul and the optimiser steps."""

import math

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("shape", "size", "stride", "dilation"),
    [
        ((2, 3, 7, 9), (3, 2), (2, 1), (1, 3)),
        ((5,), (5,), (1,), (1,)),
        ((2, 6), (2,), (3,), (2,)),
        ((4, 5, 6), (2, 2, 2), (1, 2, 3), (2, 1, 1)),
    ],
)
def test_windows(backend, shape, size, stride, dilation):
    x = np.random.default_rng(0).random(shape)
    moved = backend.from_host(x)[..., ::-1]
    x = x[..., ::-1]
    out = backend.xp.windows(moved, size, stride, dilation)
    d = len(size)
    lead = len(shape) - d
    full = tuple(step * (k - 1) + 1 for k, step in zip(size, dilation, strict=True))
    want = np.lib.stride_tricks.sliding_window_view(x, full, tuple(range(lead, len(shape))))
    steps = tuple(slice(None, None, s) for s in stride)
    inner = tuple(slice(None, None, s) for s in dilation)
    want = want[(slice(None),) * lead + steps + inner]
    np.testing.assert_array_equal(backend.to_host(out), want)
    moved[...] = 0  # it is a view
    assert not backend.to_host(out).any()
    assert backend.is_shared(out)


@pytest.mark.parametrize(
    ("size", "stride", "dilation"),
    [((4,), (1,), (1,)), ((2,), (0,), (1,)), ((2,), (1, 1), (1,)), ((2,), (1,), (3,))],
)
def test_windows_refuses(backend, size, stride, dilation):
    with pytest.raises(ValueError, match="windows"):
        backend.xp.windows(backend.asarray([1.0, 1.0, 1.0]), size, stride, dilation)


@pytest.mark.parametrize("x", [2, 2.5, True])
def test_conj_of_a_real_number_is_itself(backend, x):
    assert backend.xp.conj(x) == x


def test_conj(backend):
    for dtype in ("f4", "?", "i4"):
        x = backend.asarray([1, 0], dtype)
        assert backend.xp.conj(x) is x
    x = backend.asarray([1 + 2j])
    np.testing.assert_array_equal(backend.to_host(backend.xp.conj(x)), [1 - 2j])
    assert backend.xp.conj(1 + 2j) == 1 - 2j


@pytest.mark.parametrize("bounds", [(0.25, 0.5), (None, 0.5), (0.25, None), (np.full(9, 0.3), 0.5)])
def test_clip(backend, bounds):
    x = np.linspace(0, 1, 9, dtype="f4")
    low, high = (-np.inf if bounds[0] is None else bounds[0]), bounds[1] or np.inf
    moved = backend.from_host(x)
    bounds = [backend.from_host(b) if isinstance(b, np.ndarray) else b for b in bounds]
    want = np.minimum(np.maximum(x, low), high)
    np.testing.assert_array_equal(backend.to_host(backend.xp.clip(moved, *bounds)), want)
    # bounds promote as in any ufunc: numbers are weak, arrays are not
    assert backend.xp.clip(moved, min=bounds[0], max=0.5).dtype == (x + low).dtype


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
@pytest.mark.parametrize("name", ["var", "std"])
def test_variance(backend, name, axis, correction):
    x = np.random.default_rng(0).random((3, 4, 5))
    out = getattr(backend.xp, name)(
        backend.from_host(x), axis=axis, correction=correction, keepdims=True
    )
    want = getattr(np, name)(x, axis=axis, ddof=correction, keepdims=True)
    np.testing.assert_allclose(backend.to_host(out), want, rtol=1e-13)


def test_sign(backend):
    for values in ([math.nan, -2.0, -0.0, 3.0, math.inf], [-3, 0, 7], [0j, 3 + 4j]):
        x = np.asarray(values)
        with np.errstate(invalid="ignore"):
            want = np.where(x == 0, 0, x / abs(x)) if x.dtype.kind == "c" else np.sign(x)
        out = backend.xp.sign(backend.from_host(x))
        assert out.dtype == x.dtype
        np.testing.assert_allclose(backend.to_host(out), want, rtol=1e-15)


def test_where_and_cumsum(backend):
    x = np.array([1.0, -2.0, 3.0], "f4")
    moved = backend.from_host(x)
    out = backend.xp.where(moved > 0, moved, 0.0)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(backend.to_host(out), np.where(x > 0, x, 0))
    np.testing.assert_array_equal(backend.to_host(backend.xp.cumsum(moved)), np.cumsum(x))


def test_asarray(backend):
    x = backend.asarray([1, 2, 3])
    assert type(x) is backend.array_type
    assert backend.asarray(x) is x
    assert backend.asarray(x, "f4").dtype == np.float32
    for data in (2.0, np.float32(1), x[0], [[1.0]]):
        assert type(backend.asarray(data)) is backend.array_type
    assert backend.asarray(2.0, "f4").dtype == np.float32
    assert backend.asarray([1, 2]).shape == (2,)


class Foreign:
    """An array of another library."""

    def __dlpack__(self):
        raise AssertionError("moved")

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("moved")


def test_asarray_moves_no_foreign_array(backend):
    with pytest.raises(TypeError, match="Foreign"):
        backend.asarray(Foreign())


def test_transfers_copy(backend):
    host = np.ones(3)
    x = backend.from_host(host)
    y = backend.to_host(x)
    assert type(x) is backend.array_type
    assert type(y) is np.ndarray
    assert backend.to_host(backend.from_host(host, backend.device(x))).shape == (3,)
    host[0] = 2
    x += x
    np.testing.assert_array_equal(y, np.ones(3))
    np.testing.assert_array_equal(backend.to_host(x), [2, 2, 2])
    backend.synchronize()


def test_views_are_shared(backend):
    x = backend.from_host(np.ones((2, 3)))
    assert not backend.is_shared(x)
    for view in (x[0], x.T, x.reshape(-1), backend.xp.broadcast_to(x, (4000, 2, 3))):
        assert backend.is_shared(view)


def test_memory_grows_with_arrays(backend):
    before = backend.memory()
    x = backend.from_host(np.zeros(100_000))
    after = backend.memory()
    assert after.get("used", 0) - before.get("used", 0) == (
        0 if backend.name == "numpy" else x.nbytes // 512 * 512 + 512 * (x.nbytes % 512 > 0)
    )
    assert after.get("reserved", 0) >= after.get("used", 0)
