"""Fourier transforms over several axes, with one new array instead of one for each axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any

import array_api_compat.numpy as compat
import numpy as np

Array = np.ndarray[Any, Any]


def namespace() -> ModuleType:
    """array_api_compat's `fft`, with functions replaced."""
    fft = ModuleType("autograd_gpu.backends.numpy_fft.fft", compat.fft.__doc__)
    vars(fft).update({k: v for k, v in vars(compat.fft).items() if not k.startswith("__")})
    vars(fft).update(fftn=_into_one_array(np.fft.fftn), ifftn=_into_one_array(np.fft.ifftn))
    return fft


def _into_one_array(transform: Callable[..., Any]) -> Callable[..., Any]:
    """`transform`, each axis being transformed in the place of the one before."""

    @wraps(transform)
    def call(
        x: Any,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Any:
        resized = s is not None and (
            axes is None or any(n != x.shape[axis] for n, axis in zip(s, axes, strict=True))
        )
        out = np.empty_like(x) if x.dtype.kind == "c" and not resized else None
        return transform(x, s=s, axes=axes, norm=norm, out=out)

    return call
