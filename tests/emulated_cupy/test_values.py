"""Values: elementwise functions, reductions, scans, indexing, sorting, shapes."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu.comparing import FLOATS, check, draw


@pytest.mark.parametrize("dtype", FLOATS)
def test_elementwise(dtype: str) -> None:
    x, y = draw((3, 4), dtype), draw((4,), dtype, 1)
    check(lambda xp, x, y: x * y + x / (y * y + 3) - 2 * x, x, y)
    check(lambda xp, x: xp.exp(x) + xp.tanh(x) + xp.sqrt(x * x + 1), x)


@pytest.mark.parametrize(
    "name",
    ["exp", "expm1", "log1p", "sin", "cos", "arctan", "sinh", "cbrt", "floor", "rint", "sign"],
)
def test_unary_functions(name: str) -> None:
    check(lambda xp, x: getattr(xp, name)(xp.abs(x) + x / 3), draw((2, 5)))


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?"])
def test_integers(dtype: str) -> None:
    x, y = draw((3, 4), dtype), draw((3, 1), dtype, 1)
    check(lambda xp, x, y: (x & y, x | y, x == y, xp.maximum(x, y)), x, y)
    if dtype != "?":
        check(lambda xp, x, y: (x + y, x * y, x // (y + 1), x % (y + 1), x << 1), x, y)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_overloads_that_c_and_cuda_resolve_differently(dtype: str) -> None:
    x = draw((7,), dtype)
    check(lambda xp, x: (xp.abs(x), xp.log10(x + 3), x ** (x + 3) if x.dtype.kind == "c" else x), x)
    if np.dtype(dtype).kind == "f":
        check(lambda xp, x: (xp.fabs(x), xp.sinc(x), xp.copysign(x, -1), xp.hypot(x, 2)), x)
    else:
        check(lambda xp, x: (xp.log2(x), xp.reciprocal(x), xp.angle(x), xp.sqrt(x)), x)


def test_special_values() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
    check(lambda xp, x: (xp.isnan(x), xp.isinf(x), xp.signbit(x), xp.nan_to_num(x)), x)
    check(lambda xp, x: (xp.maximum(x, 1), xp.fmax(x, 1), xp.max(x), xp.nanmax(x)), x)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var"])
def test_reductions(name: str, axis: Any) -> None:
    x = draw((3, 4, 5))
    check(lambda xp, x: getattr(xp, name)(x, axis=axis), x, rtol=1e-12)
    check(lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=True), x, rtol=1e-12)
    check(lambda xp, x: getattr(xp, name)(x.transpose(2, 0, 1)[::2], axis=axis), x, rtol=1e-12)


def test_large_reduction_uses_all_threads_of_a_block() -> None:
    x = draw((3, 5000))
    check(
        lambda xp, x: (x.sum(axis=1), x.argmax(axis=1), x.any(), xp.linalg.norm(x)), x, rtol=1e-12
    )
    check(lambda xp, x: xp.sum(x, axis=0), x)


def test_scans() -> None:
    x = draw((3, 2000))
    check(
        lambda xp, x: (xp.cumsum(x), xp.cumsum(x, axis=1), xp.cumprod(x[:, :9], axis=0)),
        x,
        rtol=1e-10,
    )


def test_indexing() -> None:
    x, rows, mask = draw((5, 6)), np.array([3, 0, 3]), draw((5, 6), "?", 1)
    check(
        lambda xp, x, rows, mask: (x[1:, ::-2], x[rows], x[rows, 1], x[mask], x[..., None]),
        x,
        rows,
        mask,
    )
    check(
        lambda xp, x, rows: (xp.take(x, rows, axis=1), xp.take_along_axis(x, rows[:, None], 1)),
        x[:3],
        rows % 3,
    )

    def assign(xp: Any, x: Any, mask: Any) -> Any:
        y = x.copy()
        y[0] = 7
        y[1:3, 2:] = x[3:, 2:]
        y[mask] = -1
        return y

    check(assign, x, mask)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
def test_scatter_add(dtype: str) -> None:
    index, value = np.array([2, 0, 2, 2]), draw((4, 3), dtype)
    expected = np.zeros((4, 3), dtype)
    np.add.at(expected, index, value)
    got = cp.zeros((4, 3), dtype)
    cp.add.at(got, cp.asarray(index), cp.asarray(value))
    np.testing.assert_allclose(got.get(), expected, rtol=1e-2 if dtype == "f2" else 1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c8", "f2"])
def test_sorting(dtype: str) -> None:
    x = draw((4, 7), dtype)
    check(lambda xp, x: (xp.sort(x), xp.sort(x, axis=0), xp.argsort(x.ravel(), kind="stable")), x)
    if dtype == "f8":
        x[0, 0] = np.nan
        check(lambda xp, x: (xp.sort(x, axis=None), xp.argsort(x), xp.lexsort(x)), x)
        check(
            lambda xp, x: (xp.unique(x.round()), xp.median(x[1:]), xp.searchsorted(x[1], x[2])),
            np.sort(x),
        )


def test_shapes() -> None:
    x = draw((2, 3, 4))
    check(lambda xp, x: xp.concatenate([x, x[:1]]), x)
    check(
        lambda xp, x: (
            xp.stack([x, x], 1),
            xp.pad(x, 1),
            xp.roll(x, 2),
            xp.tile(x, 2),
            xp.flip(x, 0),
        ),
        x,
    )
    check(
        lambda xp, x: (
            xp.where(x > 0, x, 0),
            xp.tril(x),
            xp.broadcast_to(x[0], (5, 3, 4)),
            xp.repeat(x, 2),
        ),
        x,
    )
    check(lambda xp, x: (xp.arange(5), xp.linspace(0, 1, 7), xp.eye(3), xp.zeros((0, 2))), x)
