"""Borders as Modules: one class for each mode and number of axes, and `Pad` for any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable

Widths = int | Sequence[int]


class Pad(Module):
    """A border; arguments of `functional.pad`."""

    def __init__(
        self, padding: Sequence[int], mode: str = "constant", value: float | None = None
    ) -> None:
        super().__init__()
        self.padding, self.mode, self.value = tuple(padding), mode, value

    def forward(self, x: Any) -> Variable:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}, mode={self.mode!r}"


class _Border(Module):
    """Pads the last `axes` axes; one width for all sides, or one for each."""

    mode: ClassVar[str]
    axes: ClassVar[int]

    def __init__(self, padding: Widths) -> None:
        super().__init__()
        sides = 2 * self.axes
        self.padding = (padding,) * sides if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != sides:
            raise ValueError(
                f"{type(self).__name__}: padding is an integer or {sides} of them, not {padding!r}"
            )

    def forward(self, x: Any) -> Variable:
        if len(x.shape) not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"{type(self).__name__}: x must have {self.axes + 1} or {self.axes + 2} axes, not "
                f"{list(x.shape)}"
            )
        return F.pad(x, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _Constant(_Border):
    mode = "constant"

    def __init__(self, padding: Widths, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, x: Any) -> Variable:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_Constant):
    """A border of one value around [N, C, L]."""

    axes = 1


class ConstantPad2d(_Constant):
    """A border of one value around [N, C, H, W]."""

    axes = 2


class ConstantPad3d(_Constant):
    """A border of one value around [N, C, D, H, W]."""

    axes = 3


class ZeroPad1d(_Border):
    """A border of zeros around [N, C, L]."""

    mode = "constant"
    axes = 1


class ZeroPad2d(_Border):
    """A border of zeros around [N, C, H, W]."""

    mode = "constant"
    axes = 2


class ZeroPad3d(_Border):
    """A border of zeros around [N, C, D, H, W]."""

    mode = "constant"
    axes = 3


class ReflectionPad1d(_Border):
    """A border that mirrors, without repeating the edge, [N, C, L]."""

    mode = "reflect"
    axes = 1


class ReflectionPad2d(_Border):
    """A border that mirrors, without repeating the edge, [N, C, H, W]."""

    mode = "reflect"
    axes = 2


class ReflectionPad3d(_Border):
    """A border that mirrors, without repeating the edge, [N, C, D, H, W]."""

    mode = "reflect"
    axes = 3


class ReplicationPad1d(_Border):
    """A border that repeats the edge of [N, C, L]."""

    mode = "replicate"
    axes = 1


class ReplicationPad2d(_Border):
    """A border that repeats the edge of [N, C, H, W]."""

    mode = "replicate"
    axes = 2


class ReplicationPad3d(_Border):
    """A border that repeats the edge of [N, C, D, H, W]."""

    mode = "replicate"
    axes = 3


class CircularPad1d(_Border):
    """A border that goes on at the other end of [N, C, L]."""

    mode = "circular"
    axes = 1


class CircularPad2d(_Border):
    """A border that goes on at the other end of [N, C, H, W]."""

    mode = "circular"
    axes = 2


class CircularPad3d(_Border):
    """A border that goes on at the other end of [N, C, D, H, W]."""

    mode = "circular"
    axes = 3
