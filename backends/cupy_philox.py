"""Philox4x32-10 for CuPy, one launch each; see `philox`."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.backends import philox
from autograd_gpu.backends.cupy_live import LiveNumber

Array = Any

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


Number = int | LiveNumber


def random_bits(shape: tuple[int, ...], seed: Number, offset: Number = 0) -> Array:
    """Random uint32 of `shape`; the same bits as `philox.random_bits`."""
    return _random_bits(*_key(seed, offset), cp.empty(shape, np.uint32))


def random_unit(shape: tuple[int, ...], seed: Number, offset: Number = 0) -> Array:
    """float32 of `shape`, uniform in [0, 1); the same numbers as `philox.random_unit`."""
    return _random_unit(*_key(seed, offset), cp.empty(shape, np.float32))


@cache
def prepare(device: int) -> None:
    """Load the kernels that take their key from the device, which no eager run does: drivers older
    than 12.3 load none while a graph is captured."""
    zero = LiveNumber(cp.zeros((), np.uint64))
    random_bits((1,), zero, zero)
    random_unit((1,), zero, zero)


def _key(seed: Number, offset: Number) -> tuple[Any, Any]:
    """Both as the kernels take them; in a captured graph they are on the device."""
    if isinstance(seed, LiveNumber) and isinstance(offset, LiveNumber):
        return seed.array, offset.array
    assert isinstance(seed, int)
    assert isinstance(offset, int)
    philox.check_seed(seed, offset)
    return np.uint64(seed), np.uint64(offset)
