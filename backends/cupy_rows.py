"""Kernels of norms and of softmax cross-entropy for CuPy, and the latter itself.

Half types are computed in float32.  The signatures are those of `numpy_rows`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy as cp
import numpy as np

Array = Any

# Moments of parts of a row, put together by Chan's formula: no difference of large squares.
_MOMENTS = """
    struct Moments {
        C n, mean, m2;
        __device__ Moments() : n(0), mean(0), m2(0) {}
        __device__ Moments(C x) : n(1), mean(x), m2(0) {}
    };
    __device__ inline Moments merged(const Moments& a, const Moments& b) {
        if (a.n == 0) return b;
        if (b.n == 0) return a;
        Moments c;
        const C delta = b.mean - a.mean;
        c.n = a.n + b.n;
        c.mean = a.mean + delta * (b.n / c.n);
        c.m2 = a.m2 + b.m2 + delta * delta * (a.n * (b.n / c.n));
        return c;
    }
"""

_SUMS = """
    struct Sums {
        C first, second;
        __device__ Sums(C x = C(0), C y = C(0)) : first(x), second(y) {}
    };
    __device__ inline Sums added(const Sums& a, const Sums& b) {
        return Sums(a.first + b.first, a.second + b.second);
    }
"""

# The largest element so far, and the sum of exp(x - largest).
_EXPONENTS = """
    struct Exponents {
        C top, sum;
        __device__ Exponents() : top(-__int_as_float(0x7f800000)), sum(0) {}
        __device__ Exponents(C x) : top(x), sum(1) {}
    };
    __device__ inline C scaled(const Exponents& a, C top) {
        return a.top == top ? a.sum : a.sum * exp(a.top - top);
    }
    __device__ inline Exponents joined(const Exponents& a, const Exponents& b) {
        Exponents c;
        c.top = a.top > b.top ? a.top : b.top;
        c.sum = scaled(a, c.top) + scaled(b, c.top);
        return c;
    }
"""

_NORMAL = "(C(x) - mean) / sqrt(variance + C(eps))"


@cache
def kernels(dtype: Any) -> dict[str, Any]:
    """The kernels that compute in `dtype`, float32 or float64."""
    types = f"typedef {'double' if dtype == np.float64 else 'float'} C;"
    name = dtype.name

    def reduction(
        inputs: str, outputs: str, value: str, join: str, after: str, kind: str, code: str, of: str
    ) -> Any:
        return cp.ReductionKernel(
            inputs, outputs, value, join, after, f"{kind}()", f"autograd_gpu_{of}",
            reduce_type=kind, preamble=types + code,
        )  # fmt: skip

    def elementwise(inputs: str, outputs: str, operation: str, of: str) -> Any:
        return cp.ElementwiseKernel(
            inputs, outputs, operation, f"autograd_gpu_{of}", preamble=types
        )

    row = f"{name} mean, {name} variance"
    return {
        "moments": reduction(
            "T item",
            row,
            "Moments(C(item))",
            "merged(a, b)",
            "mean = a.mean, variance = a.m2 / a.n",
            "Moments",
            _MOMENTS,
            "moments",
        ),
        "normalise": elementwise(
            f"T x, {row}, W weight, B bias, float64 eps",
            "Y y",
            f"y = Y({_NORMAL} * C(weight) + C(bias))",
            "layer_norm",
        ),
        "products": reduction(
            f"G g, T x, W weight, {row}, float64 eps",
            f"{name} plain, {name} along",
            f"Sums(C(g) * C(weight), C(g) * C(weight) * ({_NORMAL}))",
            "added(a, b)",
            "plain = a.first, along = a.second",
            "Sums",
            _SUMS,
            "layer_norm_sums",
        ),
        "gradient": elementwise(
            f"G g, T x, W weight, {row}, {name} plain, {name} along, float64 eps, int64 width",
            "Y y",
            f"""
            const C normal = {_NORMAL}, h = C(g) * C(weight);
            y = Y((h - (plain + normal * along) / C(width)) / sqrt(variance + C(eps)));
            """,
            "layer_norm_gradient",
        ),
        "logsumexp": reduction(
            # CuPy's CUB variant replaces the name wherever it stands, an x in Exponents too
            "T item",
            f"{name} y",
            "Exponents(C(item))",
            "joined(a, b)",
            "y = a.top + log(a.sum)",
            "Exponents",
            _EXPONENTS,
            "logsumexp",
        ),
        "less_picked": elementwise(
            f"T x, {name} total, S scale, I target, P picked, int64 width",
            "Y y",
            """
            const bool hit = i % width == (long long)target;
            y = Y(exp(C(x) - total) * C(scale) - (hit ? C(picked) : C(0)));
            """,
            "softmax_less_picked",
        ),
    }


_pick = cp.ElementwiseKernel(
    "raw T x, I target, int64 width",
    "T y",
    # CuPy's own look-up takes a label out of range modulo the width; a NaN tells
    """
    const long long t = (long long)target;
    y = t >= 0 && t < width ? x[i * width + t] : T(CUDART_NAN);
    """,
    "autograd_gpu_pick",
    preamble="#define CUDART_NAN __int_as_float(0x7fffffff)",
)


def compute_dtype(x: Array) -> Any:
    return np.dtype(np.float64 if x.dtype == np.float64 else np.float32)


def softmax_cross_entropy(x: Array, target: Array) -> tuple[Array, Array, Any]:
    """Of each row of `x` [rows, width]: log(sum(exp(x))), the element in column `target`, and what
    `softmax_less_picked` gets as `kept`.  The element is NaN where there is no such column."""
    rows, width = x.shape
    total = cp.empty((rows, 1), compute_dtype(x))
    if x.size:
        kernels(total.dtype)["logsumexp"](x, total, axis=1, keepdims=True)
    else:
        total[...] = -np.inf
    picked = _pick(x, target, width, cp.empty(rows, x.dtype))
    return total.reshape(rows).astype(x.dtype, copy=False), picked, total


def softmax_less_picked(x: Array, kept: Array, scale: Array, target: Array, picked: Array) -> Array:
    """softmax of the rows of `x` times `scale`, less `picked` in each row's column `target`."""
    columns = (v.reshape(-1, 1) for v in (scale, target, picked))
    return kernels(kept.dtype)["less_picked"](
        x, kept, *columns, x.shape[1], cp.empty(x.shape, x.dtype)
    )
