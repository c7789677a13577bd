"""Channels that become pixels, windows that become columns, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import load_backend
from autograd_gpu.nn.functional.arguments import as_sizes, backend_near, shape_of
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


def pixel_unshuffle(x: Any, downscale_factor: int) -> Variable:
    """[..., C, H r, W r] to [..., C r², H, W]: the inverse of `pixel_shuffle`."""
    shape = shape_of(x)
    r = downscale_factor
    if len(shape) < 3 or r < 1 or shape[-2] % r or shape[-1] % r:
        raise ValueError(
            f"pixel_unshuffle: x {list(shape)} must be [..., C, H, W], H and W multiples of {r}"
        )
    *lead, c, h, w = shape
    k = len(lead)
    y = ops.reshape(x, (*lead, c, h // r, r, w // r, r))
    y = ops.permute_dims(y, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return ops.reshape(y, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Variable:
    """The channels of `x` [N, C, ...] dealt out: the first of each group, then the second, ...

    >>> channel_shuffle(reshape(arange(4.0), (1, 4, 1)), 2).tolist()
    [[[0.0], [2.0], [1.0], [3.0]]]
    """
    shape = shape_of(x)
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: x {list(shape)} must be [N, C, ...], C a multiple of {groups}"
        )
    y = ops.reshape(x, (shape[0], groups, shape[1] // groups, -1))
    return ops.reshape(ops.swapaxes(y, 1, 2), shape)


def unfold(
    x: Any,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Variable:
    """The windows of `x` [N, C, H, W] as columns [N, C kh kw, windows], or without N.

    >>> unfold(reshape(arange(6.0), (1, 1, 2, 3)), 2).tolist()
    [[[0.0, 1.0], [1.0, 2.0], [3.0, 4.0], [4.0, 5.0]]]
    """
    x = ops.asarray(x)
    if x.ndim not in (3, 4):
        raise ValueError(f"unfold: x must be [N, C, H, W] or [C, H, W], not {list(x.shape)}")
    *lead, c, h, w = x.shape
    places, pads, size = _windows("unfold", (h, w), kernel_size, dilation, padding, stride)
    if any(pads):
        x = ops.pad(x, ((0, 0), *[(0, 0)] * len(lead), *[(p, p) for p in pads]))
    columns = ops.take(
        ops.reshape(x, (*lead, c, -1)), backend_near(x).constant(places.reshape(-1)), axis=-1
    )
    return ops.reshape(columns, (*lead, c * size, -1))


def fold(
    x: Any,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Variable:
    """Columns [N, C kh kw, windows] added up where `unfold` read them in [N, C, *output_size].

    >>> fold(ones((1, 4, 2)), (2, 3), 2).tolist()
    [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]]
    """
    x = ops.asarray(x)
    h, w = as_sizes("fold", "output_size", output_size, 2)
    places, pads, size = _windows("fold", (h, w), kernel_size, dilation, padding, stride)
    if x.ndim not in (2, 3) or x.shape[-2] % size or x.shape[-1] != places.shape[1]:
        raise ValueError(
            f"fold: x {list(x.shape)} must be [N, C · {size}, {places.shape[1]}], for that many "
            f"windows in {h} x {w}"
        )
    *lead, rows, _ = x.shape
    c = rows // size
    height, width = h + 2 * pads[0], w + 2 * pads[1]
    columns = ops.reshape(x, (*lead, c, -1))
    index = (..., backend_near(x).constant(places.reshape(-1)))
    image = ops.scatter_add(columns, index, (*lead, c, height * width))
    image = ops.reshape(image, (*lead, c, height, width))
    return image[..., pads[0] : pads[0] + h, pads[1] : pads[1] + w]


def _windows(
    op: str, extent: tuple[int, int], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Any, tuple[int, ...], int]:
    """Places [kh · kw, windows] in the padded, flat image on the host, the padding, and kh · kw."""
    size = as_sizes(op, "kernel_size", kernel_size, 2)
    steps = as_sizes(op, "stride", stride, 2)
    spread = as_sizes(op, "dilation", dilation, 2)
    pads = as_sizes(op, "padding", padding, 2, 0)
    xp = load_backend("numpy").xp
    axes = []
    for n, k, s, d, p in zip(extent, size, steps, spread, pads, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        if room < 0:
            raise ValueError(
                f"{op}: a window of {d * (k - 1) + 1} does not fit into {n} with padding {p}"
            )
        axes.append(xp.arange(k)[:, None] * d + xp.arange(room // s + 1) * s)
    (i, j), width = axes, extent[1] + 2 * pads[1]
    places = i[:, None, :, None] * width + j[None, :, None, :]
    return places.reshape((size[0] * size[1], -1)), pads, size[0] * size[1]
