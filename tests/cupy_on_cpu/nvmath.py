"""Stands for `nvmath.bindings.cublas` of nvmath-python: cuBLAS with handles of one's own.

Unlike CuPy's wrapper it may be called while a stream captures.  What cuBLAS asks for then is
checked: a workspace that the caller has given, since it would allocate one of its own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

from . import graphs, memory
from .cublas import Cublas
from .errors import IllegalCall
from .refused import stand_in

# The functions by the names of nvmath-python; their arguments are cuBLAS's, in its order.
_NAMES = {
    "create": "create",
    "destroy": "destroy",
    "get_version": "getVersion",
    "set_stream": "setStream",
    "set_workspace": "setWorkspace",
    "set_pointer_mode": "setPointerMode",
    "set_math_mode": "setMathMode",
    "gemm_batched_ex": "gemmBatchedEx",
    "gemm_ex": "gemmEx",
    "gemm_strided_batched_ex": "gemmStridedBatchedEx",
}
_WORKSPACE_ALIGNMENT = 256


@dataclass
class _Handle:
    stream: int = 0
    workspace: int = 0


class NvmathCublas(Cublas):
    """cuBLAS's own rules for handles."""

    def __init__(self) -> None:
        super().__init__(lambda: 0)
        self._handles: dict[int, _Handle] = {}
        self._last = 0xB1B0

    def create(self) -> int:
        graphs.refuse_unsafe("cublasCreate")
        self._last += 0x10
        self._handles[self._last] = _Handle()
        return self._last

    def destroy(self, handle: int) -> None:
        del self._handles[handle]

    def setStream(self, handle: int, stream: int) -> None:
        # cuBLAS goes back to a workspace of its own then
        self._handles[handle] = _Handle(stream)

    def setWorkspace(self, handle: int, address: int, size: int) -> None:
        memory.check_range(address, size, "cuBLAS's workspace")
        if address % _WORKSPACE_ALIGNMENT:
            raise IllegalCall(f"cuBLAS's workspace is not aligned to {_WORKSPACE_ALIGNMENT} bytes")
        self._handles[handle].workspace = address

    def _allow(self, handle: int) -> None:
        known = self._handles.get(handle)
        if known is None:
            raise IllegalCall(f"{handle:#x} is no handle of nvmath's cuBLAS")
        if graphs.is_capturing(known.stream) and not known.workspace:
            raise IllegalCall("cuBLAS would allocate a workspace in the capture; set one before")

    def _stream(self, handle: int) -> int:
        return self._handles[handle].stream


def install() -> None:
    """Let `from nvmath.bindings import cublas` find the stand-in, installed or not."""
    root, bindings = ModuleType("nvmath"), ModuleType("nvmath.bindings")
    root.__path__, bindings.__path__ = [], []
    sys.modules.update({"nvmath": root, "nvmath.bindings": bindings})
    root.bindings = bindings  # type: ignore[attr-defined]
    module = stand_in("nvmath.bindings.cublas", "nvmath.bindings.cublas")
    cublas = NvmathCublas()
    for name, function in _NAMES.items():
        setattr(module, name, getattr(cublas, function))
