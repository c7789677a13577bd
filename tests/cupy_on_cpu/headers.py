"""Lets NVRTC keep the headers that it has read, which is half of its work on a small kernel."""

from __future__ import annotations

import ctypes
import functools

# CuPy's special functions need more than NVRTC's 256 MiB; no more memory is taken than is used.
_HEAP = 512 << 20
# Precompiled headers that do not fit, were not made, or belong to other options: nobody's concern.
_QUIET = ("-pch-messages=false", "-diag-suppress=629,630,639,20283")


@functools.cache
def precompiled() -> tuple[str, ...]:
    """NVRTC's options for that, within a process; none before CUDA 12.8, which cannot do it."""
    from cupy_backends.cuda.libs import nvrtc

    nvrtc.getVersion()  # loads the library
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libnvrtc.so" in line)
    library = ctypes.CDLL(path)
    if not hasattr(library, "nvrtcSetPCHHeapSize"):
        return ()
    library.nvrtcSetPCHHeapSize(ctypes.c_size_t(_HEAP))
    return ("-pch", *_QUIET)


def gathered(source: str) -> str:
    """The source of a kernel, with what CuPy's special functions share among its first lines.

    Only what stands before the first declaration is kept; their own headers come after that.
    """
    if "#include <cupy/xsf/" not in source:
        return source
    # in place of an empty line, so that messages name the right one
    return source.replace(f"{_LAST}\n", f"{_LAST}#include <cupy/xsf/config.h>\n", 1)


_LAST = "#include <cupy/math_constants.h>\n"
