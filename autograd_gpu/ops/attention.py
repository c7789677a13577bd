"""Scaled dot-product attention as one op, dropout within."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import NAMESPACES, Array, Namespace
from autograd_gpu.ops.classification import masked_softmax
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.ops.nested import call, wide
from autograd_gpu.ops.softmax import softmax
from autograd_gpu.primitive import primitive
from autograd_gpu.variable import Variable


@kernel
def attended(
    xp: Namespace,
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    mask: Any,
    keep: Any,
    *,
    scale: float,
    is_causal: bool,
    p: float,
) -> tuple[Any, Any]:
    """The value of `attention`, and what `attention_gradients` gets as `kept`."""
    shares = _shares(xp, q, k, bias, mask, scale, is_causal)
    y = xp.matmul(_like(xp, _dropped(shares, keep, p), v), v)
    return y, shares


@kernel
def attention_gradients(
    xp: Namespace,
    g: Any,
    y: Any,
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    mask: Any,
    keep: Any,
    kept: Any,
    needs: Sequence[bool],
    *,
    scale: float,
    is_causal: bool,
    p: float,
) -> Sequence[Any]:
    """The gradients of `attention` for `q`, `k`, `v` and `bias`, where they are needed."""
    # what a form of a backend's own keeps may be something else
    is_known = hasattr(kept, "dtype")
    shares = kept if is_known else _shares(xp, q, k, bias, mask, scale, is_causal)
    grad_v = None
    if needs[2]:
        grad_v = xp.matmul(xp.matrix_transpose(_like(xp, xp.conj(_dropped(shares, keep, p)), g)), g)
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, grad_v, None
    # with respect to the shares, and with respect to the scores
    inner = _dropped(wide(xp, xp.matmul(g, xp.matrix_transpose(xp.conj(v)))), keep, p)
    along = xp.conj(shares)
    d = along * (inner - xp.sum(inner * along, axis=-1, keepdims=True))
    grad_bias, d = d, _like(xp, d, q)
    return (
        xp.matmul(d, xp.conj(k)) * scale if needs[0] else None,
        xp.matmul(xp.matrix_transpose(d), xp.conj(q)) * scale if needs[1] else None,
        grad_v,
        grad_bias if needs[3] else None,
    )


def _shares(
    xp: Namespace, q: Any, k: Any, bias: Any, mask: Any, scale: float, is_causal: bool
) -> Any:
    """softmax of the scores [..., L, S]: how much of each value a query gets."""
    scores = wide(xp, xp.matmul(q * scale, xp.matrix_transpose(k)))
    seen = mask
    if bias is not None:
        scores = scores + bias
        seen = _both(seen, bias > -math.inf)
    if is_causal:
        raw = _namespace(q)
        seen = _both(seen, raw.tril(raw.ones(scores.shape[-2:], dtype=bool)))
    if seen is None:
        return call(xp, softmax, scores, axis=-1)
    return call(xp, masked_softmax, scores, seen)


def _both(a: Any, b: Any) -> Any:
    return b if a is None else a & b


def _dropped(x: Any, keep: Any, p: float) -> Any:
    return x if keep is None else x * keep * (1 / (1 - p))


def _like(xp: Namespace, x: Any, other: Any) -> Any:
    """`x` in a half type where that is what `other` has."""
    return xp.astype(x, other.dtype) if other.dtype.itemsize == 2 else x


def _namespace(x: Any) -> Namespace:
    """That of the arrays; what depends on no gradient is an array also beside Variables."""
    return NAMESPACES[type(x.value if isinstance(x, Variable) else x)]


def _named(operands: Sequence[Any], has_bias: bool) -> tuple[Any, Any, Any, Any, Any]:
    q, k, v, *others = operands
    bias = others.pop(0) if has_bias else None
    return q, k, v, bias, others[0] if others else None


def _keep(q: Any, k: Any, p: float, seed: int, offset: int) -> Any:
    """Which of the shares dropout leaves: drawn for their shape, so equal on every backend."""
    if not p:
        return None
    return _namespace(q).random_unit(scores_shape(q.shape, k.shape), seed, offset) >= p


def scores_shape(q: tuple[int, ...], k: tuple[int, ...]) -> tuple[int, ...]:
    """[..., L, S], of queries and keys of these shapes, whose batches broadcast."""
    n = max(len(q), len(k))
    leads = [(1,) * (n - len(shape)) + tuple(shape[:-2]) for shape in (q, k)]
    batch = [b if a == 1 else a for a, b in zip(*leads, strict=True)]
    return (*batch, q[-2], k[-2])


def _gradients(
    xp: Namespace,
    g: Any,
    y: Any,
    operands: Sequence[Any],
    needs: Sequence[bool],
    aux: Any,
    scale: float,
    is_causal: bool,
    has_bias: bool,
    p: float,
    seed: int,
    offset: int,
) -> Sequence[Any]:
    q, k, v, bias, mask = _named(operands, has_bias)
    keep, kept = (_keep(q, k, p, seed, offset), None) if aux is None else aux
    every = (*needs[:3], has_bias and needs[3])
    grads = attention_gradients(
        xp, g, y, q, k, v, bias, mask, keep, kept, every, scale=scale, is_causal=is_causal, p=p
    )
    return [*grads[: 3 + has_bias], None][: len(needs)]


@primitive(aux=True, cast="narrowed", operands=_gradients)
def attention(
    xp: Namespace,
    *operands: Array,
    scale: float,
    is_causal: bool = False,
    has_bias: bool = False,
    p: float = 0.0,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Array, Any]:
    """softmax(q kᵀ · scale + bias) v, where a query sees the keys that the mask leaves it.

    The operands are q [..., L, E], k [..., S, E], v [..., S, D], with `has_bias` numbers that
    broadcast to [..., L, S], and, if given, bools that do.  With `is_causal` a query sees no key
    after its own position.  A query that sees no key gets zeros.  Of the shares that values have in
    a result, dropout sets some to 0 with probability `p` < 1, by numbers that depend on `seed` and
    `offset`.
    """
    q, k, v, bias, mask = _named(operands, has_bias)
    keep = _keep(q, k, p, seed, offset)
    y, kept = attended(xp, q, k, v, bias, mask, keep, scale=scale, is_causal=is_causal, p=p)
    return y, (keep, kept)
