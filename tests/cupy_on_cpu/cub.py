"""CuPy's reductions with CUB, which a GPU runs for long contiguous rows: compiled, and not run.

The emulation switches CUB off, as g++ does not compile it.  NVRTC does, for some seconds each.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


class _Compiled(Exception):
    """Raised in place of the launch."""


def compile_with_cub(reduce: Callable[[], Any]) -> str:
    """Compile the kernel that `reduce` launches first, in its variant with CUB; its source.

    Raises CuPy's CompileException where NVRTC refuses it, and AssertionError where CuPy takes a
    variant without CUB.
    """
    from cupy import _core
    from cupy.cuda import compiler

    from . import kernels

    sources: list[str] = []

    def judge(
        source: str,
        options: Any = (),
        arch: str | None = None,
        filename: str = "kern.cu",
        name_expressions: Any = None,
        log_stream: Any = None,
        cache_in_memory: bool = False,
        jitify: Any = None,
        method: Any = None,
    ) -> Any:
        kernels.nvrtc()(
            source, tuple(options), arch, filename, name_expressions, io.StringIO(), False, None,
            method,
        )  # fmt: skip
        sources.append(source)
        raise _Compiled

    before = _core.get_reduction_accelerators()
    emulated = compiler._compile_using_nvrtc_no_warning
    _core.set_reduction_accelerators(["cub"])
    compiler._compile_using_nvrtc_no_warning = judge
    try:
        reduce()
    except _Compiled:
        pass
    finally:
        compiler._compile_using_nvrtc_no_warning = emulated
        _core.set_reduction_accelerators(before)
    assert sources, "nothing was compiled"
    assert "BlockReduce" in sources[0], "CuPy took its variant without CUB"
    return sources[0]
