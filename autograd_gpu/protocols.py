"""NumPy's and the array API's protocols: `np.exp(v)`, `np.sum(v)` and `array * v` run our ops.

NumPy hands over its own function object; what it is here follows from its name, so that NumPy need
not be imported.  `autograd_gpu.numpy_names` has what differs in more than the name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu import numpy_names, ops, special
from autograd_gpu.backend import BACKENDS
from autograd_gpu.operands import ForeignOperand
from autograd_gpu.placement import copied
from autograd_gpu.variable import Variable

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

_ufuncs: dict[Any, Callable[..., Any]] = {}
_functions: dict[Any, Callable[..., Any]] = {}


def array_namespace(self: Variable, *, api_version: str | None = None) -> Any:
    """The array API's namespace of Variables: `autograd_gpu`."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(f"api_version {api_version!r} is not one of {API_VERSIONS}")
    return sys.modules[__package__]


def array(self: Variable, dtype: Any = None, copy: bool | None = None) -> Any:
    """The value as a NumPy array, for `np.asarray(v)`.

    Raises TypeError where that would lose a gradient or wait for the device.
    """
    if self.requires_grad:
        raise TypeError(
            "a Variable that requires a gradient is not turned into a NumPy array, which would "
            "lose it; use .detach().numpy()"
        )
    backend = BACKENDS[type(self.value)]
    if backend.name != "numpy":
        raise TypeError(
            f"a Variable on {backend.name} is not turned into a NumPy array silently; use .numpy()"
        )
    if copy is False and dtype is not None and self.dtype != dtype:
        raise ValueError(f"a copy is needed to get {dtype} from {self.dtype}")
    value = backend.asarray(self.value, dtype)
    return copied(value) if copy and value is self.value else value


# Ufuncs ----------------------------------------------------------------------------------------


def array_ufunc(self: Variable, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy ufunc, or one of its methods, on Variables."""
    if kwargs:
        flat = kwargs.get("axis", 0) is None
        kwargs = _supported(f"np.{ufunc.__name__}", kwargs)
        if flat:
            kwargs["axis"] = None
    if method != "__call__":
        return _ufunc_method(ufunc, method, inputs, kwargs)
    op = _ufuncs.get(ufunc)
    if op is None:
        op = _ufuncs[ufunc] = _ufunc(ufunc.__name__)
    try:
        return _called(op, f"np.{ufunc.__name__}", inputs, kwargs)
    except ForeignOperand:
        return NotImplemented


def override_elementwise_kernel(self: Variable, kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """A CuPy ufunc on Variables, as `array_ufunc`."""
    op = _ufuncs.get(kernel)
    if op is None:
        op = _ufuncs[kernel] = _ufunc(kernel.name.removeprefix("cupy_"))
    if len(args) > kernel.nin:
        raise TypeError(_NO_OUT.format(name=kernel.name))
    kwargs = _supported(kernel.name, kwargs)
    return _called(op, kernel.name, args, kwargs)


def _called(op: Callable[..., Any], name: str, inputs: Sequence[Any], kwargs: Any) -> Any:
    if not kwargs:
        return op(*inputs)
    unknown = set(kwargs) - {"dtype"}
    if unknown:
        raise TypeError(f"{name}: {', '.join(unknown)} is not supported for Variables")
    return ops.astype(op(*inputs), kwargs["dtype"])


_NO_OUT = (
    "{name}: out= is not supported, since an array can't hold a Variable's gradient; "
    "use the result, or v.detach().numpy()"
)


def _supported(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments without those that ask for what happens anyway."""
    kept = {}
    for key, value in kwargs.items():
        if key == "out" and any(x is not None for x in _tuple(value)):
            raise TypeError(_NO_OUT.format(name=name))
        if key == "where" and value is not True and not _is_no_value(value):
            raise TypeError(f"{name}: where= is not supported for Variables; use ag.where")
        if key == "order" and value not in ("C", "K", "A", None):
            raise TypeError(f"{name}: order={value!r} is not supported for Variables")
        if key in numpy_names.INDIFFERENT or value is None or _is_no_value(value):
            continue
        kept[key] = value
    return kept


def _ufunc(name: str) -> Callable[..., Any]:
    adapter = numpy_names.UFUNC_ADAPTERS.get(name)
    if adapter is not None:
        return adapter
    name = numpy_names.UFUNCS.get(name, name)
    return _op(ops if hasattr(ops, name) else special, name, f"np.{name}")


def _ufunc_method(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    name = f"np.{ufunc.__name__}.{method}"
    if method == "outer":
        a, b = inputs
        shape = getattr(a, "shape", ())
        if kwargs:
            raise TypeError(f"{name}: {', '.join(kwargs)} is not supported for Variables")
        return _ufunc(ufunc.__name__)(ops.reshape(a, shape + (1,) * getattr(b, "ndim", 0)), b)
    table = {"reduce": numpy_names.REDUCE, "accumulate": numpy_names.ACCUMULATE}.get(method, {})
    if ufunc.__name__ not in table:
        raise _no_derivative(name)
    op = _op(ops, table[ufunc.__name__], name)
    unknown = set(kwargs) - {"axis", "dtype", "keepdims"}
    if unknown:
        raise TypeError(f"{name}: {', '.join(unknown)} is not supported for Variables")
    x, *rest = inputs
    kwargs.update(zip(("axis", "dtype"), rest, strict=False))
    return op(x, **{"axis": 0, **kwargs})


# Functions -------------------------------------------------------------------------------------


def array_function(
    self: Variable, func: Any, types: Sequence[type], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A NumPy function on Variables."""
    call = _functions.get(func)
    if call is None:
        call = _functions[func] = _function(func)
    try:
        return call(*args, **kwargs)
    except ForeignOperand:
        return NotImplemented


def _function(func: Any) -> Callable[..., Any]:
    """What computes `func` for Variables."""
    name = func.__name__
    module = func.__module__.partition(".")[2]
    label = f"np.{module}.{name}" if module else f"np.{name}"
    if name in numpy_names.CREATION:
        raise _no_derivative(label)
    if name in numpy_names.INSPECTORS:
        return _on_values(func)
    adapter = numpy_names.ADAPTERS.get(f"{module}.{name}" if module else name)
    if adapter is not None:
        return _without_out(label, adapter)
    space = getattr(ops, module, None) if module else ops
    op = _op(space, numpy_names.FUNCTIONS.get(name, name), label)
    try:
        theirs = list(inspect.signature(func).parameters.values())
    except ValueError:  # some functions in C
        names = numpy_names.SIGNATURES.get(name)
        if names is None:
            raise _no_derivative(label) from None
        theirs = [
            inspect.Parameter(x.rstrip("="), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
            for x in names
        ]
    return _renamed(label, op, theirs)


def _renamed(
    label: str, op: Callable[..., Any], theirs: Sequence[inspect.Parameter]
) -> Callable[..., Any]:
    """`op`, called with NumPy's parameters."""
    ours = list(inspect.signature(op).parameters.values())
    keywords = {p.name for p in ours if p.kind is not p.POSITIONAL_ONLY}
    targets: list[str | None] = []  # the name of ours, None for what is not supported
    leading = 0  # how many go by position
    for i, p in enumerate(theirs):
        name = p.name if p.name in keywords else numpy_names.KEYWORDS.get(p.name, p.name)
        mine = ours[i] if i < len(ours) and ours[i].kind is not ours[i].KEYWORD_ONLY else None
        if (
            leading == i
            and mine is not None
            and (
                name == mine.name
                or mine.kind is mine.POSITIONAL_ONLY
                or (name not in keywords and mine.default is mine.empty)
            )
        ):
            leading += 1
            targets.append(mine.name)
        else:
            targets.append(name if name in keywords else None)
    index = {p.name: i for i, p in enumerate(theirs)}
    defaults = [p.default for p in theirs]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= leading:
            return op(*args)
        given: dict[int, Any] = dict(enumerate(args))
        for key, value in kwargs.items():
            if key not in index:
                raise TypeError(f"{label}: {key}= is not supported for Variables")
            given[index[key]] = value
        operands: list[Any] = []
        while len(operands) < leading and len(operands) in given:
            operands.append(given.pop(len(operands)))
        named = {}
        for i, value in given.items():
            if i >= len(targets):
                raise TypeError(f"{label}: {len(args)} arguments are too many for Variables")
            name = targets[i]
            if _is_no_value(value):
                continue
            if name is not None:
                named[name] = value
            elif value is not defaults[i] and _supported(label, {theirs[i].name: value}):
                raise TypeError(f"{label}: {theirs[i].name}= is not supported for Variables")
        return op(*operands, **named)

    return call


def _on_values(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, which needs no derivative, on the arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*map(_values, args), **{key: _values(x) for key, x in kwargs.items()})

    return call


def _without_out(label: str, adapter: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return adapter(*args, **_supported(label, kwargs)) if kwargs else adapter(*args)

    return call


def _op(space: Any, name: str, label: str) -> Callable[..., Any]:
    op = getattr(space, name, None)
    if not callable(op):
        raise _no_derivative(label)
    return op  # type: ignore[no-any-return]


def _no_derivative(label: str) -> TypeError:
    return TypeError(
        f"{label} has no derivative here; to compute with NumPy alone, use v.detach().numpy()"
    )


def _values(x: Any) -> Any:
    if isinstance(x, Variable):
        return x.value
    if isinstance(x, (list, tuple)):
        return type(x)(map(_values, x))
    return x


def _is_no_value(x: Any) -> bool:
    return type(x).__name__ == "_NoValueType"


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _bind() -> None:
    methods: dict[str, Any] = {
        "__array__": array,
        "__array_function__": array_function,
        "__array_namespace__": array_namespace,
        "__array_ufunc__": array_ufunc,
        "__cupy_override_elementwise_kernel__": override_elementwise_kernel,
    }
    for name, method in methods.items():
        setattr(Variable, name, method)


_bind()
