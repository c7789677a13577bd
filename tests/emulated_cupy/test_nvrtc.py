"""NVRTC by itself: messages with line and caret."""

from __future__ import annotations

import cupy as cp
import pytest
from cupy_on_cpu import nvrtc


def test_nvrtc_checks() -> None:
    relu = cp.ElementwiseKernel("T x, S s", "T y", "y = x > T(0) ? T(x * T(s)) : T(0)", "relu")
    assert nvrtc.assert_compiles(nvrtc.check_elementwise(relu, scalars=["s"])) == 36
    l2 = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
    assert nvrtc.assert_compiles(nvrtc.check_reduction(l2)) == 9
    raw = cp.RawKernel('extern "C" __global__ void f(float* x) { x[0] = 1; }', "f")
    assert nvrtc.assert_compiles(nvrtc.check_raw(raw)) == 3


def test_nvrtc_reports_line_and_caret() -> None:
    wrong = cp.ElementwiseKernel("T x", "T y", "y = tanhh(x)", "wrong")
    with pytest.raises(AssertionError, match=r"kernel.cu\(\d+\): error: .*tanhh[^^]*\^"):
        nvrtc.assert_compiles(nvrtc.check_elementwise(wrong, [{"T": "f4"}]))
    wrong = cp.ReductionKernel("T x", "T y", "x", "a + c", "y = a", "0", "wrong")
    assert all('"c" is undefined' in str(c.error) for c in nvrtc.check_reduction(wrong))
    missing = cp.RawKernel('extern "C" __global__ void f(float* x) {}', "g")
    assert "no kernel called ['g']" in str(nvrtc.check_raw(missing)[0].error)
