"""CUDA kernels of our own for optimiser steps and random numbers, one launch each."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.backends import philox

Array = Any

# --- optimiser steps -----------------------------------------------------------------------------

_SGD = """
    C p = C(param), g = C(grad) + C(decay) * p;
    {momentum}
    param = P(p - C(lr) * g);
"""
_MOMENTUM = """
    const C b = first ? g : C(momentum) * C(buffer) + C(keep) * g;
    buffer = B(b);
    g = nesterov ? g + C(momentum) * b : b;
"""
_ADAM = """
    C p = C(param), g = C(grad), m1 = C(m), m2 = C(v);
    p = C(shrink) * p; g = g + C(decay) * p;
    m1 = C(beta1) * m1 + C(keep1) * g;
    m2 = C(beta2) * m2 + C(keep2) * g * g;
    param = P(p - C(size) * m1 / (sqrt(m2) + C(eps)));
    m = M(m1); v = M(m2);
"""


@cache
def _step_kernel(which: str, compute: str) -> Any:
    # numbers are passed as doubles, 1 - beta2 among them, and rounded once
    arguments = {
        "sgd": ("G grad, float64 lr, float64 decay", "P param", _SGD.format(momentum="")),
        "momentum": (
            "G grad, float64 lr, float64 decay, float64 momentum, float64 keep, bool nesterov, "
            "bool first",
            "P param, B buffer",
            _SGD.format(momentum=_MOMENTUM),
        ),
        "adam": (
            "G grad, float64 size, float64 shrink, float64 decay, float64 beta1, float64 keep1, "
            "float64 beta2, float64 keep2, float64 eps",
            "P param, M m, M v",
            _ADAM,
        ),
    }
    inputs, outputs, operation = arguments[which]
    return cp.ElementwiseKernel(
        inputs,
        outputs,
        operation,
        f"autograd_gpu_{which}_step",
        preamble=f"typedef {compute} C;",
    )


def real_parts(*arrays: Array) -> tuple[str, list[Array], list[tuple[Array, Array]]]:
    """The type to compute in, complex arrays as pairs of numbers, and copies to be written back."""
    compute = "double" if arrays[0].dtype.char in "dD" else "float"
    if arrays[0].dtype.kind != "c":
        return compute, list(arrays), []
    out, back = [], []
    for x in arrays:
        dense = cp.ascontiguousarray(x)
        if dense is not x:
            back.append((x, dense))
        out.append(dense.reshape(-1).view(dense.real.dtype))
    return compute, out, back


def sgd_step(
    param: Array,
    grad: Array,
    buffer: Array | None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    first: bool,
) -> None:
    """One SGD step in place on `param` and `buffer` [same shape], as PyTorch's SGD does it.

    `buffer` is None where there is no momentum; on the `first` step it takes the gradient
    undamped.  Half types are computed in float32.
    """
    if buffer is None:
        compute, (p, g), back = real_parts(param, grad)
        _step_kernel("sgd", compute)(g, lr, weight_decay, p)
    else:
        compute, (p, g, b), back = real_parts(param, grad, buffer)
        kernel = _step_kernel("momentum", compute)
        kernel(g, lr, weight_decay, momentum, 1 - dampening, bool(nesterov), bool(first), p, b)
    write_back(back, grad)


def adam_step(
    param: Array,
    grad: Array,
    m: Array,
    v: Array,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
) -> None:
    """One Adam or, `decoupled`, AdamW step in place on `param`, `m` and `v` [same shape].

    `step` counts from 1.  Half types are computed in float32.  As in PyTorch, the parts of complex
    numbers are parameters of their own.
    """
    root = math.sqrt(1 - beta2**step)
    size = lr * root / (1 - beta1**step)
    shrink, decay = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    compute, (p, g, m1, m2), back = real_parts(param, grad, m, v)
    _step_kernel("adam", compute)(
        g, size, shrink, decay, beta1, 1 - beta1, beta2, 1 - beta2, eps * root, p, m1, m2
    )
    write_back(back, grad)


def write_back(pairs: list[tuple[Array, Array]], grad: Array) -> None:
    for x, dense in pairs:
        if x is not grad:
            x[...] = dense


# --- random numbers ------------------------------------------------------------------------------

_PHILOX = f"""
__device__ inline unsigned int philox4x32(
    unsigned long long index, unsigned long long offset, unsigned long long seed
) {{
    const unsigned long long block = index >> 2;
    unsigned int c[4] = {{
        (unsigned int)block, (unsigned int)(block >> 32),
        (unsigned int)offset, (unsigned int)(offset >> 32)
    }};
    unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)(seed >> 32);
    #pragma unroll
    for (int r = 0; r < {philox.ROUNDS}; r++) {{
        const unsigned long long p0 = {philox.M0}ull * c[0], p1 = {philox.M1}ull * c[2];
        c[0] = (unsigned int)(p1 >> 32) ^ c[1] ^ k0;
        c[2] = (unsigned int)(p0 >> 32) ^ c[3] ^ k1;
        c[1] = (unsigned int)p1;
        c[3] = (unsigned int)p0;
        k0 += {philox.W0}u;
        k1 += {philox.W1}u;
    }}
    return c[index & 3];
}}
"""

_random_bits = cp.ElementwiseKernel(
    "uint64 seed, uint64 offset",
    "uint32 y",
    "y = philox4x32(i, offset, seed)",
    "autograd_gpu_random_bits",
    preamble=_PHILOX,
)
_random_unit = cp.ElementwiseKernel(
    "uint64 seed, uint64 offset",
    "float32 y",
    "y = (philox4x32(i, offset, seed) >> 8) * 5.9604644775390625e-8f",
    "autograd_gpu_random_unit",
    preamble=_PHILOX,
)


def random_bits(shape: tuple[int, ...], seed: int, offset: int = 0) -> Array:
    """Random uint32 of `shape`; the same bits as `philox.random_bits`."""
    philox.check_seed(seed, offset)
    return _random_bits(np.uint64(seed), np.uint64(offset), cp.empty(shape, np.uint32))


def random_unit(shape: tuple[int, ...], seed: int, offset: int = 0) -> Array:
    """float32 of `shape`, uniform in [0, 1); the same numbers as `philox.random_unit`."""
    philox.check_seed(seed, offset)
    return _random_unit(np.uint64(seed), np.uint64(offset), cp.empty(shape, np.float32))
