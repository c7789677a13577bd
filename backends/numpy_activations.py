"""GELU for NumPy: float32 by the compiled core in one pass; else block by block in place, since
every new array would be fetched into the cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info

from autograd_gpu.backends.numpy_functions import dense
from autograd_gpu.backends.scratch import scratch
from autograd_gpu.extension import extension
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

# the names are those of `autograd_gpu.ops.activations`
C = math.sqrt(2 / math.pi)
K = 0.044715 * C

LOG2 = math.log(2)

FAR = 10.0
"""GELU is 0 below -FAR and x above FAR, in float64 too.  Between them exp(-2u) and its inverse are
numbers that float32 has."""

FLOAT32 = np.dtype(np.float32)  # in the machine's byte order

OWN_KERNELS = {} if extension is None else {FLOAT32: ("gelu_tanh",)}
"""Ops by the dtypes for which no fused program is faster."""

FEW = 1 << 15
"""Elements up to which the general form takes no longer."""

BLOCK = 1 << 17
"""Elements of a block.  A million took GELU and its gradient 2.4 ms with this size, 2.7 with half
and 2.9 with a quarter of it."""


def _has_vector_form(function: str) -> bool:
    """Whether NumPy computes several elements at a time on this processor."""
    loops = opt_func_info(func_name=f"^{function}$", signature="float32").get(function, {})
    return any(not loop["current"].startswith("baseline") for loop in loops.values())


EXP2 = _has_vector_form("exp2")
"""Whether exp2 takes the place of tanh: it is the faster one by vectors, else by far the slower."""


def gelu_tanh_value(x: Array) -> Any:
    """x · (1 + tanh(u)) / 2 = x / (1 + exp(-2u)) with u = C · x + K · x³; NotImplemented for dtypes
    and numbers of elements for which the general form does."""
    if _is_compiled(x):
        return _compiled(x)
    if x.size <= FEW or x.dtype.char not in "fd":
        return NotImplemented
    scale = -2 / LOG2 if EXP2 else 1
    cube, line, half, one = _arrays(x.dtype, K * scale, C * scale, 0.5, 1)

    def block(x: Array, y: Array) -> None:
        t = scratch("block", x.shape, x.dtype)
        near = _squared(x, t)
        np.multiply(t, cube, t)
        np.add(t, line, t)
        np.multiply(t, near, t)
        if EXP2:
            np.exp2(t, t)
            np.add(t, one, t)
            np.divide(x, t, y)
        else:
            np.tanh(t, t)
            np.add(t, one, t)
            np.multiply(t, half, t)  # since twice x may overflow
            np.multiply(t, x, y)
        if near is not x:
            np.multiply(x, 0, y, where=x < -FAR)

    return _in_blocks(block, x)


def gelu_tanh_gradient(g: Array, x: Array) -> Any:
    """`g` times the derivative of `gelu_tanh_value`; NotImplemented where that is."""
    if _is_compiled(x) and _is_compiled(g):
        return _compiled(g, x)
    if x.size <= FEW or x.dtype.char not in "fd" or g.dtype != x.dtype:
        return NotImplemented
    # With s = (1 + tanh(u)) / 2 the derivative is s + x · s · (1 - s) · 2u'; and 2u', which is
    # 2C + 6K · x², follows from u / x, so that one buffer serves for both.
    scale, part = (-2 / LOG2, 1) if EXP2 else (1, 0.25)
    cube, line, half, one = _arrays(x.dtype, K * scale, C * scale, 0.5, 1)
    steep, flat = _arrays(x.dtype, 6 / scale * part, -4 * C * part)

    def block(g: Array, x: Array, y: Array) -> None:
        p, e, d = (scratch(role, x.shape, x.dtype) for role in ("block", "product", "centred"))
        near = _squared(x, p)
        np.multiply(p, cube, p)
        np.add(p, line, p)
        np.multiply(p, near, e)
        np.multiply(p, steep, p)
        np.add(p, flat, p)
        np.multiply(p, near, p)
        if EXP2:  # s = 1 / d and 1 - s = e / d
            np.exp2(e, e)
            np.add(e, one, d)
            np.divide(p, d, p)
            np.multiply(p, e, p)
            np.add(p, one, p)
            np.divide(p, d, p)
        else:  # s = e / 2 and 1 - s = d / 2
            np.tanh(e, e)
            np.subtract(one, e, d)
            np.add(e, one, e)
            np.multiply(p, d, p)
            np.add(p, half, p)
            np.multiply(p, e, p)
        if near is not x:
            np.copyto(p, 0, where=x < -FAR)
        np.multiply(p, g, y)

    return _in_blocks(block, g, x)


def _is_compiled(x: Array) -> bool:
    return extension is not None and x.dtype == FLOAT32 and x.__class__ is np.ndarray


def _compiled(*arrays: Array) -> Array:
    """The value of x, or the gradient of (g, x)."""
    out = np.empty(arrays[-1].shape, FLOAT32)
    given = (*[dense(x) for x in arrays], out)
    share(
        lambda i: extension.gelu(given, i * BLOCK, min((i + 1) * BLOCK, out.size)),
        -(-out.size // BLOCK),
    )
    return out


def _arrays(dtype: np.dtype[Any], *numbers: float) -> list[Array]:
    """Arrays without axes: of a Python number NumPy makes one in each call, which takes longer
    than the call."""
    return [np.array(x, dtype) for x in numbers]


def _squared(x: Array, out: Array) -> Array:
    """`x`, or if it has numbers beyond FAR a copy where they are bounded, and its square."""
    np.multiply(x, x, out)
    if np.maximum.reduce(out) <= FAR * FAR:
        return x
    x = x.clip(-FAR, FAR)
    np.multiply(x, x, out)
    return x


def _in_blocks(block: Callable[..., None], *arrays: Array) -> Array:
    """A new array of which `block(*blocks of arrays, out)` writes one block after the other, or
    several at once."""
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    flat = [x.reshape(-1) for x in (*arrays, out)]
    parts = -(-out.size // BLOCK)
    with np.errstate(over="ignore"):  # of squares, whose roots are then bounded
        share(lambda i: block(*[x[i * BLOCK : (i + 1) * BLOCK] for x in flat]), parts)
    return out
