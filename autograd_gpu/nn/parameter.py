"""Parameter: a Variable that is trained."""

from __future__ import annotations

from typing import Any

from autograd_gpu.variable import Variable


class Parameter(Variable):
    """A Variable that a Module lists among its parameters; it requires a gradient.

    >>> Parameter([1.0, 2.0])
    Parameter(array([1., 2.], dtype=float32), requires_grad=True)
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        requires_grad: bool = True,
        *,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        data = data.value if isinstance(data, Variable) else data
        super().__init__(data, requires_grad, dtype=dtype, name=name)

    def __repr__(self) -> str:
        return f"Parameter{super().__repr__().removeprefix('Variable')}"

    def __reduce__(self) -> Any:
        return _restored, (self.value, self._requires_grad, self.name, self.grad)


def _restored(value: Any, requires_grad: bool, name: str | None, grad: Any) -> Parameter:
    parameter = Parameter(value, requires_grad, name=name)
    parameter.grad = grad
    return parameter
