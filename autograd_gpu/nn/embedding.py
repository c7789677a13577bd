"""Rows of tables as Modules."""

from __future__ import annotations

from typing import Any

from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


class _Table(Module):
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        dtype: Any,
        generator: Generator | None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise IndexError(
                    f"{type(self).__name__}: padding_idx {padding_idx} is outside the "
                    f"{num_embeddings} rows"
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
        init.normal_(self.weight, generator=generator)
        if padding_idx is not None:
            self.weight.value[padding_idx] = 0

    def _take(self, embeddings: Any, freeze: bool) -> None:
        """Make a copy of `embeddings` the table, which is not trained if `freeze`."""
        value = embeddings.value if isinstance(embeddings, Variable) else embeddings
        self.weight = Parameter(value.copy(), requires_grad=not freeze)


class Embedding(_Table):
    """Rows of a table; see `functional.embedding`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, dtype, generator)
        self.max_norm, self.norm_type = max_norm, norm_type

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
    ) -> Embedding:
        """A layer with a copy of the table `embeddings` [rows, width], not trained if `freeze`.

        >>> Embedding.from_pretrained(np.eye(3))([2]).tolist()
        [[0.0, 0.0, 1.0]]
        """
        rows, width = embeddings.shape
        layer = cls(rows, width, padding_idx, max_norm, norm_type)
        layer._take(embeddings, freeze)
        return layer

    def forward(self, indices: Any) -> Variable:
        return F.embedding(indices, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2.0}
        parts += [f"{k}={getattr(self, k)}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join(parts)


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a table; see `functional.embedding_bag`.

    >>> EmbeddingBag(5, 2)([0, 1, 4], offsets=[0, 2]).shape
    (2, 2)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, dtype, generator)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None
    ) -> Variable:
        return F.embedding_bag(
            indices,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}, mode={self.mode!r}"
