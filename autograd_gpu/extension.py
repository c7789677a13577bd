"""The extension module of `autograd_gpu/c`, where it was built.

Everything in it is another form of Python functions, which serve without it, and with
AUTOGRAD_GPU_PURE_PYTHON set in the environment.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

INTERFACE = 11
"""Raised together with that in c/core.h."""


def loaded() -> Any:
    """The extension module, or None where Python is to serve."""
    if os.environ.get("AUTOGRAD_GPU_PURE_PYTHON"):
        return None
    try:
        module = import_module("autograd_gpu._core")
    except ImportError:
        return None
    if getattr(module, "INTERFACE", None) != INTERFACE:
        warnings.warn(
            "autograd_gpu's compiled core was built from other sources than these, and is left "
            "alone: install the package again",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return module


extension = loaded()
