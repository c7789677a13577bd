"""For tests of the emulation: the same expression on NumPy and on the emulated CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FLOATS = ["f4", "f8", "f2", "c8", "c16"]


def draw(shape: tuple[int, ...], dtype: Any = "f8", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 10, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    x = rng.uniform(-2, 2, shape)
    return (x + 1j * rng.uniform(-2, 2, shape) if dtype.kind == "c" else x).astype(dtype)


def check(
    f: Callable[..., Any], *arrays: Any, rtol: float | None = None, dtypes: bool = True
) -> None:
    """`f(xp, *arrays)` gives the same for CuPy as for NumPy."""
    expected = f(np, *arrays)
    import cupy as cp

    got = f(cp, *[cp.asarray(x) for x in arrays])
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for g, e in pairs:
        e = np.asarray(e)
        assert isinstance(g, cp.ndarray)
        assert g.shape == e.shape
        if dtypes:
            assert g.dtype == e.dtype
        precision = np.finfo(e.dtype).eps if e.dtype.kind in "fc" else 0
        np.testing.assert_allclose(
            g.get(), e, rtol=20 * precision if rtol is None else rtol, atol=20 * precision
        )
