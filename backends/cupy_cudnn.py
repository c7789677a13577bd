"""cuDNN's graphs, where nvidia-cudnn-frontend is installed: built once, kept, and run.

For every kind of call (shapes, strides, dtype, parameters, device) a graph of one operation is kept
with its execution plan, or with the fact that cuDNN has none.  What was chosen, and why, is logged
once for each kind of call to the logger "autograd_gpu.cudnn" at level DEBUG.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import cupy as cp
import numpy as np
from cupy.cuda.device import get_device_id

from autograd_gpu.backends import cupy_settings

Array = Any
Spelling = Callable[..., Sequence[Any]]
"""Adds an operation to a graph: from `cudnn`, the graph and its inputs to its outputs."""

_log = logging.getLogger("autograd_gpu.cudnn")

# What cuDNN's plans read and write at once, in bytes; they fail on arrays at other addresses.
ALIGNMENT = 16


class Layout(NamedTuple):
    """What a graph knows of an array; strides are in elements."""

    dim: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str

    @classmethod
    def of(cls, x: Array) -> Layout:
        """That of `x`; an axis of one element gets a stride as if it had more."""
        stride: list[int] = []
        step = 1
        for n, s in zip(reversed(x.shape), reversed(x.strides), strict=True):
            stride.append(step if n == 1 else s // x.itemsize)
            step = n * stride[-1]
        return cls(x.shape, tuple(reversed(stride)), x.dtype.name)

    @classmethod
    def dense(cls, dim: Sequence[int], dtype: str, order: Sequence[int] | None = None) -> Layout:
        """Without gaps; `order` says which axis is the outermost in memory, which the next."""
        stride, step = [0] * len(dim), 1
        for axis in reversed(range(len(dim)) if order is None else order):
            stride[axis] = step
            step *= dim[axis]
        return cls(tuple(dim), tuple(stride), dtype)

    def empty(self, dtype: Any) -> Array:
        """An array of this layout, which has no gaps."""
        order = sorted(range(len(self.dim)), key=lambda axis: -self.stride[axis])
        out = cp.empty([self.dim[axis] for axis in order], dtype)
        return out.transpose(np.argsort(order).tolist())


class _Plan(NamedTuple):
    graph: Any
    workspace: int


class _Thread(threading.local):
    """cuDNN forbids that threads share a handle, and plans remember what they ran with."""

    def __init__(self) -> None:
        self.handles: dict[int, Any] = {}
        self.plans: dict[Any, _Plan | None] = {}


_thread = _Thread()


@cache
def library() -> Any:
    """The module `cudnn`; None where it is missing or finds no cuDNN."""
    try:
        module = importlib.import_module("cudnn")
        _log.debug("cuDNN %s", module.backend_version())
    except (ImportError, RuntimeError) as error:
        _log.debug("not used: %s", error)
        return None
    return module


def takes(*arrays: Array) -> bool:
    """Whether these arrays are for cuDNN, as far as that is known without asking it."""
    dtype = arrays[0].dtype
    return (
        cupy_settings.cudnn
        and dtype.itemsize == 2
        and (dtype.kind == "f" or dtype.name == "bfloat16")
        and all(x.dtype == dtype and x.size and x.data.ptr % ALIGNMENT == 0 for x in arrays)
        and library() is not None
    )


def _handle(device: int) -> Any:
    handle = _thread.handles.get(device)
    if handle is None:
        handle = _thread.handles[device] = library().create_handle()
    return handle


def plan_for(
    op: str,
    spelling: Spelling,
    inputs: Sequence[Layout],
    outputs: Sequence[Layout],
    params: dict[str, Any],
) -> _Plan | None:
    """The plan for this kind of call, or None if cuDNN has none."""
    device = get_device_id()
    key = (op, device, cupy_settings.deterministic, *inputs, *outputs, *params.values())
    if key in _thread.plans:
        return _thread.plans[key]
    cudnn = library()
    call = (
        f"{op}({', '.join(f'{x.dtype}{list(x.dim)}/{list(x.stride)}' for x in inputs)}, {params})"
    )
    plan = None
    try:
        graph = _graph(spelling, _handle(device), inputs, outputs, params)
        plan = _Plan(graph, graph.get_workspace_size())
        _log.debug("%s: cuDNN, with %d bytes of workspace", call, plan.workspace)
    except (cudnn.cudnnGraphNotSupportedError, RuntimeError, ValueError, ImportError) as error:
        _log.debug("%s: not by cuDNN: %s", call, error)
    _thread.plans[key] = plan
    return plan


def _graph(
    spelling: Spelling,
    handle: Any,
    inputs: Sequence[Layout],
    outputs: Sequence[Layout],
    params: dict[str, Any],
) -> Any:
    cudnn = library()
    types = {
        "float16": cudnn.data_type.HALF,
        "bfloat16": cudnn.data_type.BFLOAT16,
        "float32": cudnn.data_type.FLOAT,
    }
    wide = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=types[inputs[0].dtype],
        intermediate_data_type=wide,
        compute_data_type=wide,
        handle=handle,
    )
    given = [
        graph.tensor(dim=list(x.dim), stride=list(x.stride), data_type=types[x.dtype], uid=uid)
        for uid, x in enumerate(inputs, 1)
    ]
    made = spelling(cudnn, graph, *given, **params)
    for uid, (tensor, x) in enumerate(zip(made, outputs, strict=True), 1 + len(inputs)):
        tensor.set_uid(uid).set_output(True).set_data_type(types[x.dtype])
        tensor.set_dim(list(x.dim)).set_stride(list(x.stride))
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    notes = [cudnn.numerical_note.REDUCED_PRECISION_REDUCTION]
    if cupy_settings.deterministic:
        notes.append(cudnn.numerical_note.NONDETERMINISTIC)
    graph.deselect_numeric_notes(notes)
    graph.check_support()
    graph.build_plans()
    return graph


def run(
    op: str, spelling: Spelling, inputs: Sequence[Array], outputs: Sequence[Layout], **params: Any
) -> list[Array] | None:
    """The outputs, computed on the current stream; None if cuDNN has no plan for that."""
    plan = plan_for(op, spelling, [Layout.of(x) for x in inputs], outputs, params)
    if plan is None:
        return None
    dtype = inputs[0].dtype
    results = [x.empty(np.float32 if x.dtype == "float32" else dtype) for x in outputs]
    handle = _handle(get_device_id())
    library().set_stream(handle=handle, stream=cp.cuda.get_current_stream().ptr)
    # bfloat16 has no name in the protocols by which cuDNN would read an array
    pointers = {uid: x.data.ptr for uid, x in enumerate((*inputs, *results), 1)}
    # back in the pool at once, for work that is later on this stream
    workspace = cp.empty(max(plan.workspace, 1), np.uint8)
    plan.graph.execute(pointers, workspace.data.ptr, handle=handle)
    return results
