"""Products in captured graphs: by nvmath-python's cuBLAS, or an error that says so."""

from __future__ import annotations

import sys

import numpy as np
import pytest


@pytest.fixture
def captured(cp):
    """`captured(f)` is the graph of `f()` and its result; f has run once before."""
    blas = pytest.importorskip("autograd_gpu.backends.cupy_graph_blas")
    pytest.importorskip("nvmath.bindings.cublas", exc_type=ImportError)
    stream, pool = cp.cuda.Stream(non_blocking=True), cp.cuda.MemoryPool()

    def capture(f):
        with cp.cuda.using_allocator(pool.malloc), stream:
            workspace = blas.new_workspace()
            with blas.capturable(stream, workspace):
                f()
                stream.begin_capture()
                y = f()
                graph = stream.end_capture()
        kept.append(workspace)
        return graph, y

    kept = []
    return capture
