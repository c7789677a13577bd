"""Parts of CUDA that are there by name only: whatever is called in them raises NotEmulated."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .errors import NotEmulated, refuser

# Modules of CuPy that a stand-in replaces as a whole, and what they give access to.
MODULES = {
    "cupy_backends.cuda.libs.curand": "cuRAND",
    "cupy_backends.cuda.libs.cusolver": "cuSOLVER",
    "cupy_backends.cuda.libs.cusparse": "cuSPARSE",
    "cupy_backends.cuda.libs.cutensor": "cuTENSOR",
    "cupy_backends.cuda.libs.nccl": "NCCL",
    "cupyx.cusolver": "cuSOLVER",
    "cupyx.cusparse": "cuSPARSE",
    "cupyx.cutensor": "cuTENSOR",
    "cupyx.lapack": "cuSOLVER",
    "cupy.cuda.jitify": "Jitify",
}
_TEXTURES = ("Texture", "CUDAarray", "ResourceDesc", "Surface", "memcpy2D", "memcpy3D", "Array")


class _StandIn(ModuleType):
    """A module whose functions refuse by name and whose constants can be looked up, not used."""

    _part: str

    def __getattr__(self, name: str) -> Any:
        if name == "available":
            return False
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.isupper() and "_" in name:
            # Default arguments name constants; it is the function that then refuses.
            return _Constant(self._part, name)
        return refuser(self._part, name)


class _Constant:
    def __init__(self, part: str, name: str) -> None:
        self._part, self._name = part, name

    def __index__(self) -> int:
        raise NotEmulated(self._part, self._name)

    __int__ = __index__

    def __repr__(self) -> str:
        return f"<{self._part}: {self._name}, not emulated>"


def stand_in(name: str, part: str) -> ModuleType:
    """A module that refuses everything, in the place of the real one."""
    module = _StandIn(name, f"{part} is not emulated.")
    module._part = part
    sys.modules[name] = module
    package, _, attribute = name.rpartition(".")
    if package in sys.modules:
        setattr(sys.modules[package], attribute, module)
    return module


def runtime_function(name: str) -> Any:
    """The refusal of a function of the CUDA runtime or driver."""
    textures = any(word.lower() in name.lower() for word in _TEXTURES)
    return refuser("CUDA's texture memory" if textures else "this part of the CUDA API", name)


def refuse_functions(module: ModuleType, part: str, names: tuple[str, ...]) -> None:
    """Let the listed functions or classes of a real module refuse."""
    for name in names:
        if not hasattr(module, name):
            raise AttributeError(f"{module.__name__} has no {name}: CuPy has changed")
        setattr(module, name, refuser(part, f"{module.__name__}.{name}"))
