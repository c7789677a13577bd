"""Stands for `cupy.cuda.cufft`: its plans, executed by numpy.fft on device memory.

CuPy's own functions around the plans stay: shapes, axes, dtypes and norms are really CuPy's.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import counters, graphs, memory
from .errors import IllegalCall, NotEmulated
from .refused import stand_in

FORWARD, INVERSE = -1, 1
_TYPES = {
    "CUFFT_C2C": 0x29,
    "CUFFT_R2C": 0x2A,
    "CUFFT_C2R": 0x2C,
    "CUFFT_Z2Z": 0x69,
    "CUFFT_D2Z": 0x6A,
    "CUFFT_Z2D": 0x6C,
}
# dtypes of input and output, by type
_IN_OUT = {
    0x29: ("c8", "c8"),
    0x2A: ("f4", "c8"),
    0x2C: ("c8", "f4"),
    0x69: ("c16", "c16"),
    0x6A: ("f8", "c16"),
    0x6C: ("c16", "f8"),
}


class _Plan:
    """Batched transforms, unscaled in both directions as cuFFT's are.

    Element x of batch b lies at `b * dist + (x[0] * embed[1] + x[1]) * stride`, and so on for more
    dimensions: what cuFFT calls its advanced data layout.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        fft_type: int,
        batch: int,
        layouts: tuple[tuple[Any, int, int], tuple[Any, int, int]],
    ) -> None:
        if fft_type not in _IN_OUT:
            raise IllegalCall(f"{fft_type} is no cufftType")
        self.shape, self.fft_type, self.batch, self.gpus = tuple(shape), fft_type, batch, None
        self._in_dtype, self._out_dtype = map(np.dtype, _IN_OUT[fft_type])
        self._layouts = layouts
        # CuPy's cache of plans adds up the memory that they hold.
        self.work_area = SimpleNamespace(mem=SimpleNamespace(size=0))

    def fft(self, a: Any, out: Any, direction: int) -> None:
        graphs.refuse("a cuFFT plan (emulated)")
        counters.replaced(f"cufft.{type(self).__name__}.fft")
        half = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        to_complex, to_real = self._in_dtype.kind == "f", self._out_dtype.kind == "f"
        x = self._view(a, self._in_dtype, half if to_real else self.shape, self._layouts[0])
        y = self._view(out, self._out_dtype, half if to_complex else self.shape, self._layouts[1])
        axes = tuple(range(1, x.ndim))
        if to_complex:
            y[...] = np.fft.rfftn(x, axes=axes)
        elif to_real:
            y[...] = np.fft.irfftn(x, self.shape, axes, norm="forward")
        elif direction == FORWARD:
            y[...] = np.fft.fftn(x, axes=axes)
        else:
            y[...] = np.fft.ifftn(x, axes=axes, norm="forward")

    def _view(
        self, x: Any, dtype: np.dtype[Any], shape: tuple[int, ...], layout: tuple[Any, int, int]
    ) -> Any:
        if x.dtype != dtype:
            raise IllegalCall(f"this cuFFT plan is for {dtype}, not {x.dtype}")
        embed, stride, dist = layout
        if embed is None:
            embed, stride, dist = shape, 1, math.prod(shape)
        strides = (dist, *(stride * math.prod(embed[i + 1 :]) for i in range(len(shape))))
        dims = (self.batch, *shape)
        last = sum((n - 1) * s for n, s in zip(dims, strides, strict=True))
        memory.check_range(x.data.ptr, (last + 1) * dtype.itemsize, "an array of a cuFFT plan")
        return memory.view(x.data.ptr, dtype, dims, tuple(s * dtype.itemsize for s in strides))

    def _output(self, a: Any, axis: int, size: int | None) -> tuple[tuple[int, ...], Any]:
        shape = list(a.shape)
        if self._in_dtype != self._out_dtype:
            shape[axis] = size
        return tuple(shape), self._out_dtype

    def _check(self, out: Any, expected: tuple[tuple[int, ...], Any]) -> None:
        if (out.shape, out.dtype) != expected:
            raise ValueError(f"out has to be {expected[1]} of shape {expected[0]}")


class Plan1d(_Plan):
    """`batch` transforms of contiguous rows."""

    def __init__(self, nx: int, fft_type: int, batch: int, *, devices: Any = None, out: Any = None):
        if devices:
            raise NotEmulated("cuFFT", "transforms on several devices")
        super().__init__((nx,), fft_type, batch, ((None, 1, 0), (None, 1, 0)))
        self.nx = nx
        self._length = nx // 2 + 1 if self._in_dtype.kind == "f" else nx

    def get_output_array(self, a: Any) -> Any:
        import cupy

        return cupy.empty(*self._output(a, -1, self._length))

    def check_output_array(self, a: Any, out: Any) -> None:
        self._check(out, self._output(a, -1, self._length))


class PlanNd(_Plan):
    """Transforms over up to three axes, with CuPy's arguments."""

    def __init__(
        self, shape: Any, inembed: Any, istride: int, idist: int, onembed: Any, ostride: int,
        odist: int, fft_type: int, batch: int, order: str, last_axis: int, last_size: Any,
    ) -> None:  # fmt: skip
        layouts = ((inembed, istride, idist), (onembed, ostride, odist))
        super().__init__(shape, fft_type, batch, layouts)
        self.order, self.last_axis, self.last_size = order, last_axis, last_size

    def get_output_array(self, a: Any, order: str = "C") -> Any:
        import cupy

        return cupy.empty(*self._output(a, self.last_axis, self.last_size), order=order)

    def check_output_array(self, a: Any, out: Any) -> None:
        if out is not a:
            self._check(out, self._output(a, self.last_axis, self.last_size))


def make_module() -> None:
    """Put the module in its place: plans, constants, and a refusal for all else."""
    module: Any = stand_in("cupy.cuda.cufft", "cuFFT")
    for name, value in {**_TYPES, "CUFFT_FORWARD": FORWARD, "CUFFT_INVERSE": INVERSE}.items():
        setattr(module, name, value)
    module.Plan1d, module.PlanNd = Plan1d, PlanNd
    module.get_current_plan = lambda: None  # `with plan:` is not there either
