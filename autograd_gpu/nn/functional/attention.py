"""Attention."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import as_raw, shape_of
from autograd_gpu.ops.attention import scores_shape
from autograd_gpu.placement import on_its_device
from autograd_gpu.random import default_generator
from autograd_gpu.variable import Variable


@on_its_device
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Variable:
    """softmax(q kᵀ · scale) v for `query` [..., L, E], `key` [..., S, E] and `value` [..., S, D].

    Parameters
    ----------
    attn_mask
        Broadcasts to [..., L, S]: bools, True where a query may look, or numbers, which are added.
    is_causal
        Whether a query sees only the keys up to its own position.
    scale
        1 / sqrt(E) unless given.
    enable_gqa
        Whether `key` and `value`, [..., G, S, E], may have fewer heads than `query`,
        [..., H, L, E]: each is then for H / G of its heads.

    A query that sees no key gets zeros.
    """
    q, k, v = query, key, value
    if enable_gqa:
        k, v = _for_each_query("scaled_dot_product_attention", q, k, v)
    shapes = shape_of(q), shape_of(k), shape_of(v)
    if (
        min(map(len, shapes)) < 2
        or shapes[0][-1] != shapes[1][-1]
        or shapes[1][-2] != shapes[2][-2]
    ):
        raise ValueError(
            f"scaled_dot_product_attention: q {list(shapes[0])}, k {list(shapes[1])} and "
            f"v {list(shapes[2])} must be [..., L, E], [..., S, E] and [..., S, D]"
        )
    scale = shapes[0][-1] ** -0.5 if scale is None else scale
    operands = [q, k, v]
    has_bias = False
    if attn_mask is not None:
        mask = as_raw(attn_mask, q)
        scores = scores_shape(*shapes[:2])
        if not _broadcasts(mask.shape, scores):
            raise ValueError(
                f"scaled_dot_product_attention: attn_mask {list(mask.shape)} does not broadcast to "
                f"the scores {list(scores)}"
            )
        has_bias = mask.dtype.kind != "b"
        operands.append(attn_mask if isinstance(attn_mask, Variable) else mask)
    if not 0 <= dropout_p <= 1:
        raise ValueError(
            f"scaled_dot_product_attention: dropout_p={dropout_p} must be a probability"
        )
    if not 0 < dropout_p < 1:
        y = ops.attention(operands, scale, is_causal, has_bias)
        return y if dropout_p == 0 else ops.multiply(y, 0.0)
    seed, offset = default_generator().next_key()
    return ops.attention(operands, scale, is_causal, has_bias, dropout_p, seed, offset)


def _for_each_query(op: str, q: Any, k: Any, v: Any) -> tuple[Variable, Variable]:
    """Keys and values with as many heads as queries have."""
    shapes = shape_of(q), shape_of(k), shape_of(v)
    heads = [shape[-3] if len(shape) > 2 else 0 for shape in shapes]
    if not min(heads) or heads[1] != heads[2] or heads[0] % heads[1]:
        raise ValueError(
            f"{op}: with enable_gqa the heads of q, a multiple of those of k and v, are on axis "
            f"-3; the shapes are {[list(shape) for shape in shapes]}"
        )
    times = heads[0] // heads[1]
    return ops.repeat(k, times, axis=-3), ops.repeat(v, times, axis=-3)


def _broadcasts(shape: tuple[int, ...], onto: tuple[int, ...]) -> bool:
    n = len(onto) - len(shape)
    return n >= 0 and all(a in (1, b) for a, b in zip(shape, onto[n:], strict=True))
