"""Small arrays of numbers that the host knows, made without a copy to the device.

A kernel has them as its arguments, which the driver brings along with the launch.  A copy would go
through pinned memory, and could not be part of a captured step at all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.recorder import recorder

Array = Any

# All arguments of a launch have to fit into 4 KiB.
_WORDS, _THREADS = 480, 128
_MOST = 4 * _WORDS
"""Words from which on a copy takes less time."""

_SOURCE = f"""
struct Words {{ unsigned long long word[{_WORDS}]; }};
extern "C" __global__ void autograd_gpu_write_constant(
    const Words words, const int count, unsigned long long* out
) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = words.word[i];
}}
"""
_layout = np.dtype([("word", np.uint64, _WORDS)])


@cache
def kernel() -> Any:
    """The RawKernel."""
    return cp.RawKernel(_SOURCE, "autograd_gpu_write_constant")


def constant(host: Any) -> Array:
    """`host`, a NumPy array, on the current device: as arguments of a kernel, or copied if it is
    large and no step is being captured."""
    words = -(-host.nbytes // 8)
    if words > _MOST and recorder.get() is None:
        return cp.array(host)
    data = np.zeros(words, np.uint64)
    data.view(np.uint8)[: host.nbytes] = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
    memory = cp.cuda.alloc(8 * words)
    whole = cp.ndarray(words, np.uint64, memory)
    for start in range(0, words, _WORDS):
        part = data[start : start + _WORDS]
        table = np.zeros((), _layout)
        table["word"][: part.size] = part
        blocks = -(-part.size // _THREADS)
        kernel()((blocks,), (_THREADS,), (table[()], np.int32(part.size), whole[start:]))
    return cp.ndarray(host.shape, host.dtype, memory)
