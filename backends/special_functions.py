"""The special functions of scipy.special or cupyx.scipy.special, imported when first needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


class SpecialFunctions:
    """The functions of a module as attributes.

    Half types are computed in single precision.  Results come back in the precision of the arrays:
    a Python number beside them, which makes SciPy compute in double precision, does not raise it.
    Raises ImportError with what to install where the module is missing.
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
            half, dtypes = None, []
            for x in arguments:
                dtype = getattr(x, "dtype", None)
                if dtype is None:
                    continue
                if dtype.itemsize == 2 and dtype.kind in "fV":
                    half, dtype = dtype, np.dtype(np.float32)
                dtypes.append(dtype)
            if half is None and len(dtypes) == len(arguments):
                return function(*arguments)
            single = np.result_type(*dtypes).char in "fF"

            def wide(x: Any) -> Any:
                if not hasattr(x, "dtype"):
                    return np.float32(x) if x.__class__ is float and single else x
                return x.astype(np.float32) if half is not None and x.dtype == half else x

            def narrow(y: Any) -> Any:
                if single and y.dtype.char in "dD":
                    y = y.astype(np.float32 if y.dtype.char == "d" else np.complex64)
                return y.astype(half) if half is not None and y.dtype.char == "f" else y

            y = function(*map(wide, arguments))
            return tuple(map(narrow, y)) if isinstance(y, tuple) else narrow(y)

        setattr(self, name, call)
        return call
