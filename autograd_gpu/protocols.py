"""NumPy's and the array API's protocols, bound to Variable.

`np.exp(v)` and `array * v` go to `autograd_gpu.numpy_ufuncs`, `np.sum(v)` to
`autograd_gpu.numpy_functions`.
"""

from __future__ import annotations

import sys
from typing import Any

from autograd_gpu.backend import BACKENDS
from autograd_gpu.numpy_functions import array_function
from autograd_gpu.numpy_ufuncs import array_ufunc, override_elementwise_kernel
from autograd_gpu.placement import copied
from autograd_gpu.variable import Variable

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self: Variable, *, api_version: str | None = None) -> Any:
    """The array API's namespace of Variables: `autograd_gpu`."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(f"api_version {api_version!r} is not one of {API_VERSIONS}")
    return sys.modules[__package__]


def array(self: Variable, dtype: Any = None, copy: bool | None = None) -> Any:
    """The value as a NumPy array, for `np.asarray(v)`.

    Raises TypeError where that would lose a gradient or wait for the device.
    """
    if self.requires_grad:
        raise TypeError(
            "a Variable that requires a gradient is not turned into a NumPy array, which would "
            "lose it; use .detach().numpy() for the value, or stack for an array of Variables"
        )
    backend = BACKENDS[type(self.value)]
    if backend.name != "numpy":
        raise TypeError(
            f"a Variable on {backend.name} is not turned into a NumPy array silently; use .numpy()"
        )
    if copy is False and dtype is not None and self.dtype != dtype:
        raise ValueError(f"a copy is needed to get {dtype} from {self.dtype}")
    if hasattr(self.value, "untraced"):  # it stands for an array of a step that is recorded
        return self.value.__array__(dtype, copy)
    value = backend.asarray(self.value, dtype)
    return copied(value) if copy and value is self.value else value


def _bind() -> None:
    methods: dict[str, Any] = {
        "__array__": array,
        "__array_function__": array_function,
        "__array_namespace__": array_namespace,
        "__array_ufunc__": array_ufunc,
        "__cupy_override_elementwise_kernel__": override_elementwise_kernel,
    }
    for name, method in methods.items():
        setattr(Variable, name, method)


_bind()
