"""Pooling for NumPy: that of `pooling`, with the images of a large batch shared by threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from autograd_gpu.backends import pooling
from autograd_gpu.threads import get_num_threads, share

Array = np.ndarray[Any, Any]

CHUNK = 1 << 16
"""Elements that one thread takes at a time."""


def shared(function: Callable[..., Array]) -> Callable[..., Array]:
    """`function(*arrays, **statics)`, where images [N, C, ...] do not depend on each other."""

    @wraps(function)
    def call(*arrays: Array, **statics: Any) -> Array:
        n, size = len(arrays[0]), max(x.size for x in arrays)
        parts = min(n, size // CHUNK)
        if parts < 2 or get_num_threads() == 1:
            return function(*arrays, **statics)
        cuts = [i * n // parts for i in range(parts + 1)]
        first = function(*[x[: cuts[1]] for x in arrays], **statics)
        out = np.empty((n, *first.shape[1:]), first.dtype)
        out[: cuts[1]] = first

        def part(i: int) -> None:
            s = slice(cuts[i + 1], cuts[i + 2])
            out[s] = function(*[x[s] for x in arrays], **statics)

        share(part, parts - 1)
        return out

    return call


def bound() -> dict[str, Any]:
    """The functions of `pooling` by name."""
    return {name: shared(function) for name, function in pooling.bound(np).items()}
