"""Pooling as Modules; arguments and values are those of the functions."""

from __future__ import annotations

from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.function_module import FunctionModule
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable


class _Pool(FunctionModule):
    kernel_size: Any
    stride: Any

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__(*values, **options)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPool(_Pool):
    names = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class _AvgPool(_Pool):
    names: ClassVar[tuple[str, ...]] = (
        "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override",
    )  # fmt: skip
    shown = ("kernel_size", "stride", "padding")


class _LPPool(FunctionModule):
    names = ("norm_type", "kernel_size", "stride", "ceil_mode")


class _AdaptiveMaxPool(FunctionModule):
    names = ("output_size", "return_indices")
    shown = ("output_size",)


class _AdaptiveAvgPool(FunctionModule):
    names = ("output_size",)


class _MaxUnpool(Module):
    function: ClassVar[Any]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride

    def forward(self, x: Any, indices: Any, output_size: Any = None) -> Variable:
        return type(self).function(  # type: ignore[no-any-return]
            x, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool1d(_MaxPool):
    """The maximum of each window of [N, C, L]; see `functional.max_pool1d`."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The maximum of each window of [N, C, H, W]; see `functional.max_pool2d`."""

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The maximum of each window of [N, C, D, H, W]; see `functional.max_pool3d`."""

    function = staticmethod(F.max_pool3d)


class AvgPool1d(_AvgPool):
    """The mean of each window of [N, C, L]; see `functional.avg_pool1d`."""

    function = staticmethod(F.avg_pool1d)
    names = _AvgPool.names[:-1]


class AvgPool2d(_AvgPool):
    """The mean of each window of [N, C, H, W]; see `functional.avg_pool2d`."""

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of [N, C, D, H, W]; see `functional.avg_pool3d`."""

    function = staticmethod(F.avg_pool3d)


class LPPool1d(_LPPool):
    """The p-norm of each window of [N, C, L]; see `functional.lp_pool1d`."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of [N, C, H, W]; see `functional.lp_pool2d`."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of [N, C, D, H, W]; see `functional.lp_pool3d`."""

    function = staticmethod(F.lp_pool3d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_max_pool3d)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of windows such that the output is [N, C, *output_size]."""

    function = staticmethod(F.adaptive_avg_pool3d)


class MaxUnpool1d(_MaxUnpool):
    """Puts the maxima of [N, C, L] back; see `functional.max_unpool1d`."""

    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Puts the maxima of [N, C, H, W] back; see `functional.max_unpool2d`."""

    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Puts the maxima of [N, C, D, H, W] back; see `functional.max_unpool3d`."""

    function = staticmethod(F.max_unpool3d)
