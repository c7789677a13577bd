"""The special functions of scipy.special or cupyx.scipy.special, imported when first needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


class SpecialFunctions:
    """The functions of a module as attributes.

    Half types are computed in single precision, and results come back in the dtype of the floating
    operands.  Raises ImportError with what to install where the module is missing.
    """

    def __init__(self, module: str, install: str) -> None:
        self._module = module
        self._install = install

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            module = importlib.import_module(self._module)
        except ImportError as error:
            raise ImportError(
                f"{name} needs {self._module}, which can't be imported ({error}); {self._install}"
            ) from error
        function = getattr(module, name, None)
        if function is None:
            raise NotImplementedError(f"{self._module} has no {name} in this version")

        def call(*arguments: Any) -> Any:
            half = None
            for x in arguments:
                dtype = getattr(x, "dtype", None)
                if dtype is not None and dtype.itemsize == 2 and dtype.kind in "fV":
                    half = dtype
            if half is None:
                return function(*arguments)

            def narrow(y: Any) -> Any:
                return y.astype(half) if y.dtype.itemsize == 4 else y

            wide = [
                x.astype("float32") if getattr(x, "dtype", None) == half else x for x in arguments
            ]
            y = function(*wide)
            return tuple(map(narrow, y)) if isinstance(y, tuple) else narrow(y)

        setattr(self, name, call)
        return call
