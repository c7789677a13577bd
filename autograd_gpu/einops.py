"""Variables for einops: importing this module is enough for `einops.rearrange(v, ...)`.

einops asks every subclass of its backend class whether a tensor is its own, so that one has to be
defined.  `einops.array_api` and `opt_einsum` need nothing of the kind.

>>> import autograd_gpu.einops
>>> from einops import rearrange
>>> rearrange(arange(6.0), "(a b) -> b a", a=2).shape
(3, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einops._backends import AbstractBackend

from autograd_gpu import ops
from autograd_gpu.values import DIFFERENTIABLE
from autograd_gpu.variable import Variable


class VariableBackend(AbstractBackend):  # type: ignore[misc]
    """What einops asks of an array library."""

    framework_name = "autograd_gpu"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether `tensor` is a Variable."""
        return isinstance(tensor, Variable)

    def from_numpy(self, x: Any) -> Variable:
        """A NumPy array as a Variable."""
        return ops.asarray(x)

    def to_numpy(self, x: Variable) -> Any:
        """The value on the host."""
        return x.numpy()

    def arange(self, start: int, stop: int) -> Variable:
        """The integers from start to below stop."""
        return ops.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Variable]) -> Variable:
        """The tensors along a new first axis."""
        return ops.stack(tensors)

    def add_axis(self, x: Variable, new_position: int) -> Variable:
        """`x` with a new axis of length 1."""
        return ops.expand_dims(x, new_position)

    def tile(self, x: Variable, repeats: Sequence[int]) -> Variable:
        """`x` repeated along each axis."""
        return ops.tile(x, tuple(repeats))

    def concat(self, tensors: Sequence[Variable], axis: int) -> Variable:
        """The tensors joined along an axis."""
        return ops.concat(tensors, axis)

    def is_float_type(self, x: Variable) -> bool:
        """Whether `x` has a mean."""
        return x.dtype.kind in f"{DIFFERENTIABLE}V"

    def einsum(self, pattern: str, *x: Variable) -> Variable:
        """The sum of products that `pattern` describes."""
        return ops.einsum(pattern, *x)
