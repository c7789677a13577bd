"""Linear maps of an axis."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import shape_of
from autograd_gpu.variable import Variable


def linear(x: Any, weight: Any, bias: Any = None) -> Variable:
    """`x` [..., inputs] times `weight` [outputs, inputs] transposed, plus `bias` [outputs].

    >>> linear([1.0, 2.0], [[1.0, 1.0]], [0.5])
    Variable(array([3.5], dtype=float32))
    """
    shape, kernel = shape_of(x), shape_of(weight)
    if len(kernel) != 2 or not shape or shape[-1] != kernel[1]:
        raise ValueError(
            f"linear: x {list(shape)} must be [..., inputs] and weight {list(kernel)} "
            f"[outputs, inputs]"
        )
    if bias is not None and shape_of(bias) != kernel[:1]:
        raise ValueError(f"linear: bias {list(shape_of(bias))} must be [{kernel[0]}]")
    return ops.linear(x, weight, bias)


def along_axis(matrix: Any, x: Any, axis: int) -> Variable:
    """`matrix` [out, n] applied to `x` along `axis`, which is negative."""
    if axis == -1:
        return ops.matmul(x, matrix.T)
    if axis == -2:
        return ops.matmul(matrix, x)
    shape = shape_of(x)
    rows = ops.reshape(x, (*shape[: axis + 1], -1))
    return ops.reshape(
        ops.matmul(matrix, rows), (*shape[:axis], matrix.shape[0], *shape[axis + 1 :])
    )


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Variable:
    """x1ᵀ W x2 for each output: `x1` [..., I], `x2` [..., J], `weight` [O, I, J], `bias` [O].

    >>> bilinear([1.0, 2.0], [3.0], [[[1.0], [10.0]]]).tolist()
    [63.0]
    """
    first, second, kernel = shape_of(x1), shape_of(x2), shape_of(weight)
    if (
        not first
        or first[:-1] != second[:-1]
        or len(kernel) != 3
        or (first[-1], second[-1]) != kernel[1:]
    ):
        raise ValueError(
            f"bilinear: x1 {list(first)}, x2 {list(second)} and weight {list(kernel)} must be "
            f"[..., I], [..., J] and [O, I, J]"
        )
    if bias is not None and shape_of(bias) != kernel[:1]:
        raise ValueError(f"bilinear: bias {list(shape_of(bias))} must be [{kernel[0]}]")
    y = ops.einsum("...i,oij,...j->...o", x1, weight, x2)
    return y if bias is None else y + bias
