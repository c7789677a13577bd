"""What cuDNN's operations compute, in NumPy and float32: convolution and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .errors import IllegalCall

Shape = tuple[int, ...]


def check(op: str, *dims: Shape, **params: Any) -> None:
    """Raise IllegalCall unless the shapes of inputs and outputs go together."""
    if op.startswith("conv"):
        x, w, y = {
            "conv_fprop": dims,
            "conv_dgrad": (dims[2], dims[1], dims[0]),
            "conv_wgrad": (dims[0], dims[2], dims[1]),
        }[op]
        extent = tuple(
            (n + a + b - d * (k - 1) - 1) // s + 1
            for n, k, a, b, s, d in zip(
                x[2:], w[2:], params["pre_padding"], params["post_padding"], params["stride"],
                params["dilation"], strict=True,
            )
        )  # fmt: skip
        fits = y == (x[0], w[0], *extent) and x[1] % w[1] == 0 and w[0] % (x[1] // w[1]) == 0
    else:
        q, k, v = dims[:3]
        y = (*q[:3], v[3])
        fits = q[:2] == k[:2] == v[:2] and q[3] == k[3] and k[2] == v[2] and params["attn_scale"]
        stats = (*q[:3], 1)
        inputs, outputs = ((), (y, stats)) if op == "sdpa" else ((y, y, stats), (q, k, v))
        plain = len(inputs) + 3
        bias = dims[plain : len(dims) - len(outputs)]
        fits = fits and dims[3:plain] == inputs and dims[len(dims) - len(outputs) :] == outputs
        fits = fits and all(
            b[0] in (1, q[0]) and b[1] in (1, q[1]) and b[2:] == (q[2], k[2]) for b in bias
        )
    if not fits:
        raise IllegalCall(f"{op}: dims {dims} with {params} do not go together")


def _windows(
    image: Any, size: Shape, out: Shape, window: dict[str, list[int]]
) -> Iterator[tuple[int, int, Any]]:
    """For each element of the kernel the part of a padded image [.., h, w] that it meets."""
    (sh, sw), (dh, dw) = window["stride"], window["dilation"]
    for i in range(size[0]):
        for j in range(size[1]):
            rows = slice(i * dh, i * dh + sh * (out[0] - 1) + 1, sh)
            columns = slice(j * dw, j * dw + sw * (out[1] - 1) + 1, sw)
            yield i, j, image[..., rows, columns]


def _padded(x: Any, window: dict[str, list[int]]) -> Any:
    pads = list(zip(window["pre_padding"], window["post_padding"], strict=True))
    return np.pad(x, [(0, 0), (0, 0), *pads])


def _groups(x: Any, channels: int) -> Any:
    """[N, G, C, h, w] of [N, G C, h, w]."""
    return x.reshape(x.shape[0], -1, channels, *x.shape[2:])


def _fprop(inputs: list[Any], outputs: list[Shape], **window: Any) -> list[Any]:
    x, w = inputs
    (shape,) = outputs
    groups = x.shape[1] // w.shape[1]
    w = w.reshape(groups, -1, *w.shape[1:])
    y = np.zeros((shape[0], groups, shape[1] // groups, *shape[2:]), x.dtype)
    image = _groups(_padded(x, window), w.shape[2])
    for i, j, part in _windows(image, w.shape[3:], shape[2:], window):
        y += np.einsum("ngchw,goc->ngohw", part, w[..., i, j])
    return [y.reshape(shape)]


def _dgrad(inputs: list[Any], outputs: list[Shape], **window: Any) -> list[Any]:
    g, w = inputs
    (shape,) = outputs
    groups = shape[1] // w.shape[1]
    w = w.reshape(groups, -1, *w.shape[1:])
    image = _groups(_padded(np.zeros(shape, g.dtype), window), w.shape[2])
    g = _groups(g, w.shape[1])
    for i, j, part in _windows(image, w.shape[3:], g.shape[3:], window):
        part += np.einsum("ngohw,goc->ngchw", g, w[..., i, j])
    (top, left), (h, width) = window["pre_padding"], shape[2:]
    return [image[..., top : top + h, left : left + width].reshape(shape)]


def _wgrad(inputs: list[Any], outputs: list[Shape], **window: Any) -> list[Any]:
    x, g = inputs
    (shape,) = outputs
    image = _groups(_padded(x, window), shape[1])
    groups = image.shape[1]
    g = _groups(g, shape[0] // groups)
    dw = np.zeros((groups, shape[0] // groups, *shape[1:]), x.dtype)
    for i, j, part in _windows(image, shape[2:], g.shape[3:], window):
        dw[..., i, j] = np.einsum("ngohw,ngchw->goc", g, part)
    return [dw.reshape(shape)]


def _scores(q: Any, k: Any, bias: list[Any], params: dict[str, Any]) -> Any:
    scores = q @ k.swapaxes(-1, -2) * params["attn_scale"]
    for b in bias:
        scores = scores + b
    bound = params.get("diagonal_band_right_bound")
    if bound is not None:
        if params["diagonal_alignment"].name != "TOP_LEFT":
            raise IllegalCall("the emulated cuDNN aligns diagonals at the top left only")
        seen = np.tril(np.ones(scores.shape[-2:], bool), bound)
        scores = np.where(seen, scores, -np.inf)
    return scores


def _sdpa(inputs: list[Any], outputs: list[Shape], **params: Any) -> list[Any]:
    q, k, v, *bias = inputs
    if params.get("generate_stats") is not True:
        raise IllegalCall("sdpa without statistics has one output")
    scores = _scores(q, k, bias, params)
    top = scores.max(axis=-1, keepdims=True)
    stats = top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
    return [np.exp(scores - stats) @ v, stats]


def _sdpa_backward(inputs: list[Any], outputs: list[Shape], **params: Any) -> list[Any]:
    q, k, v, o, g, stats, *bias = inputs
    shares = np.exp(_scores(q, k, bias, params) - stats)
    inner = g @ v.swapaxes(-1, -2) - (g * o).sum(axis=-1, keepdims=True)
    d = shares * inner * params["attn_scale"]
    return [d @ k, d.swapaxes(-1, -2) @ q, shares.swapaxes(-1, -2) @ g]


RUN: dict[str, Callable[..., list[Any]]] = {
    "conv_fprop": _fprop,
    "conv_dgrad": _dgrad,
    "conv_wgrad": _wgrad,
    "sdpa": _sdpa,
    "sdpa_backward": _sdpa_backward,
}
