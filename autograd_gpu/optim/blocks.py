"""Steps made of array operations, for optimisers without a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable

from autograd_gpu.backend import BACKENDS, Array

BLOCK = 32_768
"""Elements worked on at a time on NumPy, so that temporaries stay in the cache."""


def in_blocks(update: Callable[..., None], param: Array, grad: Array, *states: Array) -> None:
    """Run `update(xp, param, grad, *states)` on flat parts of the arrays, which it changes in place
    (but for `grad`): block by block on NumPy, at once on CuPy.

    All have one shape.  `grad` has the dtype of `param` there; as in PyTorch, the parts of complex
    numbers are numbers of their own.
    """
    backend = BACKENDS[type(param)]
    arrays = (param, grad.astype(param.dtype, copy=False), *states)
    flat = [x.reshape(-1) for x in arrays]  # a copy where an array is not contiguous
    if param.dtype.kind == "c":
        real = f"f{param.dtype.itemsize // 2}"
        flat = [x.view(real) for x in flat]
    size = flat[0].size
    block = BLOCK if backend.name == "numpy" else max(size, 1)
    for start in range(0, size, block):
        update(backend.xp, *[x[start : start + block] for x in flat])
    for i, x in enumerate(arrays):
        if i != 1 and not x.flags.c_contiguous:
            x[...] = flat[i].view(x.dtype).reshape(x.shape)
