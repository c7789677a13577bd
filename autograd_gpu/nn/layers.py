"""Layers: Modules around `nn.functional`, with PyTorch's names, arguments and initial values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import Array, current_backend
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.functional.arguments import as_sizes
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable

Size = int | Sequence[int]


def empty(*shape: int, dtype: Any = None) -> Array:
    """An array of the current backend, to be filled; the default dtype unless given."""
    backend = current_backend()
    return backend.xp.empty(shape, dtype=backend.asarray(0, dtype or get_default_dtype()).dtype)


def _initial(layer: Any, generator: Generator | None) -> None:
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
        _initial(self, generator)

    def forward(self, x: Any) -> Variable:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Conv2d(Module):
    """Correlates images [N, C, H, W] with kernels; see `functional.conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2d: channels {in_channels} and {out_channels} must be multiples of "
                f"groups={groups}"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = as_sizes("Conv2d", "kernel_size", kernel_size, 2)
        self.stride = as_sizes("Conv2d", "stride", stride, 2)
        self.padding = (
            padding if isinstance(padding, str) else as_sizes("Conv2d", "padding", padding, 2, 0)
        )
        self.dilation = as_sizes("Conv2d", "dilation", dilation, 2)
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(*shape, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        _initial(self, generator)

    def forward(self, x: Any) -> Variable:
        return F.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        defaults = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        parts += [
            f"{name}={getattr(self, name)!r}"
            for name, default in defaults.items()
            if getattr(self, name) != default
        ]
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


class _Pool(Module):
    def __init__(
        self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, **options: Any
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.options = kernel_size, padding, options
        self.stride = kernel_size if stride is None else stride

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in ("kernel_size", "stride", "padding")]
        return ", ".join(parts + [f"{name}={value}" for name, value in self.options.items()])


class MaxPool2d(_Pool):
    """The maximum of each window; arguments of `functional.max_pool2d`."""

    def forward(self, x: Any) -> Variable:
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, **self.options)


class AvgPool2d(_Pool):
    """The mean of each window; arguments of `functional.avg_pool2d`."""

    def forward(self, x: Any) -> Variable:
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, **self.options)


class AdaptiveAvgPool2d(Module):
    """Means of windows such that the output is [N, C, *output_size]."""

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Any) -> Variable:
        return F.adaptive_avg_pool2d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


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
