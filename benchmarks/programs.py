"""The programs that are compared: their modules, and what a step of theirs is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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

PROGRAMS = {
    "ours": "autograd_gpu",
    "numpy": "NumPy by hand",
    "torch": "PyTorch",
    "torch_compile": "PyTorch compile",
    "jax": "JAX jit",
    "jax_eager": "JAX",
    "autograd": "autograd",
    "mygrad": "MyGrad",
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
}


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
    return np.array(getattr(value, "value", value))
