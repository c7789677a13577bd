"""State of Modules: their arrays by path, put back with checks, and moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from autograd_gpu import ops
from autograd_gpu.backend import backend_of, find_backend
from autograd_gpu.values import as_value
from autograd_gpu.variable import Variable

if TYPE_CHECKING:
    from autograd_gpu.nn.module import Module


def join(path: str, name: str) -> str:
    """The path of what is called `name` at `path`."""
    return f"{path}.{name}" if path else name


def check_name(name: str) -> None:
    """ValueError for a name that would make paths ambiguous."""
    if not name or "." in name:
        raise ValueError(f"a name is not empty and has no dot, unlike {name!r}")


def array_of(x: Any) -> Any:
    """The array of a parameter or buffer."""
    return x.value if isinstance(x, Variable) else x


def named_state(module: Module) -> Iterator[tuple[str, Any]]:
    """All parameters and persistent buffers with their paths."""
    for path, m in module.named_modules():
        for name, parameter in m._parameters.items():
            if parameter is not None:
                yield join(path, name), parameter
        for name, buffer in m._buffers.items():
            if buffer is not None and name not in m._temporary:
                yield join(path, name), buffer


def load_state(
    module: Module, state: Mapping[str, Any], strict: bool
) -> tuple[list[str], list[str]]:
    """`Module.load_state_dict`."""
    own = dict(named_state(module))
    missing = [name for name in own if name not in state]
    ignored = {join(path, x) for path, m in module.named_modules() for x in m.ignored_state}
    unexpected = [name for name in state if name not in own and name not in ignored]
    problems = []
    if strict and missing:
        problems.append(f"missing: {', '.join(missing)}")
    if strict and unexpected:
        problems.append(f"unexpected: {', '.join(unexpected)}")
    new = {name: as_value(array_of(state[name])) for name in own if name in state}
    for name, value in new.items():
        old = array_of(own[name])
        if tuple(value.shape) != tuple(old.shape):
            problems.append(f"{name} has shape {list(value.shape)}, here it is {list(old.shape)}")
        elif value.dtype.kind == "c" and old.dtype.kind != "c":
            problems.append(
                f"{name} is {value.dtype}, here it is {old.dtype}, which would lose the imaginary "
                f"parts"
            )
    if problems:
        raise ValueError(f"load_state_dict into {type(module).__name__}: {'; '.join(problems)}")
    for path, m in module.named_modules():
        for table in (m._parameters, m._buffers):
            for name, x in table.items():
                if (value := new.get(join(path, name))) is not None and x is not None:
                    value = like(value, array_of(x))
                    if isinstance(x, Variable):
                        x.value = value
                    else:
                        table[name] = value
    return missing, unexpected


def move_state(module: Module, target: Any) -> None:
    """Move all parameters, gradients and buffers to a backend, a device or a dtype, in place."""
    for m in module.modules():
        for parameter in m._parameters.values():
            if parameter is not None:
                parameter.value = _moved(parameter.value, target)
                parameter._accumulator = None
                if parameter.grad is not None:
                    parameter.grad = _moved(parameter.grad, target)
        for name, buffer in m._buffers.items():
            if isinstance(buffer, Variable):
                buffer.value = _moved(buffer.value, target)
            elif buffer is not None:
                m._buffers[name] = _moved(buffer, target)


def _moved(value: Any, target: Any) -> Any:
    result = ops.to(Variable(value), target).value
    # a dtype is for floating point: labels and counters keep theirs
    return value if value.dtype.kind in "biu" and result.dtype != value.dtype else result


def like(value: Any, old: Any) -> Any:
    """A copy of `value` on the backend, the device and in the dtype of `old`."""
    source, target = find_backend(value) or backend_of(old), backend_of(old)
    if source is target:
        return value.astype(old.dtype)  # astype copies
    device = None if target.name == "numpy" else target.device(old)
    return target.from_host(source.to_host(value).astype(old.dtype), device)
