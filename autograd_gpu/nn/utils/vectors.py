"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.state import like
from autograd_gpu.variable import Variable


def parameters_to_vector(parameters: Iterable[Variable]) -> Variable:
    """The elements of all parameters in one vector, differentiably.

    >>> nn.utils.parameters_to_vector([Variable([[1.0, 2.0]]), Variable([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    return ops.concat([ops.reshape(x, -1) for x in parameters])


def vector_to_parameters(vector: Any, parameters: Iterable[Variable]) -> None:
    """Give the parameters the values of `vector`, in their dtypes and where they live;
    gradients do not pass.

    Raises ValueError, and changes nothing, unless it has as many elements as they have.
    """
    values = vector.value if isinstance(vector, Variable) else vector
    targets = list(parameters)
    count = sum(x.size for x in targets)
    if values.shape != (count,):
        raise ValueError(
            f"vector_to_parameters: the vector {list(values.shape)} must have {count} elements"
        )
    start = 0
    for x in targets:
        x.value = like(values[start : start + x.size].reshape(x.shape), x.value)
        start += x.size
