"""Linear layers and changes of shape, with PyTorch's names, arguments and initial values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import Array, current_backend
from autograd_gpu.nn import functional as F, init
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


class Bilinear(Module):
    """x1ᵀ W x2 + b for each output; see `functional.bilinear`.

    >>> Bilinear(3, 4, 2)(ones((5, 3)), ones((5, 4))).shape
    (5, 2)
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: Any = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(*shape, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(empty(out_features, dtype=dtype)) if bias else None
        )
        bound = 1 / math.sqrt(max(1, in1_features))
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound, generator)

    def forward(self, x1: Any, x2: Any) -> Variable:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Merges axes `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Variable:
        return F.flatten(x, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


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
