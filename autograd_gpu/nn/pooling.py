"""Pooling as Modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable

Size = int | Sequence[int]


class _Pool(Module):
    function: ClassVar[Callable[..., Variable]]

    def __init__(
        self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, **options: Any
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.options = kernel_size, padding, options
        self.stride = kernel_size if stride is None else stride

    def forward(self, x: Any) -> Variable:
        return type(self).function(x, self.kernel_size, self.stride, self.padding, **self.options)

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in ("kernel_size", "stride", "padding")]
        return ", ".join(parts + [f"{name}={value}" for name, value in self.options.items()])


class _AdaptivePool(Module):
    function: ClassVar[Callable[..., Variable]]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Any) -> Variable:
        return type(self).function(x, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class MaxPool1d(_Pool):
    """The maximum of each window of [N, C, L]; arguments of `functional.max_pool1d`."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_Pool):
    """The maximum of each window of [N, C, H, W]; arguments of `functional.max_pool2d`."""

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_Pool):
    """The maximum of each window of [N, C, D, H, W]; arguments of `functional.max_pool3d`."""

    function = staticmethod(F.max_pool3d)


class AvgPool1d(_Pool):
    """The mean of each window of [N, C, L]; arguments of `functional.avg_pool1d`."""

    function = staticmethod(F.avg_pool1d)


class AvgPool2d(_Pool):
    """The mean of each window of [N, C, H, W]; arguments of `functional.avg_pool2d`."""

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_Pool):
    """The mean of each window of [N, C, D, H, W]; arguments of `functional.avg_pool3d`."""

    function = staticmethod(F.avg_pool3d)


class AdaptiveMaxPool1d(_AdaptivePool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptivePool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptivePool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool3d)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool3d)
