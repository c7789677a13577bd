"""Compiled forms of functions of the namespace, for small arrays, of which a call is all they cost.

The functions here define them, and are called for whatever is not usual (autograd_gpu/c/numpy.c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd_gpu.backends.numpy_functions import maximum
from autograd_gpu.backends.numpy_matmul import matmul
from autograd_gpu.backends.numpy_sums import LONG, TALL, ones, sum_
from autograd_gpu.extension import extension

_ARITHMETIC = ("add", "subtract", "multiply", "divide")


def shortcuts() -> dict[str, Callable[..., Any]]:
    """`matmul`, `maximum`, `sum` and arithmetic, compiled where there is a compiled core."""
    if extension is None:
        return {"matmul": matmul, "maximum": maximum, "sum": sum_}
    extension.configure_arithmetic(*[getattr(np, name) for name in _ARITHMETIC])
    extension.configure_numpy(
        add_reduce=np.add.reduce,
        larger=np.maximum,
        many=LONG,
        matmul=matmul,
        maximum=maximum,
        ones=ones,
        small=TALL,
        sum=sum_,
        zeros=tuple(np.zeros((), x) for x in (np.float32, np.float64, np.complex64, np.complex128)),
    )
    return {name: getattr(extension, name) for name in (*_ARITHMETIC, "matmul", "maximum", "sum")}
