"""Polynomials, as vectors of coefficients."""

from __future__ import annotations

from typing import Any

from autograd_gpu.ops.arguments import namespace_of, variable
from autograd_gpu.ops.elementwise import multiply
from autograd_gpu.ops.joining import concat
from autograd_gpu.variable import Variable


def polyval(p: Any, x: Any) -> Variable:
    """The polynomial with coefficients `p`, that of the highest power first, at `x`.

    >>> polyval([1.0, 0.0, 2.0], Variable([3.0])).tolist()
    [11.0]
    """
    coefficients: Any = p if isinstance(p, (list, tuple)) else variable(p)
    x = variable(x)
    y: Any = multiply(x, 0)
    for i in range(len(coefficients)):
        y = y * x + coefficients[i]
    return variable(y)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Variable:
    """The powers of each element of a vector, as rows; the highest first unless `increasing`."""
    x = variable(x)
    if x.ndim != 1:
        raise ValueError(f"vander: a 1-d array is needed, the shape is {x.shape}")
    n = x.shape[0] if N is None else N
    if not n:
        return variable(x[:, None][:, :0])
    ones = Variable(namespace_of(x).ones_like(x.value))
    columns = [ones]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns if increasing else columns[::-1]
    return concat([c[:, None] for c in columns], axis=1)
