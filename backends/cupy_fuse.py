"""Fused programs for CuPy: one ElementwiseKernel each, or a ReductionKernel for each sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp
import numpy as np

from autograd_gpu.program import NotFusable, Program, Ref, Step
from autograd_gpu.summing import Sums

Array = Any

_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}

# What a step computes, from operands {0}, {1}, ... of the type {T} that they are converted to.
_ANY = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "negative": "-{0}",
    "positive": "{0}",
    "conj": "{0}",
    "real": "{0}",
    "square": "{0} * {0}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "logical_and": "{0} && {1}",
    "logical_or": "{0} || {1}",
    "logical_not": "!{0}",
    "maximum": "{0} != {0} || {0} > {1} ? {0} : {1}",
    "minimum": "{0} != {0} || {0} < {1} ? {0} : {1}",
    "isnan": "{0} != {0}",
    "astype": "{0}",
    "zeros_like": "0",
    "ones_like": "1",
    "full_like": "{1}",
}
_FLOAT = {
    "divide": "{0} / {1}",
    "reciprocal": "{T}(1) / {0}",
    "abs": "fabs({0})",
    "sign": "{0} != {0} ? {0} : {T}(({0} > 0) - ({0} < 0))",
    "isfinite": "isfinite({0})",
    "isinf": "isinf({0})",
    "signbit": "signbit({0})",
    "power": "pow({0}, {1})",
    "atan2": "atan2({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})",
    "round": "rint({0})",
    "logaddexp": ("{0} == {1} ? {0} + log({T}(2)) : fmax({0}, {1}) + log1p(exp(-fabs({0} - {1})))"),
}
_FLOAT |= {
    name: f"{name}({{0}})"
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf",
        "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt",
        "tan", "tanh", "trunc",
    )
}  # fmt: skip
_LOGICAL = {
    "bitwise_and": "{0} && {1}",
    "bitwise_or": "{0} || {1}",
    "bitwise_xor": "{0} != {1}",
    "bitwise_invert": "!{0}",
}


def fused_kernel(
    program: Program, sums: Sums | None, targets: Sequence[Any]
) -> Callable[..., tuple[Array, ...]]:
    """The function `kernel(arrays, shape)` that runs a program on arrays of its inputs' dtypes that
    broadcast to `shape`; it returns new arrays, of that shape or what `sums` makes of them.  That
    its results are to be summed to `targets` is of no use to it."""
    if sums is None:
        return _elementwise(program)
    of, end = sums.of, sums.after
    axis = None if of.axes == tuple(range(len(of.shape))) else of.axes
    # what is made of one sum is the end of its kernel
    is_one = len(sums.totals) == len(end.outputs) == 1
    kernels = [
        _summing(program, y, dtype, end if is_one else Program((dtype,), (), (Ref(0),)))
        for y, dtype in zip(program.outputs, sums.totals, strict=True)
    ]
    finish = None if is_one else _elementwise(end)

    def kernel(arrays: Sequence[Array], shape: tuple[int, ...]) -> tuple[Array, ...]:
        found = tuple([sum(*arrays, axis=axis, keepdims=of.keepdims) for sum in kernels])
        return found if finish is None else finish(found, of.result)

    return kernel


def _elementwise(program: Program) -> Callable[..., tuple[Array, ...]]:
    dtypes = [program.dtypes[y.index] for y in program.outputs]
    lines = [f"o{k} = v{y.index};" for k, y in enumerate(program.outputs)]
    function = cp.ElementwiseKernel(
        _parameters(program.inputs),
        ", ".join(f"{dtype.name} o{k}" for k, dtype in enumerate(dtypes)),
        "\n".join([*_body(program), *lines]),
        "autograd_gpu_fused",
    )

    def kernel(arrays: Sequence[Array], shape: tuple[int, ...]) -> tuple[Array, ...]:
        outputs = tuple([cp.empty(shape, dtype) for dtype in dtypes])
        if outputs[0].size:
            function(*arrays, *outputs)
        return outputs

    return kernel


def _summing(program: Program, y: Ref, total: Any, after: Program) -> Any:
    """The kernel that sums the value `y` of a program, and what comes after that."""
    (end,) = after.outputs
    names = ", ".join(f"i{i}" for i in range(len(program.inputs)))
    return cp.ReductionKernel(
        _parameters(program.inputs),
        f"{after.dtypes[end.index].name} o0",
        f"autograd_gpu_element({names})",
        "a + b",
        "o0 = autograd_gpu_end(a)",
        "0",
        "autograd_gpu_fused_sum",
        reduce_type=_compute(total),
        preamble=_function("autograd_gpu_element", program, y, _compute(total))
        + _function("autograd_gpu_end", after, end, _compute(after.dtypes[end.index])),
    )


def _function(name: str, program: Program, y: Ref, kind: str) -> str:
    """A function of the inputs of a program that returns its value `y`."""
    given = ", ".join(f"{_compute(dtype)} i{i}" for i, dtype in enumerate(program.inputs))
    lines = [*_body(program), f"return ({kind})(v{y.index});"]
    return f"__device__ {kind} {name}({given}) {{\n{chr(10).join(lines)}\n}}\n"


def _parameters(dtypes: Sequence[Any]) -> str:
    return ", ".join(f"{dtype.name} i{i}" for i, dtype in enumerate(dtypes))


def _body(program: Program) -> list[str]:
    """The statements that compute `v0`, `v1`, ... from `i0`, `i1`, ..."""
    for dtype in program.dtypes:
        if dtype.name not in _TYPES and dtype.name != "float16":
            raise NotFusable(f"no fused kernels of {dtype.name} on a GPU")
    n = len(program.inputs)
    lines = [_declared(f"v{i}", dtype, f"i{i}") for i, dtype in enumerate(program.inputs)]
    for i, step in enumerate(program.steps):
        lines.append(_declared(f"v{n + i}", step.dtype, _expression(step, program)))
    return lines


def _compute(dtype: Any) -> str:
    """The C type that values of `dtype` are kept in; half ones are rounded at every step."""
    return "float" if dtype.name == "float16" else _TYPES[dtype.name]


def _declared(name: str, dtype: Any, value: str) -> str:
    kind = _compute(dtype)
    if dtype.name == "float16":
        value = f"float(float16(({kind})({value})))"
    return f"const {kind} {name} = ({kind})({value});"


def _expression(step: Step, program: Program) -> str:
    name, args = step.name, step.args
    given = [program.dtypes[x.index] if isinstance(x, Ref) else x for x in args]
    if name == "round" and ((len(args) > 1 and args[1]) or step.kwargs.get("decimals")):
        raise NotFusable("no fused rounding to decimals on a GPU")
    if name == "astype":
        return f"v{args[0].index}"
    if name in ("where", "masked", "clip"):
        return _chosen(name, args, step.dtype, program)
    common = np.result_type(*given)
    form = _ANY.get(name) or (_FLOAT.get(name) if common.kind == "f" else None)
    if form is None and name == "divide":  # of integers
        form, common = _FLOAT[name], step.dtype
    if form is None and common.kind == "b":
        form = _LOGICAL.get(name)
    if form is None or common.kind not in "biuf":
        raise NotFusable(f"no fused {name} of {common.name} on a GPU")
    kind = _compute(common)
    return form.format(*[_operand(x, kind) for x in args], T=kind)


def _chosen(name: str, args: tuple[Any, ...], dtype: Any, program: Program) -> str:
    kind = _compute(dtype)
    if name == "where":
        condition, a, b = _operand(args[0], "bool"), args[1], args[2]
        return f"{condition} ? {_operand(a, kind)} : {_operand(b, kind)}"
    x = _operand(args[0], kind)
    if name == "masked":
        return f"{_operand(args[1], 'bool')} ? {x} : ({kind})(0)"
    low, high = [None if v is None else _operand(v, kind) for v in (*args[1:], None, None)[:2]]
    if low is not None:
        x = f"({x} < {low} ? {low} : {x})"
    return x if high is None else f"({x} > {high} ? {high} : {x})"


def _operand(x: Any, kind: str) -> str:
    if isinstance(x, Ref):
        return f"({kind})(v{x.index})"
    number = x.item() if hasattr(x, "item") else x
    if isinstance(number, complex):
        raise NotFusable("no fused kernels of complex numbers on a GPU")
    if number != number:
        return f"({kind})(__longlong_as_double(0x7ff8000000000000ll))"
    if number in (float("inf"), -float("inf")):
        return f"({kind})({'-' * (number < 0)}__longlong_as_double(0x7ff0000000000000ll))"
    if isinstance(number, float):
        return f"({kind})({number!r})"
    return f"({kind})({int(number)}ll)"
