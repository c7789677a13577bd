"""Images in other sizes, and channels that become pixels, as Modules."""

from __future__ import annotations

from typing import Any

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.function_module import FunctionModule


class Upsample(FunctionModule):
    """Images in another size; see `functional.interpolate`."""

    function = staticmethod(F.interpolate)
    names = ("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")

    def extra_repr(self) -> str:
        given = "size" if self.scale_factor is None else "scale_factor"
        return f"{given}={getattr(self, given)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images by their nearest pixels."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images by linear interpolation, where the corners keep their values."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)


class PixelShuffle(FunctionModule):
    """Channels become pixels; see `functional.pixel_shuffle`."""

    function = staticmethod(F.pixel_shuffle)
    names = ("upscale_factor",)


class PixelUnshuffle(FunctionModule):
    """Pixels become channels; see `functional.pixel_unshuffle`."""

    function = staticmethod(F.pixel_unshuffle)
    names = ("downscale_factor",)


class ChannelShuffle(FunctionModule):
    """Channels of all groups in turn; see `functional.channel_shuffle`."""

    function = staticmethod(F.channel_shuffle)
    names = ("groups",)


class Unfold(FunctionModule):
    """Windows as columns; see `functional.unfold`."""

    function = staticmethod(F.unfold)
    names = ("kernel_size", "dilation", "padding", "stride")


class Fold(FunctionModule):
    """Columns added up as windows; see `functional.fold`."""

    function = staticmethod(F.fold)
    names = ("output_size", "kernel_size", "dilation", "padding", "stride")
