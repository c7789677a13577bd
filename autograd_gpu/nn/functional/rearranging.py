"""Channels that become pixels, windows that become columns, and back."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import shape_of
from autograd_gpu.variable import Variable


def pixel_shuffle(x: Any, upscale_factor: int) -> Variable:
    """[..., C r², H, W] to [..., C, H r, W r]: channels become pixels."""
    shape = shape_of(x)
    r = upscale_factor
    if len(shape) < 3 or r < 1 or shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: x {list(shape)} must be [..., C, H, W], C a multiple of {r}²"
        )
    *lead, c, h, w = shape
    k = len(lead)
    y = ops.reshape(x, (*lead, c // (r * r), r, r, h, w))
    y = ops.permute_dims(y, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return ops.reshape(y, (*lead, c // (r * r), h * r, w * r))
