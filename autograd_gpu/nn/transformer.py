"""The transformer's encoder and decoder (Vaswani et al., 2017), with PyTorch's parameter names."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import current_backend
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.attention import MultiheadAttention
from autograd_gpu.nn.containers import ModuleList
from autograd_gpu.nn.dropout import Dropout
from autograd_gpu.nn.layers import Linear
from autograd_gpu.nn.module import Module
from autograd_gpu.nn.normalization import LayerNorm
from autograd_gpu.random import Generator
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable


def _activation(name: str, activation: str | Callable[[Any], Variable]) -> Any:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise ValueError(f"{name}: activation is 'relu', 'gelu' or a function, not {activation!r}")
    return F.relu if activation == "relu" else F.gelu


class _Layer(Module):
    """Parts, each of which is added to its input, and normalised before or after that."""

    norm_first: bool
    activation: Any
    linear1: Any
    linear2: Any
    dropout: Any

    def _add(self, x: Variable, norm: Any, part: Callable[[Variable], Variable]) -> Variable:
        if self.norm_first:
            return x + part(norm(x))
        return norm(x + part(x))  # type: ignore[no-any-return]

    def _fed_forward(self, x: Variable) -> Variable:
        hidden = self.dropout(self.activation(self.linear1(x)))
        return self.linear2(hidden)  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a network of two layers, each added to its input and normalised."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Variable] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.activation = _activation(type(self).__name__, activation)
        self.norm_first = norm_first
        more = {"dtype": dtype, "generator": generator}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **more
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **more)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **more)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Variable:
        """Like `src`, [L, N, d_model]; masks as in `MultiheadAttention`."""

        def attended(x: Variable) -> Variable:
            y, _ = self.self_attn(
                x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal
            )
            return self.dropout1(y)  # type: ignore[no-any-return]

        x = self._add(ops.asarray(src), self.norm1, attended)
        return self._add(x, self.norm2, lambda x: self.dropout2(self._fed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a network of two layers, each added to
    its input and normalised."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Variable] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.activation = _activation(type(self).__name__, activation)
        self.norm_first = norm_first
        more = {"dtype": dtype, "generator": generator}
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **more
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **more)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **more)
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for name in ("dropout1", "dropout2", "dropout3"):
            setattr(self, name, Dropout(dropout))

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Variable:
        """Like `tgt`, [L, N, d_model], which attends to `memory`, [S, N, d_model]; masks as in
        `MultiheadAttention`."""

        def attended(x: Variable) -> Variable:
            y, _ = self.self_attn(
                x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal
            )
            return self.dropout1(y)  # type: ignore[no-any-return]

        def remembered(x: Variable) -> Variable:
            y, _ = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask,
                is_causal=memory_is_causal,
            )  # fmt: skip
            return self.dropout2(y)  # type: ignore[no-any-return]

        x = self._add(ops.asarray(tgt), self.norm1, attended)
        x = self._add(x, self.norm2, remembered)
        return self._add(x, self.norm3, lambda x: self.dropout3(self._fed_forward(x)))


class _Stack(Module):
    """Several copies of a layer, one after the other, and a last norm if given."""

    layers: Any

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"{type(self).__name__}: num_layers={num_layers} must be positive")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        if norm is not None:
            self.norm = norm

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Like `x`; the other arguments are those of the layers."""
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return self.norm(x) if "norm" in self._modules else x


class TransformerEncoder(_Stack):
    """Several copies of an encoder layer, one after the other, and a last norm if given."""

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        """Like `src`; masks as in `MultiheadAttention`."""
        return super().forward(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(_Stack):
    """Several copies of a decoder layer, one after the other, and a last norm if given."""

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__(decoder_layer, num_layers, norm)


class Transformer(Module):
    """An encoder of one sequence and a decoder of another that attends to it.

    >>> model = Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(ones((3, 5, 8)), ones((3, 4, 8)), tgt_is_causal=True).shape
    (3, 4, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Variable] = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        options: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias,
        )  # fmt: skip
        more: Any = {"dtype": dtype, "generator": generator}

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options, **more)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options, **more)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():  # copies of a layer begin with values of their own
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter, generator=generator)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Like `tgt`, [L, N, d_model], for `src` [S, N, d_model]; masks as in
        `MultiheadAttention`."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int) -> Variable:
        """The numbers [sz, sz] that hide what comes later: minus infinity above the diagonal."""
        backend = current_backend()
        hidden = backend.xp.triu(backend.xp.ones((sz, sz)), 1) > 0
        numbers = backend.xp.where(hidden, -float("inf"), 0.0)
        return Variable(backend.asarray(numbers, get_default_dtype()))
