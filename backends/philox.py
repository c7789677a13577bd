"""Philox4x32-10, a counter-based generator: word i is a function of (seed, offset, i) alone.

So masks need no state, can be computed again instead of being kept, and are the same on NumPy and
CuPy, whose form of it is in `cupy_philox`.  Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", 2011; the known answers of Random123 are in the tests.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy as np

from autograd_gpu.extension import extension
from autograd_gpu.threads import share

Array = np.ndarray[Any, Any]

M0, M1 = 0xD2511F53, 0xCD9E8D57
W0, W1 = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10

_WORDS = 1 << 17  # for one thread
_BLOCKS = 8192  # counters worked on at a time: all scratch stays in the cache
_MASK = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)


def philox_blocks(counter: Array, key: tuple[int, int]) -> Array:
    """The four words [n, 4] uint32 of each counter [n, 4] uint32 under `key`, two 32-bit words."""
    # 64-bit words throughout, of which products need all and the rest the lower half
    c0, c1, c2, c3 = (counter[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * np.uint64(M0), c2 * np.uint64(M1)
        c0, c1 = (p1 >> _HIGH) ^ c1 ^ np.uint64(k0), p1 & _MASK
        c2, c3 = (p0 >> _HIGH) ^ c3 ^ np.uint64(k1), p0 & _MASK
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], 1).astype(np.uint32)


def random_bits(shape: tuple[int, ...], seed: int, offset: int = 0) -> Array:
    """Random uint32 of `shape`, set by `seed` and `offset`, both in [0, 2**64).

    Different offsets give independent arrays: count them up from draw to draw.  Element i, in C
    order, is word i % 4 of the block with counter i // 4.
    """
    check_seed(seed, offset)
    n = prod(shape)
    if extension is not None:
        return _compiled(n, np.uint32, seed, offset).reshape(shape)
    blocks = -(-n // 4)
    out = np.empty((blocks, 4), np.uint32)
    key = (seed & 0xFFFFFFFF, seed >> 32)
    for start in range(0, blocks, _BLOCKS):
        number = np.arange(start, min(start + _BLOCKS, blocks), dtype=np.uint64)
        counter = np.empty((number.size, 4), np.uint32)
        counter[:, 0], counter[:, 1] = number & _MASK, number >> _HIGH
        counter[:, 2], counter[:, 3] = offset & 0xFFFFFFFF, offset >> 32
        out[start : start + number.size] = philox_blocks(counter, key)
    return out.reshape(-1)[:n].reshape(shape)


def _compiled(n: int, dtype: Any, seed: int, offset: int) -> Array:
    """A vector of words, or of numbers in [0, 1), by the compiled core."""
    out = np.empty(n, dtype)
    seed, offset = index(seed), index(offset)

    def part(i: int) -> None:
        extension.philox(out, i * _WORDS, min((i + 1) * _WORDS, n), seed, offset)

    share(part, -(-n // _WORDS))
    return out


def check_seed(seed: int, offset: int) -> None:
    """ValueError unless both are integers in [0, 2**64)."""
    if not (0 <= seed < 2**64 and 0 <= offset < 2**64):
        raise ValueError(f"seed {seed} and offset {offset} must be in [0, 2**64)")


def random_unit(shape: tuple[int, ...], seed: int, offset: int = 0) -> Array:
    """float32 of `shape`, uniform in [0, 1) in steps of 2**-24, so exact on every backend."""
    if extension is not None:
        check_seed(seed, offset)
        return _compiled(prod(shape), np.float32, seed, offset).reshape(shape)
    return (random_bits(shape, seed, offset) >> np.uint32(8)).astype(np.float32) * np.float32(
        2**-24
    )
