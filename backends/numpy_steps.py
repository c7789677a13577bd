"""SGD and Adam steps in place, in blocks that stay in the cache; no temporary of full size."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from autograd_gpu.extension import extension
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

BLOCK = 32_768
"""Elements worked on at a time: five float32 blocks fit into a second-level cache of 1 MiB.

Smaller ones cost more in calls than they gain: 1 million elements took Adam 1.6 ms with this size,
1.9 ms with half and 2.5 ms with a quarter of it."""

CHUNK = 4 * BLOCK
"""Elements that one thread takes at a time."""

SMALL = 4096
"""Elements up to which arrays are worked on as they are, without a look at their layout."""

_PLAIN = (np.dtype(np.float32), np.dtype(np.float64))

_scratch = threading.local()


def sgd_steps(arrays: Sequence[Sequence[Any]], **options: Any) -> None:
    """`sgd_step` for each of `arrays`."""
    for row in _left("sgd_steps", arrays, _sgd_numbers(**options)):
        sgd_step(*row, **options)


def adam_steps(arrays: Sequence[Sequence[Any]], **options: Any) -> None:
    """`adam_step` for each of `arrays`."""
    for row in _left("adam_steps", arrays, _adam_numbers(**options)):
        adam_step(*row, **options)


def _left(
    name: str, arrays: Sequence[Sequence[Any]], numbers: Iterable[float]
) -> Sequence[Sequence[Any]]:
    """Those of `arrays` that the compiled core has no step for, which it has taken for the others,
    or all without one.

    It takes parameters up to a size, real and contiguous, in one pass over each.
    """
    if extension is None:
        return arrays
    left: list[Sequence[Any]] = getattr(extension, name)(list(arrays), *numbers)
    return left


def _sgd_numbers(
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    first: bool,
) -> tuple[float, ...]:
    return lr, momentum, 1 - dampening, weight_decay, nesterov, first


def sgd_step(param: Array, grad: Array, buffer: Array | None, **options: Any) -> None:
    """One SGD step in place on `param` and `buffer` [same shape], as PyTorch's SGD does it;
    options: lr, momentum, dampening, weight_decay, nesterov, first.

    `buffer` is None where there is no momentum; on the `first` step it takes the gradient
    undamped.  Half types are computed in float32.
    """
    numbers = _sgd_numbers(**options)
    lr, momentum, keep, weight_decay, nesterov, first = numbers
    if buffer is None and not weight_decay and is_small(param, grad):
        np.subtract(param, np.multiply(grad, lr), param)
        return

    def update(s: Array, t: Array, p: Array, g: Array, b: Array | None = None) -> None:
        if not _left("sgd_steps", [(p, g, b)], numbers):
            return
        if weight_decay:
            np.multiply(p, weight_decay, s)
            np.add(s, g, s)
            g = s
        if b is not None:
            if first:
                b[...] = g
            else:
                np.multiply(b, momentum, b)
                if keep != 1:
                    np.multiply(g, keep, t)
                np.add(b, t if keep != 1 else g, b)
            if nesterov:
                np.multiply(b, momentum, t)
                np.add(g, t, s)
                g = s
            else:
                g = b
        np.multiply(g, lr, t)
        np.subtract(p, t, p)

    in_blocks(update, (param, grad) if buffer is None else (param, grad, buffer))


def _adam_numbers(
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
) -> tuple[float, ...]:
    """What m, the gradient, v and its square are multiplied with, eps, the size of the step, and
    how much of the parameter is added to the gradient and is kept."""
    # p -= lr / c1 * m / (sqrt(v / c2) + eps), with sqrt(c2) moved to where it costs nothing
    root = math.sqrt(1 - beta2**step)
    size = lr * root / (1 - beta1**step)
    decay, shrink = (0.0, 1 - lr * weight_decay) if decoupled else (weight_decay, 1.0)
    return (
        beta1, 1 - beta1, beta2, 1 - beta2, eps * root, float(size), float(decay), float(shrink)
    )  # fmt: skip


def adam_step(param: Array, grad: Array, m: Array, v: Array, **options: Any) -> None:
    """One Adam or, `decoupled`, AdamW step in place on `param`, `m` and `v` [same shape]; options:
    lr, beta1, beta2, eps, weight_decay, decoupled, step.

    `step` counts from 1.  Half types are computed in float32.  As in PyTorch, the parts of complex
    numbers are parameters of their own.
    """
    numbers = _adam_numbers(**options)

    def update(s: Array, t: Array, p: Array, g: Array, m: Array, v: Array) -> None:
        if not _left("adam_steps", [(p, g, m, v)], numbers):
            return
        old, new, old_square, new_square, eps, size, decay, shrink = constants(p.dtype, *numbers)
        if numbers[7] != 1:
            np.multiply(p, shrink, p)
        if numbers[6]:
            np.multiply(p, decay, t)
            np.add(t, g, t)
            g = t
        np.multiply(m, old, m)
        np.multiply(g, new, s)
        np.add(m, s, m)
        np.multiply(v, old_square, v)
        np.multiply(g, g, s)
        np.multiply(s, new_square, s)
        np.add(v, s, v)
        np.sqrt(v, s)
        np.add(s, eps, s)
        np.divide(m, s, s)
        np.multiply(s, size, s)
        np.subtract(p, s, p)

    in_blocks(update, (param, grad, m, v))


@lru_cache(maxsize=16)
def constants(dtype: np.dtype[Any], *numbers: float) -> tuple[Array, ...]:
    """The numbers as arrays: with these an operation on a small array takes half as long as with
    Python's numbers.  Each parameter of a group asks for the same."""
    return tuple([np.asarray(number, dtype) for number in numbers])


def is_small(first: Array, *others: Array) -> bool:
    """Whether the arrays are small, and of one dtype that needs no conversion."""
    dtype = first.dtype
    if first.size > SMALL or dtype not in _PLAIN:
        return False
    for x in others:  # noqa: SIM110  a generator costs 0.3 us
        if x.dtype is not dtype:
            return False
    return True


def in_blocks(update: Callable[..., None], arrays: tuple[Array, ...]) -> None:
    """Run `update(scratch, scratch, *blocks)` over `arrays`; it may write to all but the second."""
    if is_small(*arrays):
        update(np.empty_like(arrays[0]), np.empty_like(arrays[0]), *arrays)
        return
    flat = [x.reshape(-1) for x in arrays]  # a copy where an array is not contiguous
    dtype = flat[0].dtype
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
        flat = [x.view(dtype) if x.dtype.kind == "c" else x for x in flat]
    elif dtype.itemsize == 2:
        dtype = np.dtype(np.float32)
    step = _step if all(x.dtype == dtype for x in flat) else _step_converted
    size = flat[0].size
    if size <= BLOCK:
        step(update, _buffers(dtype), flat)
    else:

        def chunk(i: int) -> None:
            buffers = _buffers(dtype)
            for start in range(i * CHUNK, min(size, (i + 1) * CHUNK), BLOCK):
                step(update, buffers, [x[start : start + BLOCK] for x in flat])

        share(chunk, -(-size // CHUNK))
    for i, x in enumerate(arrays):
        if i != 1 and not x.flags.c_contiguous:
            x[...] = flat[i].view(x.dtype).reshape(x.shape)


def _step(update: Callable[..., None], buffers: list[Array], blocks: list[Array]) -> None:
    n = blocks[0].size
    update(buffers[0][:n], buffers[1][:n], *blocks)


def _step_converted(update: Callable[..., None], buffers: list[Array], blocks: list[Array]) -> None:
    n = blocks[0].size
    while len(buffers) < 2 + len(blocks):
        buffers.append(np.empty_like(buffers[0]))
    copies = [buffer[:n] for buffer in buffers[2 : 2 + len(blocks)]]
    for copy, block in zip(copies, blocks, strict=True):
        copy[...] = block
    update(buffers[0][:n], buffers[1][:n], *copies)
    for i, (copy, block) in enumerate(zip(copies, blocks, strict=True)):
        if i != 1:
            block[...] = copy


def _buffers(dtype: np.dtype[Any]) -> list[Array]:
    """This thread's scratch blocks of `dtype`."""
    buffers: dict[np.dtype[Any], list[Array]] | None = getattr(_scratch, "buffers", None)
    if buffers is None:
        buffers = _scratch.buffers = {}
    if dtype not in buffers:
        buffers[dtype] = [np.empty(BLOCK, dtype) for _ in range(2)]
    return buffers[dtype]
