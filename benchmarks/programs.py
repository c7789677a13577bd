"""The programs that are compared: their modules, and what a step of theirs is."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

Step = Callable[[], Sequence[Any]]


def optional(name: str) -> ModuleType | None:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def tinygrad_on_cpu() -> ModuleType | None:
    """The module, told to use the CPU; None without a clang, by which it compiles for that.

    The clang may be the one in Zig's compiler, which the package ziglang brings.
    """
    if importlib.util.find_spec("tinygrad") is None:
        return None
    if shutil.which(os.environ.get("CC", "clang")) is None:
        zig = importlib.util.find_spec("ziglang")
        if zig is None or zig.origin is None:
            return None
        os.environ["ZIG"] = str(Path(zig.origin).with_name("zig"))
        os.environ["CC"] = str(Path(__file__).with_name("zig_clang.sh"))
    os.environ.setdefault("DEV", "CPU")
    return optional("tinygrad")


class MissingModule:
    """Stands in for a package that is not installed, so that asking it for a name says so."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__name__} is not installed", name=name, obj=self)


ag: Any = optional("autograd_gpu") or MissingModule("autograd_gpu")
for part in ("nn.functional", "optim"):  # works whether or not the package imports them itself
    optional(f"autograd_gpu.{part}")
torch: Any = optional("torch")
mygrad: Any = optional("mygrad")
hips: Any = optional("autograd")
hips_numpy: Any = optional("autograd.numpy")
jax: Any = optional("jax")
jax_numpy: Any = optional("jax.numpy")
tinygrad: Any = tinygrad_on_cpu()

PROGRAMS = {
    "ours": "autograd_gpu",
    "numpy": "NumPy by hand",
    "torch": "PyTorch",
    "torch_compile": "PyTorch compile",
    "jax": "JAX jit",
    "jax_eager": "JAX",
    "autograd": "autograd",
    "mygrad": "MyGrad",
    "tinygrad": "tinygrad JIT",
}
MODULES = {
    "ours": ag,
    "numpy": np,
    "torch": torch,
    "torch_compile": torch,
    "jax": jax,
    "jax_eager": jax,
    "autograd": hips,
    "mygrad": mygrad,
    "tinygrad": tinygrad,
}


def why_absent(program: str) -> str | None:
    """Why a program can't be measured here; None if it can."""
    if MODULES[program] is not None:
        return None
    if program == "tinygrad" and importlib.util.find_spec("tinygrad") is not None:
        return "it needs clang, which the package ziglang has"
    return "not installed"


def keep(names: Sequence[str]) -> None:
    """Measure these programs only."""
    unknown = set(names) - PROGRAMS.keys()
    if unknown:
        raise SystemExit(f"no program {sorted(unknown)}; there are {list(PROGRAMS)}")
    for name in PROGRAMS.keys() - set(names):
        del PROGRAMS[name]


class Program(NamedTuple):
    """A step to be timed and the context that it runs in."""

    step: Step
    context: Callable[[], AbstractContextManager[Any]] = nullcontext


def host(value: Any) -> np.ndarray:
    """A NumPy copy of whatever a program's step returned."""
    if isinstance(value, np.ndarray | np.generic):
        return np.array(value)
    if torch is not None and isinstance(value, torch.Tensor):
        return value.detach().numpy().copy()
    if mygrad is not None and isinstance(value, mygrad.Tensor):
        return np.array(value.data)
    if tinygrad is not None and isinstance(value, tinygrad.Tensor):
        return value.numpy()
    return np.array(getattr(value, "value", value))
