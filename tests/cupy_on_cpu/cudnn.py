"""Stands for nvidia-cudnn-frontend's `cudnn`: graphs of one operation, done by NumPy.

Names, arguments and the order of calls are those of version 1.32.  What is checked is what cuDNN
asks of its caller: uids, layouts, pointers and their alignment, the workspace, the device and
stream of the handle.  `make_module()` is the module; its `declines` may be given a function that
returns why a graph has no plan.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import counters, cudnn_operations as operations, graphs, memory, places
from .errors import IllegalCall
from .gemm import dtype_of

WORKSPACE = 1000
_ALIGNMENT = 16


class data_type(enum.Enum):
    HALF = 2  # the values are cudaDataType's
    BFLOAT16 = 14
    FLOAT = 0


class heur_mode(enum.Enum):
    A = 0
    B = 1
    FALLBACK = 2


class numerical_note(enum.Enum):
    NONDETERMINISTIC = 0
    REDUCED_PRECISION_REDUCTION = 1


class diagonal_alignment(enum.Enum):
    TOP_LEFT = 0
    BOTTOM_RIGHT = 1


class cudnnGraphNotSupportedError(Exception):
    """cuDNN has no plan for the graph."""


class Handle:
    """Belongs to the device that was current, and runs on a stream."""

    def __init__(self) -> None:
        self.device, self.stream = places.current(), 0


class Tensor:
    """A tensor of a graph; an output says what it is by the setters, which can be chained."""

    def __init__(
        self, dim: list[int] | None, stride: list[int] | None, kind: Any, uid: int | None
    ) -> None:
        self.dim, self.stride, self.kind, self.uid = dim, stride, kind, uid
        self.is_output = False

    def set_uid(self, uid: int) -> Tensor:
        self.uid = uid
        return self

    def set_output(self, is_output: bool) -> Tensor:
        self.is_output = is_output
        return self

    def set_data_type(self, kind: data_type) -> Tensor:
        self.kind = kind
        return self

    def set_dim(self, dim: list[int]) -> Tensor:
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> Tensor:
        self.stride = stride
        return self

    def array(self, address: int) -> Any:
        """What lies at `address`, as a NumPy array, after checking that it lies there."""
        assert self.dim
        assert self.stride
        if not isinstance(address, int) or address % _ALIGNMENT:
            raise IllegalCall(f"the tensor of uid {self.uid} is at {address!r}, not aligned")
        places.check_current(memory.device_of(address), f"the tensor of uid {self.uid} lives")
        dtype = dtype_of(self.kind.value)
        span = 1 + sum((n - 1) * s for n, s in zip(self.dim, self.stride, strict=True))
        memory.check_range(address, span * dtype.itemsize, f"the tensor of uid {self.uid}")
        strides = tuple(s * dtype.itemsize for s in self.stride)
        return memory.view(address, dtype, tuple(self.dim), strides)


_STEPS = (
    "validate",
    "build_operation_graph",
    "create_execution_plans",
    "check_support",
    "build_plans",
)


def _given(x: Tensor | None) -> list[Tensor]:
    return [] if x is None else [x]


class Graph:
    """A graph of one operation; the five steps that lead to a plan come in their order."""

    def __init__(self, module: Any, types: tuple[Any, Any, Any], handle: Handle) -> None:
        self._module, self.types, self._handle = module, types, handle
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.op = ""
        self.params: dict[str, Any] = {}
        self.deselected: list[Any] = []
        self._done = 0

    def tensor(self, dim: list[int], stride: list[int], data_type: Any, uid: int) -> Tensor:
        tensor = Tensor(dim, stride, data_type, uid)
        self.inputs.append(tensor)
        return tensor

    def _operation(self, op: str, inputs: list[Tensor], outputs: int, params: Any) -> list[Tensor]:
        if self.op or inputs != self.inputs:
            raise IllegalCall(f"{op}: the graph has other inputs, or another operation")
        self.op, self.params = op, params
        self.outputs = [Tensor(None, None, None, None) for _ in range(outputs)]
        return self.outputs

    def conv_fprop(self, image: Tensor, weight: Tensor, **window: Any) -> Tensor:
        return self._operation("conv_fprop", [image, weight], 1, window)[0]

    def conv_dgrad(self, loss: Tensor, filter: Tensor, **window: Any) -> Tensor:
        return self._operation("conv_dgrad", [loss, filter], 1, window)[0]

    def conv_wgrad(self, image: Tensor, loss: Tensor, **window: Any) -> Tensor:
        return self._operation("conv_wgrad", [image, loss], 1, window)[0]

    def sdpa(
        self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, **params: Any
    ) -> list[Tensor]:
        return self._operation("sdpa", [q, k, v, *_given(bias)], 2, params)

    def sdpa_backward(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, dO: Tensor, stats: Tensor,
        bias: Tensor | None = None, **params: Any,
    ) -> list[Tensor]:  # fmt: skip
        inputs = [q, k, v, o, dO, stats, *_given(bias)]
        return self._operation("sdpa_backward", inputs, 3, params)

    def _step(self, name: str) -> None:
        if _STEPS[self._done] != name:
            raise IllegalCall(f"{name} was called, {_STEPS[self._done]} is due")
        self._done += 1

    def validate(self) -> None:
        self._step("validate")
        tensors = self.inputs + self.outputs
        uids = [x.uid for x in tensors]
        if len(set(uids)) < len(uids) or None in uids:
            raise IllegalCall(f"uids {uids} are not one for each tensor")
        for x in self.outputs:
            if not x.is_output or x.kind is None:
                raise IllegalCall(f"the tensor of uid {x.uid} is no output with a type")
        for x in tensors:
            if not x.dim or len(x.dim) != 4 or not x.stride or len(x.stride) != 4:
                raise IllegalCall(f"the tensor of uid {x.uid} has dim {x.dim}, stride {x.stride}")
        operations.check(self.op, *(tuple(x.dim or ()) for x in tensors), **self.params)

    def build_operation_graph(self) -> None:
        self._step("build_operation_graph")

    def create_execution_plans(self, modes: list[Any]) -> None:
        self._step("create_execution_plans")

    def deselect_numeric_notes(self, notes: list[Any]) -> None:
        if _STEPS[self._done] != "check_support":
            raise IllegalCall("notes are deselected among plans, once there are some")
        self.deselected += notes

    def check_support(self) -> None:
        self._step("check_support")
        reason = self._module.declines(self)
        if reason:
            raise cudnnGraphNotSupportedError(reason)

    def build_plans(self) -> None:
        self._step("build_plans")
        self._module.built.append(self)

    def get_workspace_size(self) -> int:
        return WORKSPACE

    def execute(self, pointers: dict[int, int], workspace: int, handle: Handle) -> None:
        if self._done < len(_STEPS):
            raise IllegalCall(f"a graph without a plan was executed: {_STEPS[self._done]} is due")
        places.check_current(handle.device, "the handle lives")
        places.check_stream(handle.stream, "a cuDNN graph")
        if self._module.current_stream() != handle.stream:
            raise IllegalCall("the handle has another stream than the current one")
        tensors = self.inputs + self.outputs
        if set(pointers) != {x.uid for x in tensors}:
            raise IllegalCall(f"pointers for uids {sorted(pointers)} were given")
        memory.check_range(workspace, WORKSPACE, "the workspace")
        pointers = dict(pointers)

        def run() -> None:
            found = {x.uid: x.array(pointers[x.uid]) for x in tensors}  # type: ignore[index]
            values = [found[x.uid].astype(np.float32) for x in self.inputs]
            with np.errstate(all="ignore"):
                shapes = [tuple(x.dim or ()) for x in self.outputs]
                results = operations.RUN[self.op](values, shapes, **self.params)
            for x, value in zip(self.outputs, results, strict=True):
                found[x.uid][...] = value.astype(found[x.uid].dtype)
            counters.cudnn(
                counters.CudnnCall(
                    self.op,
                    dict(self.params),
                    {
                        x.uid: (tuple(x.dim), tuple(x.stride), x.kind.name, pointers[x.uid])  # type: ignore[arg-type,index,misc]
                        for x in tensors
                    },
                    handle.stream,
                    workspace,
                )
            )

        graphs.do(handle.stream, run, "a cuDNN graph")


def make_module(current_stream: Callable[[], int]) -> ModuleType:
    """The module, with the graphs that got a plan in `built`."""
    module: Any = ModuleType("cudnn")
    module.declines = lambda graph: None
    module.built = []
    module.current_stream = current_stream
    module.backend_version = lambda: 92801
    module.create_handle = Handle

    def set_stream(handle: Handle, stream: int) -> None:
        handle.stream = stream

    def pygraph(
        *, io_data_type: Any, intermediate_data_type: Any, compute_data_type: Any, handle: Handle
    ) -> Graph:
        return Graph(module, (io_data_type, intermediate_data_type, compute_data_type), handle)

    module.set_stream, module.pygraph = set_stream, pygraph
    for kind in (
        data_type, heur_mode, numerical_note, diagonal_alignment, cudnnGraphNotSupportedError
    ):  # fmt: skip
        setattr(module, kind.__name__, kind)
    return module  # type: ignore[no-any-return]
