"""NumPy's `where` and `initial` of reductions, on every backend."""

import numpy as np
import pytest

import autograd_gpu as ag

X = np.random.default_rng(0).integers(-5, 6, (3, 4)).astype("f4")
MASK = np.random.default_rng(1).random((3, 4)) < 0.5
CASES = {
    "where": {"where": MASK},
    "a broadcast where": {"where": MASK[0]},
    "initial": {"initial": 2},
    "both": {"where": MASK, "initial": -1.0},
    "axis": {"where": MASK, "axis": 1},
    "keepdims": {"where": MASK, "axis": (0, 1), "keepdims": True, "initial": 3},
    "neither": {"axis": 0},
}
NAMES = ["sum", "prod", "max", "min", "all", "any", "mean"]


DTYPES = ["f4", "f2", "f8", "c8", "i4", "bfloat16"]


def is_numpys(name, options, dtype):
    """Whether NumPy has that."""
    if dtype == "bfloat16" and name not in ("sum", "max", "min"):
        return False
    if name in ("max", "min"):
        return dtype != "c8" and ("where" not in options or "initial" in options)
    return name in ("sum", "prod") or "initial" not in options


@pytest.mark.parametrize(
    ("name", "case", "dtype"),
    [
        (name, case, dtype)
        for name in NAMES
        for case, options in CASES.items()
        for dtype in DTYPES
        if is_numpys(name, options, dtype)
    ],
)
def test_as_numpy(backend, name, case, dtype):
    options = CASES[case]
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    x = X.astype(dtype)
    there = {k: backend.from_host(v) if k == "where" else v for k, v in options.items()}
    got = getattr(backend.xp, name)(backend.from_host(x), **there)
    want = getattr(np, name)(x, **options)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(
        np.asarray(backend.to_host(got), "c16"), np.asarray(want, "c16"), rtol=1e-2
    )


def test_extremes_of_nothing(cupy_backend):
    xp, empty = cupy_backend.xp, cupy_backend.from_host(np.zeros((2, 0), "f4"))
    assert float(xp.max(empty, initial=3)) == 3
    assert xp.min(empty, axis=1, initial=3).tolist() == [3, 3]
    with pytest.raises(ValueError, match="max: where= needs an initial"):
        xp.max(cupy_backend.from_host(X), where=cupy_backend.from_host(MASK))
    with pytest.raises(TypeError, match="any: there is no initial"):
        xp.any(cupy_backend.from_host(X), initial=True)


def test_nothing_waits(cupy_backend, counting):
    x, mask = cupy_backend.from_host(X), cupy_backend.from_host(MASK)
    with counting() as c:
        cupy_backend.xp.sum(x, where=mask, initial=1)
        cupy_backend.xp.mean(x, where=mask, axis=0)
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (40, 50), (8, 9, 40)])
def test_sums_of_swapped_bytes_are_in_this_machines_order(shape, keepdims):
    x = np.arange(np.prod(shape), dtype="f8").reshape(shape)
    swapped = x.astype(x.dtype.newbyteorder())
    for axis in (None, 0, -1, (0, 1)):
        got = ag.sum(swapped, axis=axis, keepdims=keepdims).value
        np.testing.assert_array_equal(got, x.sum(axis=axis, keepdims=keepdims))
        assert got.dtype.isnative
