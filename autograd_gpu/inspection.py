"""What the array API's `__array_namespace_info__` tells of this library."""

from __future__ import annotations

from typing import Any

from autograd_gpu import dtypes as _dtypes
from autograd_gpu.backend import available_backends, current_backend, load_backend


class NamespaceInfo:
    """The capabilities, devices and dtypes of this namespace.

    >>> __array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """

    def capabilities(self) -> dict[str, Any]:
        """What is supported of the parts of the standard that are optional."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where new arrays are made, or None for the current CUDA device."""
        return "cpu" if current_backend().name == "numpy" else None

    def devices(self) -> list[Any]:
        """'cpu', and every CUDA device that CuPy sees."""
        found: list[Any] = ["cpu"]
        if "cupy" in available_backends():
            cuda = load_backend("cupy").xp.cuda
            found += [cuda.Device(i) for i in range(cuda.runtime.getDeviceCount())]
        return found

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes that numbers get; `set_default_dtype` changes those of real ones."""
        real = _dtypes.default_real()
        return {
            "real floating": real,
            "complex floating": _dtypes.lookup(
                "complex128" if real.name == "float64" else "complex64"
            ),
            "integral": _dtypes.lookup("int64"),
            "indexing": _dtypes.lookup("int64"),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of a kind, or of a tuple of them, by name; all without one."""
        kinds = (
            ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        )
        try:
            names = [name for k in kinds for name in _dtypes.KINDS[k]]
        except KeyError:
            raise ValueError(
                f"kind is one of {', '.join(map(repr, _dtypes.KINDS))} or a tuple of these, "
                f"not {kind!r}"
            ) from None
        return {name: _dtypes.lookup(name) for name in names}


def __array_namespace_info__() -> NamespaceInfo:
    """What this namespace offers: `capabilities()`, `devices()`, `dtypes()` and their defaults."""
    return NamespaceInfo()
