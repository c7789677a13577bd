"""Precompiled headers: NVRTC says the same with them, about the same lines."""

from __future__ import annotations

import cupy as cp
import pytest
from cupy.cuda.compiler import CompileException
from cupy_on_cpu import headers


def errors(preamble: str) -> CompileException:
    kernel = cp.ElementwiseKernel("T x", "T y", "y = nothing(x)", "wrong", preamble=preamble)
    with pytest.raises(CompileException) as info:
        kernel(cp.ones(3))
    return info.value


@pytest.mark.parametrize("preamble", ["", "#include <cupy/xsf/cephes/ellik.h>"])
def test_an_error_names_its_line_and_nothing_else(preamble: str) -> None:
    message = str(errors(preamble)).partition("\n\n")[0]
    assert 'identifier "nothing" is undefined' in message
    assert "PCH" not in message
    assert "precompiled" not in message


def test_lines_stay_where_they_are() -> None:
    source = errors("#include <cupy/xsf/cephes/ellik.h>").source
    lines = source.splitlines()
    plain = source.replace("#include <cupy/xsf/config.h>\n", "\n")
    assert plain != source
    assert headers.gathered(plain) == source
    assert len(plain.splitlines()) == len(lines)
    assert headers.gathered("#include <cupy/math_constants.h>\n\nint i;") == (
        "#include <cupy/math_constants.h>\n\nint i;"
    )
