"""Convolutions as Modules, with PyTorch's names, arguments and initial values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.functional.arguments import as_sizes
from autograd_gpu.nn.functional.convolution import padding_of
from autograd_gpu.nn.layers import empty, set_initial
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable

Size = int | Sequence[int]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    axes: ClassVar[int]
    function: ClassVar[Callable[..., Variable]]
    transposed: ClassVar[bool] = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        name, d = type(self).__name__, self.axes
        modes = ("zeros",) if self.transposed else _PADDING_MODES
        if padding_mode not in modes:
            raise ValueError(f"{name}: padding_mode is one of {modes}, not {padding_mode!r}")
        self.padding_mode = padding_mode
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: channels {in_channels} and {out_channels} must be multiples of "
                f"groups={groups}"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = as_sizes(name, "kernel_size", kernel_size, d)
        self.stride = as_sizes(name, "stride", stride, d)
        named = isinstance(padding, str) and not self.transposed
        self.padding: Any = padding if named else as_sizes(name, "padding", padding, d, 0)  # type: ignore[arg-type]
        self.dilation = as_sizes(name, "dilation", dilation, d)
        self.groups = groups
        if named:
            padding_of(name, padding, self.kernel_size, self.stride, self.dilation)
        first, second = out_channels, in_channels
        if self.transposed:
            first, second = second, first
        self.weight = Parameter(empty(first, second // groups, *self.kernel_size, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        set_initial(self, generator)

    def forward(self, x: Any) -> Variable:
        padding = self.padding
        if self.padding_mode != "zeros":
            sides = padding_of(
                type(self).__name__, padding, self.kernel_size, self.stride, self.dilation
            )
            # the last axis first
            widths = [width for side in reversed(sides) for width in side]
            x, padding = F.pad(x, widths, self.padding_mode), 0
        return type(self).function(
            x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        defaults = {"padding": 0, "output_padding": 0, "dilation": 1}
        for name, default in defaults.items():
            value = getattr(self, name, (default,))
            if isinstance(value, str) or set(value) != {default}:
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_Conv):
    """Correlates signals [N, C, L] with kernels; see `functional.conv1d`."""

    axes = 1
    function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Correlates images [N, C, H, W] with kernels; see `functional.conv2d`."""

    axes = 2
    function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Correlates volumes [N, C, D, H, W] with kernels; see `functional.conv3d`."""

    axes = 3
    function = staticmethod(F.conv3d)


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, dtype=dtype, generator=generator,
        )  # fmt: skip
        self.output_padding = as_sizes(
            type(self).__name__, "output_padding", output_padding, self.axes, 0
        )

    def forward(self, x: Any, output_size: Sequence[int] | None = None) -> Variable:
        """The transpose of the convolution of an array of `output_size`, its last axes or all.

        Without it the output is the smallest possible, and `output_padding` larger.
        """
        extra = self.output_padding
        if output_size is not None:
            extra = self._missing(x.shape, output_size)
        return type(self).function(
            x, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip

    def _missing(self, shape: tuple[int, ...], output_size: Sequence[int]) -> tuple[int, ...]:
        d = self.axes
        least = [
            (n - 1) * s - 2 * p + step * (k - 1) + 1
            for n, s, p, step, k in zip(
                shape[-d:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        wanted = tuple(output_size)[-d:]
        if len(wanted) != d or not all(
            n <= w < n + s for n, w, s in zip(least, wanted, self.stride, strict=True)
        ):
            raise ValueError(
                f"{type(self).__name__}: output_size {tuple(output_size)} must be at least {least} "
                f"and less than a stride {self.stride} more"
            )
        return tuple(w - n for w, n in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """The transpose of a `Conv1d`; see `functional.conv_transpose1d`."""

    axes = 1
    function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The transpose of a `Conv2d`; see `functional.conv_transpose2d`.

    >>> ConvTranspose2d(2, 3, 2, stride=2)(ones((1, 2, 4, 4))).shape
    (1, 3, 8, 8)
    """

    axes = 2
    function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The transpose of a `Conv3d`; see `functional.conv_transpose3d`."""

    axes = 3
    function = staticmethod(F.conv_transpose3d)
