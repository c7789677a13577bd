"""Host memory that plays the part of device memory.

Fresh memory is filled with 0xff: NaN in every floating type, -1 in signed integers.  Tables say
what is where: raw blocks, as from cudaMalloc, and the arrays that CuPy's pool cut from them; pinned
host memory; and the global variables of kernels, which are on the device as well.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from . import counters, places
from .blocks import Blocks
from .errors import IllegalCall

TOTAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
_ALIGNMENT = 512
_UNSET = 0xFF

_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.free.restype = None
_libc.free.argtypes = [ctypes.c_void_p]


device = Blocks()
pinned = Blocks()
symbols = Blocks()
arrays = Blocks()
_device_of: dict[int, int] = {}


class OutOfMemory(Exception):
    """The emulated device has no more memory."""


def allocate(size: int, table: Blocks) -> int:
    """A block of unset memory."""
    if table is device and device.total + size > TOTAL:
        raise OutOfMemory(size)
    rounded = _rounded(max(size, 1))
    address = _libc.aligned_alloc(_ALIGNMENT, rounded)
    if not address:
        raise OutOfMemory(size)
    ctypes.memset(address, _UNSET, rounded)
    table.add(address, rounded)
    if table is device:
        _device_of[address] = places.current()
        counters.raw_allocation(size)
    return int(address)


def release(address: int, table: Blocks) -> None:
    size = table.remove(address)
    if size is not None:
        arrays.remove_within(address, size)
        _device_of.pop(address, None)
        _libc.free(address)
    elif address:
        raise IllegalCall(f"free of {address:#x}, which is not the start of an allocation")


def enter_array(address: int, size: int) -> None:
    """Note what the pool hands out, and unset it: the pool reuses memory that has old values."""
    counters.allocation(size)
    if size:
        arrays.remove_within(address, _rounded(size))
        ctypes.memset(address, _UNSET, _rounded(size))
        arrays.add(address, size)


def check_margins() -> None:
    """Raise IllegalCall if anything was written beyond the end of an array.

    The pool rounds sizes up to 512 bytes; what is left over behind an array has to stay unset.
    """
    for start, size in arrays:
        margin = _rounded(size) - size
        if margin and ctypes.string_at(start + size, margin) != b"\xff" * margin:
            ctypes.memset(start + size, _UNSET, margin)  # one report is enough
            raise IllegalCall(f"a kernel wrote beyond the end of an array of {size} bytes")


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def is_on_device(address: int) -> bool:
    return device.find(address) is not None or symbols.find(address) is not None


def device_of(address: int) -> int:
    """The number of the device that `address` is memory of; that of a kernel's variable is 0."""
    block = device.find(address)
    return 0 if block is None else _device_of[block[0]]


def check_range(address: int, size: int, what: str) -> None:
    """Raise IllegalCall unless the bytes lie inside one live allocation on the device."""
    if size == 0:
        return
    if not is_on_device(address):
        where = "pinned host memory" if pinned.find(address) else "no memory of the device"
        raise IllegalCall(f"{what} at {address:#x} is {where}")
    # Memory from a private pool is in the table of raw blocks only.
    start, length = arrays.find(address) or device.find(address) or symbols.find(address) or (0, 0)
    if address + size > start + length:
        raise IllegalCall(
            f"{what} reaches {address + size - start - length} bytes beyond its allocation: "
            f"{size} bytes from offset {address - start} of {length}"
        )


def view(address: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A NumPy array on memory of the device; strides are in bytes and not negative."""
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.empty(shape, dtype)
    span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    buffer = (ctypes.c_char * span).from_address(address)
    return np.ndarray(shape, dtype, buffer, 0, strides)


def view_flat(address: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The same for a C-contiguous array."""
    strides, step = [], np.dtype(dtype).itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return view(address, dtype, shape, tuple(reversed(strides)))
