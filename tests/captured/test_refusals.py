"""What cannot be captured runs eagerly, is named, and leaves everything usable."""

from __future__ import annotations

import gc
import importlib
import sys
import types

import pytest
from captured_steps import (
    both,
    parameter,
)

import autograd_gpu as ag
from autograd_gpu import nn, optim

F = nn.functional


def counted(cp, waits):
    """A step that trains with dropout, and does something that waits at the end."""

    def make():
        w = parameter(cp)
        optimizer = optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (F.dropout(w, 0.3) * x).sum()
            loss.backward()
            optimizer.step()
            return waits(w, loss), w.detach()

        return step

    return make


@pytest.mark.parametrize(
    ("waits", "name"),
    [
        (lambda w, loss: ag.nonzero(w.detach())[0], "nonzero"),
        (lambda w, loss: loss.item(), "the step, in line "),
        (lambda w, loss: float(loss.detach() > 0), "the step, in line "),
        (lambda w, loss: ag.sort(w.detach()), "sort"),
        (lambda w, loss: ag.linalg.inv(ag.eye(2) + ag.sum(w.detach())), "inv"),
    ],
)
def test_what_cannot_be_captured_runs_eagerly_and_is_named(cp, counting, waits, name):
    function = both(cp, counted(cp, waits), 4)
    assert function.replays == 0
    assert function.reason.startswith(name)
    assert "cannot be captured in a CUDA graph" in function.reason
    if name.startswith("the step"):
        assert " of test_refusals.py, " in function.reason
    # everything is as usable as before
    cp.cuda.Device().synchronize()
    assert not cp.cuda.get_current_stream().is_capturing()
    assert gc.isenabled()
    other = both(cp, lambda: lambda x: x * 2, 4)
    assert other.replays == 2


def test_errors_of_the_step_are_raised_as_ever(cp):
    fails = False

    def step(x):
        y = x * 2
        return y + ag.ones(2) if fails else y

    function = ag.compile(step)
    x = ag.Variable(cp.ones(3, "float32"))
    function(x)
    fails = True
    with pytest.raises(ValueError, match="add"):
        function(x)
    fails = False
    assert function(x).value.get().tolist() == [2.0] * 3


def test_without_nvmath_products_are_named(cp, counting, monkeypatch):
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublas", None)
    w = ag.Variable(cp.ones((3, 3), "float32"))
    function = both(cp, lambda: lambda x: w @ x, 4)
    assert function.replays == 0
    assert function.reason.startswith("matmul(a: float32[3, 3], b: float32[3]) cannot be captured")
    assert "nvmath-python" in function.reason
    assert both(cp, lambda: lambda x: x * 2, 4).replays == 2  # which needs no product


def test_an_nvmath_without_cublas_is_no_error(cp, counting, monkeypatch):
    cublas = sys.modules["nvmath.bindings.cublas"]
    threads = importlib.import_module("autograd_gpu.backends.cupy_graph_blas")

    def create():
        raise RuntimeError("libcublas.so.13 is not found")

    monkeypatch.setattr(threads, "_handles", types.SimpleNamespace())
    monkeypatch.setattr(cublas, "create", create)
    w = ag.Variable(cp.ones((3, 3), "float32"))
    function = both(cp, lambda: lambda x: w @ x, 4)
    assert function.replays == 0
    assert "nvmath-python cannot use cuBLAS: RuntimeError: libcublas.so.13" in function.reason
