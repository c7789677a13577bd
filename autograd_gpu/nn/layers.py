"""Layers: Modules around `nn.functional`, with PyTorch's names, arguments and initial values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import Array, current_backend
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.init import constant_
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable


def empty(*shape: int, dtype: Any = None) -> Array:
    """An array of the current backend, to be filled; the default dtype unless given."""
    backend = current_backend()
    return backend.xp.empty(shape, dtype=backend.asarray(0, dtype or get_default_dtype()).dtype)


def set_initial(layer: Any, generator: Generator | None) -> None:
    """Weight and bias uniform in ±1 / sqrt(inputs)."""
    bound = 1 / math.sqrt(max(1, init.fans(layer.weight)[0]))
    init.uniform_(layer.weight, -bound, bound, generator)
    if layer.bias is not None:
        init.uniform_(layer.bias, -bound, bound, generator)


class Identity(Module):
    """Returns what it gets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return x


class Linear(Module):
    """x Wᵀ + b on the last axis; see `functional.linear`.

    >>> Linear(3, 2)(ones((5, 3))).shape
    (5, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        set_initial(self, generator)

    def forward(self, x: Any) -> Variable:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Embedding(Module):
    """Rows of a table; see `functional.embedding`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
        init.normal_(self.weight, generator=generator)
        if padding_idx is not None:
            self.weight.value[padding_idx] = 0

    def forward(self, indices: Any) -> Variable:
        return F.embedding(indices, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Flatten(Module):
    """Merges axes `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Variable:
        return F.flatten(x, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """In training sets elements to 0 with probability `p`; see `functional.dropout`."""

    def __init__(self, p: float = 0.5, *, generator: Generator | None = None) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p={p} must be a probability")
        self.p, self.generator = p, generator

    def forward(self, x: Any) -> Variable:
        return F.dropout(x, self.p, self.training, generator=self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout2d(Dropout):
    """Dropout of whole channels of [N, C, H, W]."""

    def forward(self, x: Any) -> Variable:
        return F.dropout2d(x, self.p, self.training, generator=self.generator)


class Dropout1d(Dropout):
    """Dropout of whole channels of [N, C, L]."""

    def forward(self, x: Any) -> Variable:
        return F.dropout2d(x, self.p, self.training, generator=self.generator)


class Dropout3d(Dropout1d):
    """Dropout of whole channels of [N, C, D, H, W]."""


class Upsample(Module):
    """Images in another size; see `functional.interpolate`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners

    def forward(self, x: Any) -> Variable:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)

    def extra_repr(self) -> str:
        given = f"scale_factor={self.scale_factor}" if self.size is None else f"size={self.size}"
        return f"{given}, mode={self.mode!r}"


class PReLU(Module):
    """x, or a trained fraction of it below 0; see `functional.prelu`."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(empty(num_parameters, dtype=dtype))
        constant_(self.weight, init)

    def forward(self, x: Any) -> Variable:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Unflatten(Module):
    """Splits an axis into several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Any) -> Variable:
        dim = self.dim % x.ndim
        return ops.reshape(x, (*x.shape[:dim], *self.unflattened_size, *x.shape[dim + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Pad(Module):
    """A border; arguments of `functional.pad`."""

    def __init__(
        self, padding: Sequence[int], mode: str = "constant", value: float | None = None
    ) -> None:
        super().__init__()
        self.padding, self.mode, self.value = tuple(padding), mode, value

    def forward(self, x: Any) -> Variable:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}, mode={self.mode!r}"
