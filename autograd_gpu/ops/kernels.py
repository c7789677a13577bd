"""Steps of ops for which a backend may have a faster form of its own.

A step is written here once, in array functions, for raw arrays and for Variables alike.  Where the
namespace that it runs in has a function of the same name, that one is called instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from autograd_gpu.batching import KERNELS

P = ParamSpec("P")
R = TypeVar("R")


def kernel(general: Callable[P, R]) -> Callable[P, R]:
    """`general(xp, ...)`, or the function of that name in `xp`, which is called without `xp`.

    Where that returns NotImplemented, as for a dtype that it does not know, `general` it is.
    """
    name = general.__name__
    KERNELS.add(name)

    @wraps(general)
    def call(*args: Any, **kwargs: Any) -> Any:
        own = getattr(args[0], name, None)
        if own is not None:
            result = own(*args[1:], **kwargs)
            if result is not NotImplemented:
                return result
        return general(*args, **kwargs)

    return call
