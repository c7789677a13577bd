"""Stands for `cupy.cuda.cufft`: one-dimensional plans, executed by numpy.fft.

CuPy's own functions around it stay: shapes, axes, dtypes and norms are really CuPy's.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from . import counters, graphs
from .arrays import host_view
from .errors import IllegalCall, NotEmulated
from .refused import stand_in

FORWARD, INVERSE = -1, 1
R2C, C2R, C2C, D2Z, Z2D, Z2Z = 0x2A, 0x2C, 0x29, 0x6A, 0x6C, 0x69
_TYPES = {
    "CUFFT_C2C": C2C,
    "CUFFT_R2C": R2C,
    "CUFFT_C2R": C2R,
    "CUFFT_Z2Z": Z2Z,
    "CUFFT_D2Z": D2Z,
    "CUFFT_Z2D": Z2D,
    "CUFFT_FORWARD": FORWARD,
    "CUFFT_INVERSE": INVERSE,
}
_IN_OUT = {
    C2C: ("c8", "c8"),
    Z2Z: ("c16", "c16"),
    R2C: ("f4", "c8"),
    D2Z: ("f8", "c16"),
    C2R: ("c8", "f4"),
    Z2D: ("c16", "f8"),
}


class Plan1d:
    """`batch` transforms of length `nx`, unscaled in both directions, as cuFFT's are."""

    def __init__(self, nx: int, fft_type: int, batch: int, *, devices: Any = None, out: Any = None):
        if devices:
            raise NotEmulated("cuFFT", "transforms on several devices")
        if fft_type not in _IN_OUT:
            raise IllegalCall(f"{fft_type} is no cufftType")
        self.nx, self.fft_type, self.batch, self.gpus = nx, fft_type, batch, None

    def get_output_array(self, a: Any) -> Any:
        import cupy

        return cupy.empty((*a.shape[:-1], self._length()), _IN_OUT[self.fft_type][1])

    def check_output_array(self, a: Any, out: Any) -> None:
        expected = (*a.shape[:-1], self._length())
        dtype = np.dtype(_IN_OUT[self.fft_type][1])
        if out.shape != expected or out.dtype != dtype:
            raise ValueError(f"out has to be {dtype} of shape {expected}")

    def fft(self, a: Any, out: Any, direction: int) -> None:
        graphs.refuse("cuFFT")
        counters.replaced("cufft.Plan1d.fft")
        if a.dtype != _IN_OUT[self.fft_type][0] or not a.flags.c_contiguous:
            raise IllegalCall(f"cuFFT type {self.fft_type:#x} on {a.dtype}, or not contiguous")
        x = host_view(a).reshape(self.batch, -1)
        if self.fft_type in (R2C, D2Z):
            y = np.fft.rfft(x, self.nx)
        elif self.fft_type in (C2R, Z2D):
            y = np.fft.irfft(x, self.nx, norm="forward")
        elif direction == FORWARD:
            y = np.fft.fft(x, self.nx)
        else:
            y = np.fft.ifft(x, self.nx, norm="forward")
        host_view(out)[...] = y.reshape(out.shape)

    def _length(self) -> int:
        return self.nx // 2 + 1 if self.fft_type in (R2C, D2Z) else self.nx


def make_module() -> ModuleType:
    module: Any = stand_in("cupy.cuda.cufft", "cuFFT")
    for name, value in _TYPES.items():
        setattr(module, name, value)
    module.Plan1d = Plan1d
    module.PlanNd = type("PlanNd", (), {"__init__": _no_plan_nd})
    module.get_current_plan = lambda: None
    return module


def _no_plan_nd(self: Any, *args: Any, **kwargs: Any) -> None:
    raise NotEmulated("cuFFT", "PlanNd; CuPy does without when enable_nd_planning is off")
