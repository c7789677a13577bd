"""Activation functions and their derivatives for CuPy, one launch each.

Half types are computed in float32.  Names and arguments are those of the steps in
`autograd_gpu.ops.activations` and `.exponentials`; NotImplemented asks for the general form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy as cp

Array = Any

_PREAMBLE = f"""
    template <typename T, bool half> struct Wide {{ typedef T type; }};
    template <typename T> struct Wide<T, true> {{ typedef float type; }};
    template <typename C> __device__ inline C sigmoid(C x) {{ return C(1) / (C(1) + exp(-x)); }}
    template <typename C> __device__ inline C softplus(C x) {{
        return (x > C(0) ? x : C(0)) + log1p(exp(x > C(0) ? -x : x));
    }}
    // tanh(u) with u = A x + B x^3
    template <typename C> struct Bent {{
        C square, t, du, third;
        __device__ Bent(C x) {{
            x = x > C(25) ? C(25) : (x < C(-25) ? C(-25) : x);  // no overflow: t is 1 or -1 there
            const C a = C({math.sqrt(2 / math.pi)!r}), b = C(0.044715) * a;
            square = x * x;
            t = tanh(x * (a + b * square));
            third = 3 * b * square;
            du = a + third;
        }}
    }};
    #define ROOT C({math.sqrt(0.5)!r})
    #define DENSITY C({1 / math.sqrt(2 * math.pi)!r})
"""

_WIDEN = "typedef typename Wide<T, sizeof(T) == 2>::type C; "

_VALUES = {
    "sigmoid_value": "sigmoid(v)",
    "softplus_value": "softplus(v)",
    "logsigmoid_value": "-softplus(-v)",
    "silu_value": "v * sigmoid(v)",
    "mish_value": "v * tanh(softplus(v))",
    "gelu_tanh_value": "C(0.5) * v * (C(1) + Bent<C>(v).t)",
    "gelu_erf_value": "C(0.5) * v * (C(1) + erf(v * ROOT))",
}
_BENT = "const Bent<C> b(v); "
_GRADIENTS = {
    "sigmoid_gradient": ("", "v * (C(1) - v)"),  # of the output
    "softplus_gradient": ("", "sigmoid(v)"),
    "logsigmoid_gradient": ("", "sigmoid(-v)"),
    "silu_gradient": ("const C s = sigmoid(v); ", "s * (C(1) + v * (C(1) - s))"),
    "mish_gradient": (
        "const C t = tanh(softplus(v)); ",
        "t + v * sigmoid(v) * (C(1) - t * t)",
    ),
    "gelu_tanh_gradient": (_BENT, "C(0.5) * (C(1) + b.t + v * (C(1) - b.t * b.t) * b.du)"),
    "gelu_tanh_bend": (
        _BENT,
        "(C(1) - b.t * b.t) * (b.du + b.third - v * b.t * (b.du * b.du))",
    ),
    "gelu_erf_gradient": (
        "",
        "C(0.5) * (C(1) + erf(v * ROOT)) + v * (DENSITY * exp(C(-0.5) * (v * v)))",
    ),
}


def kernels() -> dict[str, Any]:
    """The ElementwiseKernels, by name: of `x`, or of `g` and `x`."""
    made = {}
    for name, value in _VALUES.items():
        made[name] = cp.ElementwiseKernel(
            "T x",
            "T y",
            f"{_WIDEN}const C v = C(x); y = T({value})",
            f"autograd_gpu_{name}",
            preamble=_PREAMBLE,
        )
    for name, (before, slope) in _GRADIENTS.items():
        made[name] = cp.ElementwiseKernel(
            "T g, T x",
            "T y",
            f"{_WIDEN}const C v = C(x); {before}y = T(C(g) * ({slope}))",
            f"autograd_gpu_{name}",
            preamble=_PREAMBLE,
        )
    return made


def bound() -> dict[str, Callable[..., Array]]:
    """The functions for the namespace."""
    return {name: _for_floats(kernel) for name, kernel in kernels().items()}


def _for_floats(kernel: Any) -> Callable[..., Array]:
    def function(*arrays: Array) -> Array:
        dtype = arrays[-1].dtype
        if dtype.kind != "f" and dtype.name != "bfloat16":
            return NotImplemented
        if len({x.dtype for x in arrays}) > 1:
            return NotImplemented
        return kernel(*arrays)

    return function
