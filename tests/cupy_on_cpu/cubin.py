"""Names in a cubin, which is an ELF file; no tool of CUDA's is needed to read them."""

from __future__ import annotations

import struct

_SYMBOL_TABLE = 2
_OBJECT, _FUNCTION = 1, 2


def function_names(image: bytes) -> set[str]:
    """The kernels and device functions that a compiled module has."""
    return set(_symbols(image, _FUNCTION))


def variables(image: bytes) -> dict[str, int]:
    """The global variables of a compiled module, and their sizes in bytes."""
    return _symbols(image, _OBJECT)


def _symbols(image: bytes, kind: int) -> dict[str, int]:
    if image[:4] != b"\x7fELF":
        raise ValueError(f"not a cubin: it begins with {image[:8]!r}")
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, _ = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    found = {}
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        start, length, text, entry_size = section[4], section[5], section[6], section[9]
        strings = sections[text][4]
        for offset in range(start, start + length, entry_size):
            name, info = struct.unpack_from("<IB", image, offset)
            if info & 15 == kind:
                begin = strings + name
                (bytes_,) = struct.unpack_from("<Q", image, offset + 16)
                found[image[begin : image.index(b"\0", begin)].decode()] = bytes_
    return found
