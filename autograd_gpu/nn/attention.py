"""Multi-head attention, with PyTorch's parameter names."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.functional.arguments import as_raw, backend_near
from autograd_gpu.nn.layers import Linear, empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.placement import on_its_device
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


class MultiheadAttention(Module):
    """Attention in `num_heads` parts of the width (Vaswani et al., 2017).

    `add_bias_kv` adds a trained key with its value to each sequence, `add_zero_attn` a key and a
    value of zeros; every query sees them.

    >>> attention = MultiheadAttention(8, 2, batch_first=True)
    >>> x = ones((3, 5, 8))
    >>> y, weights = attention(x, x, x)
    >>> y.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim={embed_dim} must be a multiple of "
                f"num_heads={num_heads}"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"MultiheadAttention: dropout={dropout} must be a probability")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self.is_joined = self.kdim == self.vdim == embed_dim
        shapes = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if self.is_joined else None,
            "q_proj_weight": None if self.is_joined else (embed_dim, embed_dim),
            "k_proj_weight": None if self.is_joined else (embed_dim, self.kdim),
            "v_proj_weight": None if self.is_joined else (embed_dim, self.vdim),
        }
        for name, shape in shapes.items():
            self.register_parameter(
                name, None if shape is None else Parameter(empty(*shape, dtype=dtype))
            )
        self.register_parameter(
            "in_proj_bias", Parameter(empty(3 * embed_dim, dtype=dtype)) if bias else None
        )
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype, generator=generator)
        for name in ("bias_k", "bias_v"):
            extra = Parameter(empty(1, 1, embed_dim, dtype=dtype)) if add_bias_kv else None
            self.register_parameter(name, extra)
            if extra is not None:
                init.xavier_normal_(extra, generator=generator)
        for name, shape in shapes.items():
            if shape is not None:
                init.xavier_uniform_(getattr(self, name), generator=generator)
        if bias:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Variable, Variable | None]:
        """The output, like `query`, and the attention weights [N, L, S] if wanted.

        Parameters
        ----------
        query, key, value
            [L, N, E], [S, N, kdim] and [S, N, vdim]; N first with `batch_first`, or no N.
        key_padding_mask
            [N, S]: True for keys that nobody may see, or numbers to be added.
        attn_mask
            [L, S] or [N · heads, L, S]: True where a query may *not* look, or numbers to be added.
        average_attn_weights
            Whether the weights are the mean over the heads, or else [N, heads, L, S].
        is_causal
            Whether a query sees only the keys up to its own position.

        A query that sees no key gets zeros for its values.
        """
        query, key, value = (ops.asarray(x) for x in (query, key, value))
        single = query.ndim == 2
        widths = (self.embed_dim, self.kdim, self.vdim)
        if (
            {query.ndim, key.ndim, value.ndim} not in ({2}, {3})
            or (query.shape[-1], key.shape[-1], value.shape[-1]) != widths
            or key.shape[:-1] != value.shape[:-1]
        ):
            raise ValueError(
                f"MultiheadAttention: query {list(query.shape)}, key {list(key.shape)} and value "
                f"{list(value.shape)} must be [L, N, {widths[0]}], [S, N, {widths[1]}] and "
                f"[S, N, {widths[2]}]"
            )
        q, k, v = self._projected(query, key, value)
        if single:
            q, k, v = (ops.expand_dims(x, axis=0) for x in (q, k, v))
        elif not self.batch_first:
            q, k, v = (ops.swapaxes(x, 0, 1) for x in (q, k, v))
        n, length, heads = q.shape[0], q.shape[1], self.num_heads
        if k.shape[0] != n:
            raise ValueError(f"MultiheadAttention: {n} queries' and {k.shape[0]} keys' batches")
        q, k, v = (
            ops.swapaxes(ops.reshape(x, (n, x.shape[1], heads, -1)), 1, 2) for x in (q, k, v)
        )
        mask = self._mask(q, k, key_padding_mask, attn_mask)
        if self.bias_k is not None or self.add_zero_attn:
            k, v, mask = self._with_more_keys(k, v, mask, is_causal, length)
            is_causal = False  # the mask says it
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            # of weights nothing is kept but what attention to the identity gives
            y, weights = _with_weights(q, k, v, mask, is_causal, p)
            if average_attn_weights:
                weights = ops.mean(weights, axis=1)
            if single:
                weights = weights[0]
        else:
            y = F.scaled_dot_product_attention(q, k, v, mask, p, is_causal)
        y = ops.reshape(ops.swapaxes(y, 1, 2), (n, length, self.embed_dim))
        y = self.out_proj(y)
        if single:
            return y[0], weights
        return (y if self.batch_first else ops.swapaxes(y, 0, 1)), weights

    def _projected(
        self, query: Variable, key: Variable, value: Variable
    ) -> tuple[Variable, Variable, Variable]:
        e, bias = self.embed_dim, self.in_proj_bias
        if self.is_joined and query is key and key is value:
            joined = ops.linear(query, self.in_proj_weight, bias)
            return joined[..., :e], joined[..., e : 2 * e], joined[..., 2 * e :]
        if self.is_joined:
            weights = [self.in_proj_weight[i * e : (i + 1) * e] for i in range(3)]
        else:
            weights = [getattr(self, f"{x}_proj_weight") for x in "qkv"]
        biases = [None if bias is None else bias[i * e : (i + 1) * e] for i in range(3)]
        q, k, v = (
            ops.linear(x, w, b)
            for x, w, b in zip((query, key, value), weights, biases, strict=True)
        )
        return q, k, v

    @on_its_device
    def _with_more_keys(
        self, k: Variable, v: Variable, mask: Any, is_causal: bool, length: int
    ) -> tuple[Variable, Variable, Any]:
        """Keys and values [N, heads, S + more, width] and a mask for them; no mask hides these."""
        xp, s = backend_near(k).xp, k.shape[2]
        if is_causal:
            seen = xp.tril(xp.ones((length, s), dtype=bool))
            if mask is None:
                mask = seen
            elif mask.dtype.kind == "b":
                mask = mask & seen
            else:
                mask = xp.where(seen, mask, -float("inf"))
        if self.bias_k is not None:
            shape = (1, self.num_heads, 1, -1)
            k, v = (
                _appended(x, ops.reshape(extra, shape))
                for x, extra in ((k, self.bias_k), (v, self.bias_v))
            )
        if self.add_zero_attn:
            zero = xp.zeros((1, 1, 1, 1), dtype=k.dtype)
            k, v = _appended(k, zero), _appended(v, zero)
        if mask is not None:
            more = (*mask.shape[:-1], k.shape[2] - s)
            open_ = xp.ones(more, dtype=bool) if mask.dtype.kind == "b" else xp.zeros(more)
            mask = xp.concat([mask, open_.astype(mask.dtype)], axis=-1)
        return k, v, mask

    @on_its_device
    def _mask(self, q: Variable, k: Variable, padding: Any, attn: Any) -> Any:
        """What `scaled_dot_product_attention` takes: True where a query may look, or numbers."""
        n, heads, length, s = (*q.shape[:3], k.shape[2])
        masks = []
        if padding is not None:
            padding = as_raw(padding, q)
            if padding.shape not in ((n, s), (s,)):
                raise ValueError(
                    f"MultiheadAttention: key_padding_mask {list(padding.shape)} must be {[n, s]}"
                )
            masks.append(padding.reshape((-1, 1, 1, s)))
        if attn is not None:
            attn = as_raw(attn, q)
            if attn.shape not in ((length, s), (n * heads, length, s)):
                raise ValueError(
                    f"MultiheadAttention: attn_mask {list(attn.shape)} must be {[length, s]} or "
                    f"{[n * heads, length, s]}"
                )
            masks.append(attn if attn.ndim == 2 else attn.reshape((n, heads, length, s)))
        if not masks:
            return None
        if all(mask.dtype.kind == "b" for mask in masks):
            return ~masks[0] if len(masks) == 1 else ~(masks[0] | masks[1])
        xp = backend_near(q).xp
        numbers = [
            xp.where(mask, -float("inf"), 0.0).astype(q.dtype) if mask.dtype.kind == "b" else mask
            for mask in masks
        ]
        return numbers[0] if len(numbers) == 1 else numbers[0] + numbers[1]


def _appended(x: Variable, row: Any) -> Variable:
    """`x` [N, heads, S, width] with one more position, the same for all."""
    return ops.concat([x, ops.broadcast_to(row, (*x.shape[:2], 1, x.shape[3]))], axis=2)


def _with_weights(
    q: Variable, k: Variable, v: Variable, mask: Any, is_causal: bool, p: float
) -> tuple[Variable, Variable]:
    s = k.shape[2]
    identity = backend_near(q).xp.eye(s, dtype=q.dtype)
    eye = ops.broadcast_to(identity, (*k.shape[:2], s, s))
    weights = F.scaled_dot_product_attention(q, k, eye, mask, p, is_causal)
    return ops.matmul(weights, v), weights
