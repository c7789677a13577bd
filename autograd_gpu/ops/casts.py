"""Other dtypes and other devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu.backend import (
    BACKENDS,
    NAMES,
    SEVERAL_DEVICES,
    Array,
    Namespace,
    backend_of,
    load_backend,
)
from autograd_gpu.batched import Batched
from autograd_gpu.batching import batched
from autograd_gpu.graph import Edges, FunctionNode, Gradient, edges_of, make_result
from autograd_gpu.primitive import primitive
from autograd_gpu.values import DIFFERENTIABLE
from autograd_gpu.variable import Variable


@primitive(x=lambda g: g, tangent=lambda t: t)
def astype_(xp: Namespace, x: Array, *, dtype: Any, copy: bool = False) -> Array:
    """`astype`; the engine casts the gradient back."""
    return x.astype(dtype, copy=copy)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Variable:
    """`x` in another dtype, and on another device if one is given; a result of integers or bools is
    a leaf without a gradient.

    A Variable has value semantics, so the array itself serves where it has the dtype already;
    `copy=True` makes one that shares no memory with it.

    >>> astype(Variable([1.5, 2.5]), "int64")
    Variable(array([1, 2]))
    """
    if dtype is None:
        raise TypeError("astype: a dtype is needed, not None")
    result = astype_(x, dtype, copy)
    if device is not None:
        result = to_device(result, device)
    if result.grad_fn is not None and result.value.dtype.kind not in f"{DIFFERENTIABLE}V":
        return result.detach()
    return result


class Recast(FunctionNode):
    """A value in another dtype that was computed before; the engine casts the gradient back."""

    __slots__ = ()

    label = "astype"

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return (g,)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return tangents[0]

    backward_recorded = backward
    tangent_recorded = tangent


def recast(x: Variable, value: Array) -> Variable:
    """`x` in another dtype, where `value` is what `astype` gave for it before."""
    edges = edges_of((x,))
    if edges is None:
        return make_result(value)
    node = Recast()
    node.edges = edges
    return make_result(value, node)


class Transfer(FunctionNode):
    """A value moved to another backend or device; its gradient moves back."""

    __slots__ = ("backend", "device", "target")

    label = "to"
    backend: str  # where the gradient goes
    device: Any
    target: tuple[str, Any]  # where the value went

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return (_moved(g, self.backend, self.device),)

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return (_transferred(g, self.backend, self.device),)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        return _moved(tangents[0], *self.target)

    def tangent_recorded(self, tangents: Sequence[Gradient]) -> Gradient:
        return _transferred(tangents[0], *self.target)


def to(x: Variable, target: Any) -> Variable:
    """`x` on another backend or device, or in another dtype; `x` itself where nothing changes.

    `target` is 'numpy' or 'cpu', 'cupy' or 'cuda' (the current device), 'cuda:N', a device, or a
    dtype.  The gradient moves back.  Moving to or from the host waits for the device.  Raises
    BackendError where the backend cannot work on this machine.

    >>> Variable([1.0, 2.0]).to("numpy")
    Variable(array([1., 2.], dtype=float32))
    """
    place = placed(target)
    if place is None:
        return x if x.value.dtype == target else astype(x, target)
    name, device = place
    backend = backend_of(x.value)
    if backend.name == name:
        if device is None and backend in SEVERAL_DEVICES:
            device = _cuda_device(str(backend.current_device()))
        if device is None or device == x.device:
            return x
    return _transferred(x, name, device)


def to_device(x: Variable, device: Any, /, *, stream: Any = None) -> Variable:
    """The array API's name for `to` with a device; CuPy's current stream is the one that counts."""
    if placed(device) is None:
        raise ValueError(f"to_device: {device!r} is no device; 'cpu' and 'cuda:0' are such")
    return to(x, device)


def cpu(x: Variable) -> Variable:
    """`x` as a NumPy array; `x` itself if it is one."""
    return to(x, "numpy")


def cuda(x: Variable, device: int | None = None) -> Variable:
    """`x` as a CuPy array on the CUDA device of that number, or on the current one."""
    return to(x, "cupy" if device is None else f"cuda:{device}")


def placed(target: Any) -> tuple[str, Any] | None:
    """The backend and device that `target` names; None if it is to be a dtype."""
    if isinstance(target, str):
        if target in NAMES:
            return target, None
        kind, _, number = target.partition(":")
        if kind == "cpu" and not number:
            return "numpy", None
        if kind == "cuda":
            load_backend("cupy")
            return "cupy", _cuda_device(number) if number else None
        return None
    root = type(target).__module__.partition(".")[0]
    if root == "cupy" and type(target).__name__ == "Device":
        return "cupy", target
    return None


def _cuda_device(number: str) -> Any:
    if not number.isdecimal():
        raise ValueError(f"to: 'cuda:{number}' names no device; 'cuda:0' is the first")
    xp = load_backend("cupy").xp
    return xp.cuda.Device(int(number))


def _transferred(x: Variable, name: str, device: Any) -> Variable:
    value = _moved(x.value, name, device)
    edges = edges_of((x,))
    if edges is None:
        return make_result(value)
    source = BACKENDS[type(x.value)]
    node = Transfer()
    node.edges = edges
    node.target = name, device
    node.backend = source.name
    node.device = None if source.name == "numpy" else source.device(x.value)
    return make_result(value, node)


def _moved(value: Array, name: str, device: Any) -> Array:
    """A copy of `value` on that backend and device, by way of the host between backends."""
    if isinstance(value, Batched):
        return batched(_moved(value.data, name, device))
    backend = backend_of(value)
    if backend.name == name and device is not None:
        return backend.to_device(value, device)
    return load_backend(name).from_host(backend_of(value).to_host(value), device)
