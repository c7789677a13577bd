"""Convolution and attention of half types by cuDNN; see `cupy_cudnn`.

NotImplemented asks for the other form: products and kernels of this backend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cupy as cp

from autograd_gpu.backends import cupy_settings
from autograd_gpu.backends.cupy_cudnn import ALIGNMENT, Layout, Spelling, plan_for, run, takes
from autograd_gpu.backends.cupy_cudnn_masks import Masking, bias_layout

Array = Any
Pair = tuple[int, int]
Padding = tuple[Pair, Pair]


# --- convolution: arguments are those of `convolution` -------------------------------------------


def _window(stride: Pair, padding: Padding, dilation: Pair) -> dict[str, list[int]]:
    return {
        "pre_padding": [before for before, _ in padding],
        "post_padding": [after for _, after in padding],
        "stride": list(stride),
        "dilation": list(dilation),
    }


def _conv(cudnn: Any, graph: Any, x: Any, weight: Any, **window: Any) -> Sequence[Any]:
    return [graph.conv_fprop(image=x, weight=weight, **_window(**window))]


def _conv_input(cudnn: Any, graph: Any, g: Any, weight: Any, **window: Any) -> Sequence[Any]:
    return [graph.conv_dgrad(loss=g, filter=weight, **_window(**window))]


def _conv_weight(cudnn: Any, graph: Any, x: Any, g: Any, **window: Any) -> Sequence[Any]:
    return [graph.conv_wgrad(image=x, loss=g, **_window(**window))]


def conv2d(
    x: Array, weight: Array, *, out: Pair, stride: Pair, padding: Padding, dilation: Pair
) -> Array:
    """The output of extent `out`, without a bias; the weight's channels tell the groups."""
    shape = (x.shape[0], weight.shape[0], *out)
    return _convolved("conv2d", _conv, x, weight, shape, stride, padding, dilation)


def conv2d_input(
    g: Array, weight: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair,
    groups: int,
) -> Array:  # fmt: skip
    """The gradient for the images."""
    shape = (g.shape[0], weight.shape[1] * groups, *size)
    return _convolved("conv2d_input", _conv_input, g, weight, shape, stride, padding, dilation)


def conv2d_weight(
    x: Array, g: Array, *, size: Pair, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> Array:
    """The gradient for the weight."""
    shape = (g.shape[1], x.shape[1] // groups, *size)
    return _convolved("conv2d_weight", _conv_weight, x, g, shape, stride, padding, dilation)


def _convolved(
    op: str, spelling: Spelling, a: Array, b: Array, shape: tuple[int, ...],
    stride: Pair, padding: Padding, dilation: Pair,
) -> Array:  # fmt: skip
    if not takes(a, b):
        return NotImplemented
    results = run(
        op,
        spelling,
        [cp.ascontiguousarray(a), cp.ascontiguousarray(b)],
        [Layout.dense(shape, a.dtype.name)],
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
    return NotImplemented if results is None else results[0]


# --- attention: names and arguments are those of the steps in `autograd_gpu.ops.attention` -------


def _options(cudnn: Any, scale: float, is_causal: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"attn_scale": scale}
    if is_causal:  # a query sees the keys up to its own position, counted from the first
        options["diagonal_alignment"] = cudnn.diagonal_alignment.TOP_LEFT
        options["diagonal_band_right_bound"] = 0
    return options


def _attention(
    cudnn: Any, graph: Any, q: Any, k: Any, v: Any, bias: Any = None, **params: Any
) -> Sequence[Any]:
    options = _options(cudnn, **params)
    if bias is not None:
        options["bias"] = bias
    made: Sequence[Any] = graph.sdpa(q=q, k=k, v=v, generate_stats=True, **options)
    return made


def _attention_gradients(
    cudnn: Any, graph: Any, q: Any, k: Any, v: Any, y: Any, g: Any, stats: Any, bias: Any = None,
    **params: Any,
) -> Sequence[Any]:  # fmt: skip
    options = _options(cudnn, **params)
    if bias is not None:
        options["bias"] = bias
    made: Sequence[Any] = graph.sdpa_backward(
        q=q, k=k, v=v, o=y, dO=g, stats=stats,
        use_deterministic_algorithm=cupy_settings.deterministic, **options,
    )  # fmt: skip
    return made


class Statistics(NamedTuple):
    """What cuDNN's forward keeps for its backward: log-sums of exponentials [B, H, L, 1], and what
    `cupy_cudnn_masks` makes of a bias and a mask, if there are any."""

    array: Array
    masking: Masking | None = None


def attended(
    q: Array, k: Array, v: Array, bias: Any, mask: Any, keep: Any, *,
    scale: float, is_causal: bool, p: float,
) -> Any:  # fmt: skip
    """The value of `attention`, and what its gradients need."""
    if keep is not None or not _fit(q, k, v) or not takes(q, k, v):
        return NotImplemented
    added = None
    if not (bias is mask is None):
        added = bias_layout(q, k, bias, mask)
        if added is None:
            return NotImplemented
    shape, ndim = (*q.shape[:-1], v.shape[-1]), q.ndim
    q, k, v = map(_as_heads, (q, k, v))
    y = _like(q)
    stats = Layout.dense((*y.dim[:3], 1), "float32")
    params = {"scale": scale, "is_causal": is_causal}
    # taken only if the backward is too: no other form could go on from the statistics
    given = [Layout.of(q), Layout.of(k), Layout.of(v), y, y, stats]
    given += [] if added is None else [added]
    made = [_like(q), _like(k), _like(v)]
    if plan_for("attention_gradients", _attention_gradients, given, made, params) is None:
        return NotImplemented
    masking = None if added is None else Masking.of(bias, mask, added, q.dtype, ndim, is_causal)
    inputs = [q, k, v] if masking is None else [q, k, v, masking.bias]
    results = run("attention", _attention, inputs, [y, stats], **params)
    if results is None:
        return NotImplemented
    if masking is not None:
        masking.clear(results[0], results[0])
    return results[0].reshape(shape), Statistics(results[1], masking)


def attention_gradients(
    g: Array, y: Array, q: Array, k: Array, v: Array, bias: Any, mask: Any, keep: Any, kept: Any,
    needs: Sequence[bool], *, scale: float, is_causal: bool, p: float,
) -> Any:  # fmt: skip
    """The gradients for `q`, `k` and `v`; that for a bias is computed by products."""
    if not isinstance(kept, Statistics) or (bias is not None and needs[3]):
        return NotImplemented
    shapes = [x.shape for x in (q, k, v)]
    q, k, v, y, g = map(_as_heads, (q, k, v, y, g))
    own, masking = _like(q), kept.masking
    if masking is not None:
        g = masking.clear(g, own.empty(g.dtype))
    y, g = (_laid_out(x, own) for x in (y, g))
    results = run(
        "attention_gradients",
        _attention_gradients,
        [q, k, v, y, g, kept.array, *([] if masking is None else [masking.bias])],
        [own, _like(k), _like(v)],
        scale=scale,
        is_causal=is_causal,
    )
    if results is None:  # there was one when the forward looked
        raise RuntimeError(
            "attention: cuDNN has no plan for the backward of a forward that it made; was "
            "set_deterministic called in between?"
        )
    return (*(x.reshape(shape) for x, shape in zip(results, shapes, strict=True)), None)


def _fit(q: Array, k: Array, v: Array) -> bool:
    """Whether cuDNN might take these: [B, H, L, E] with rows in one piece, of one width."""
    width = q.shape[-1]
    return (
        q.ndim == k.ndim == v.ndim <= 4
        and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
        and k.shape[-1] == v.shape[-1] == width
        and width % 8 == 0
        and all(
            x.strides[-1] == x.itemsize
            and all(
                n == 1 or (s > 0 and s % ALIGNMENT == 0)
                for n, s in zip(x.shape[:-1], x.strides[:-1], strict=True)
            )
            for x in (q, k, v)
        )
    )


def _as_heads(x: Array) -> Array:
    """[..., L, E] as [B, H, L, E]."""
    if x.ndim == 4:
        return x
    return x[:, None] if x.ndim == 3 else x[(None,) * (4 - x.ndim)]


def _like(x: Array) -> Layout:
    """Dense, with the axes in memory in the order of those of `x`: heads stay beside each other."""
    order = sorted(range(4), key=lambda axis: (axis == 3, -x.strides[axis]))
    return Layout.dense(x.shape, x.dtype.name, order)


def _laid_out(x: Array, layout: Layout) -> Array:
    """`x`, or a copy of it that has that layout."""
    if Layout.of(x) == layout and x.data.ptr % ALIGNMENT == 0:
        return x
    out = layout.empty(x.dtype)
    out[...] = x
    return out
