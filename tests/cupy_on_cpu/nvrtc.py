"""Compiles CUDA source with NVRTC for several architectures; neither device nor driver is needed.

The source of a kernel object is asked of the installed CuPy, so this works with and without the
emulation.  Each function returns a list of `Check`s, one for each architecture and case.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import headers
from .cubin import function_names

ARCHITECTURES = ("80", "90", "100")  # Ampere, Hopper, Blackwell
TYPES = ("f4", "f8", "f2")
Types = Mapping[str, Any]
# cupy/_core/_kernel.pxd, _reduction.pyx
_NDARRAY, _INDEXER, _SCALAR = 1, 2, 3
_BLOCK_SIZE = 512


@dataclass(frozen=True)
class Check:
    """What NVRTC said of one source for one architecture; `error` is None if it compiles."""

    what: str
    arch: str
    error: str | None
    source: str
    symbols: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.what} for sm_{self.arch}: {self.error or 'compiles'}"


def assert_compiles(checks: Iterable[Check]) -> int:
    """Raise AssertionError with every message of NVRTC's; the number of checks if there is none."""
    checks = list(checks)
    # a message is often the same for every case and architecture
    failed = {c.error: c for c in reversed(checks) if c.error}
    assert not failed, "\n".join(map(str, reversed(failed.values())))
    assert checks, "nothing was checked"
    return len(checks)


def check_source(
    source: str,
    kernels: Sequence[str] = (),
    *,
    what: str = "source",
    options: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    architectures: Sequence[str] = ARCHITECTURES,
    cupy_headers: bool = False,
) -> list[Check]:
    """Compile CUDA source; each name in `kernels` has to be a kernel with a C name in it."""
    return [
        _compile(what, arch, source, tuple(options), tuple(name_expressions), kernels, cupy_headers)
        for arch in architectures
    ]


def check_raw(kernel: Any, architectures: Sequence[str] = ARCHITECTURES) -> list[Check]:
    """Compile a RawKernel as CuPy would, without loading it."""
    template = "<" in kernel.name
    return check_source(
        kernel.code,
        () if template else (kernel.name,),
        what=kernel.name,
        options=kernel.options,
        name_expressions=(kernel.name,) if template else (),
        architectures=architectures,
    )


def check_elementwise(
    kernel: Any,
    types: Sequence[Types] | None = None,
    *,
    scalars: Sequence[str] = (),
    ndims: Sequence[int] = (1, 3),
    contiguous: Sequence[bool] = (True, False),
    architectures: Sequence[str] = ARCHITECTURES,
) -> list[Check]:
    """Compile an ElementwiseKernel for dtypes, numbers of axes and layouts.

    `types` gives dtypes for the type parameters, e.g. [{"T": "f4"}]; by default each of TYPES for
    all of them.  `scalars` are the inputs that will be numbers and not arrays.
    """
    checks = []
    for t, ndim, c in itertools.product(_cases(kernel, types), ndims, contiguous):
        source = elementwise_source(kernel, t, ndim, c, scalars)
        what = f"{kernel.name} {_show(t)} ndim={ndim} contiguous={c}"
        options = tuple(kernel.kwargs.get("options", ()))
        checks += check_source(
            source, what=what, options=options, architectures=architectures, cupy_headers=True
        )
    return checks


def check_reduction(
    kernel: Any,
    types: Sequence[Types] | None = None,
    *,
    scalars: Sequence[str] = (),
    in_ndim: int = 2,
    out_ndim: int = 1,
    architectures: Sequence[str] = ARCHITECTURES,
) -> list[Check]:
    """Compile a ReductionKernel for dtypes; the variant without CUB."""
    checks = []
    for t in _cases(kernel, types):
        source = reduction_source(kernel, t, in_ndim, out_ndim, scalars)
        checks += check_source(
            source,
            what=f"{kernel.name} {_show(t)}",
            options=tuple(kernel.options),
            architectures=architectures,
            cupy_headers=True,
        )
    return checks


def check_together(
    sources: Mapping[str, str], *, architectures: Sequence[str] = ARCHITECTURES
) -> list[Check]:
    """Compile many sources, by names of any kind, in a quarter of the time that they take alone.

    They become one source, with a namespace for each of them; where that does not compile, each is
    compiled alone to see which is at fault.
    """
    # with C names they would be the same function if they had the same name
    parts = [_INCLUDE.sub("", text).replace('extern "C"', "") for text in sources.values()]
    lines = [line for text in sources.values() for line in _INCLUDE.findall(text)]
    together = "\n".join(dict.fromkeys(lines)) + "".join(
        f"\nnamespace part_{i} {{\n{part}\n}}" for i, part in enumerate(parts)
    )
    checks = []
    for arch in architectures:
        (check,) = check_source(together, architectures=[arch], cupy_headers=True)
        if check.error is None:
            checks += [Check(what, arch, None, text) for what, text in sources.items()]
            continue
        alone = [
            check
            for what, text in sources.items()
            for check in check_source(text, what=what, architectures=[arch], cupy_headers=True)
        ]
        checks += alone if any(c.error for c in alone) else [check]
    return checks


_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)


def _compile(
    what: str,
    arch: str,
    source: str,
    options: tuple[str, ...],
    name_expressions: tuple[str, ...],
    kernels: Sequence[str],
    cupy_headers: bool,
) -> Check:
    from cupy._core import core
    from cupy.cuda import compiler

    if cupy_headers:
        source = "".join(f"#include <{h}>\n" for h in core._cupy_header_list) + source
    # the options that CuPy adds in its compiler.py
    flags = core.assemble_cupy_compiler_options(options)
    flags += ("-ftz=true", f"-arch=sm_{arch}", "--device-as-default-execution-space")
    flags += headers.precompiled()
    program = compiler._NVRTCProgram(
        source, "kernel.cu", name_expressions=name_expressions or None, method="cubin"
    )
    try:
        image, _ = program.compile(flags, io.StringIO())
    except compiler.CompileException as refusal:
        return Check(what, arch, str(refusal).strip(), source)
    symbols = frozenset(function_names(image))
    missing = sorted(set(kernels) - symbols)
    error = f"no kernel called {missing} in the module; it has {sorted(symbols)}"
    return Check(what, arch, error if missing else None, source, symbols)


def _cases(kernel: Any, types: Sequence[Types] | None) -> Sequence[Types]:
    if types is not None:
        return types
    free = sorted({p.ctype for p in kernel.in_params + kernel.out_params if p.dtype is None})
    return [dict.fromkeys(free, t) for t in TYPES] if free else [{}]


def _show(types: Types) -> str:
    return ", ".join(f"{k}={np.dtype(v).name}" for k, v in types.items())


def _decide(kernel: Any, types: Types) -> Any:
    from cupy._core import _kernel

    def given(parameters: Any) -> tuple[Any, ...]:
        return tuple(np.dtype(types[p.ctype]) if p.dtype is None else p.dtype for p in parameters)

    ins, outs = given(kernel.in_params), given(kernel.out_params)
    return _kernel._decide_params_type(kernel.in_params, kernel.out_params, ins, outs)


def _argument(parameter: Any, dtype: Any, ndim: int, contiguous: bool, scalar: bool) -> Any:
    import cupy
    from cupy._core import _kernel, _scalar

    if scalar:
        return _kernel._ArgInfo(_SCALAR, _scalar.CScalar, np.dtype(dtype), 0, True, True)
    if parameter.raw:
        ndim = max(ndim, 1)
    return _kernel._ArgInfo(_NDARRAY, cupy.ndarray, np.dtype(dtype), ndim, contiguous, True)


def _indexer(ndim: int) -> Any:
    from cupy._core import _carray, _kernel

    return _kernel._ArgInfo(_INDEXER, _carray.Indexer, None, ndim, True, True)


def elementwise_source(
    kernel: Any, types: Types, ndim: int, contiguous: bool, scalars: Sequence[str]
) -> str:
    """What CuPy gives NVRTC for an ElementwiseKernel, without its own headers."""
    from cupy._core import _kernel

    ins, outs, type_map = _decide(kernel, types)
    arguments = [
        _argument(p, t, ndim, contiguous, p.name in scalars)
        for p, t in zip(kernel.in_params + kernel.out_params, ins + outs, strict=True)
    ]
    kwargs = {k: v for k, v in kernel.kwargs.items() if k != "options"}
    source: str = _kernel._get_elementwise_kernel_code(
        (*arguments, _indexer(ndim)),
        type_map,
        kernel.params,
        kernel.operation,
        kernel.name,
        kernel.preamble,
        **kwargs,
    )
    return source


def reduction_source(
    kernel: Any, types: Types, in_ndim: int, out_ndim: int, scalars: Sequence[str] = ()
) -> str:
    """What CuPy gives NVRTC for a ReductionKernel without CUB, without its own headers."""
    from cupy._core import _kernel, _reduction, _scalar

    ins, outs, _ = _decide(kernel, types)
    parameters = kernel.in_params + kernel.out_params
    named = {
        p.ctype: np.dtype(t).type
        for p, t in zip(parameters, ins + outs, strict=True)
        if p.dtype is None
    }
    type_map = _kernel._TypeMap((*sorted(named.items()), ("IndexT", "int32")))
    arguments = [
        _argument(p, t, in_ndim, True, p.name in scalars)
        for p, t in zip(kernel.in_params, ins, strict=True)
    ]
    arguments += [
        _argument(p, t, out_ndim, True, False) for p, t in zip(kernel.out_params, outs, strict=True)
    ]
    stride = _kernel._ArgInfo(_SCALAR, _scalar.CScalar, np.dtype("int32"), 0, True, True)
    source: str = _reduction._ReductionKernel_get_cached_function_code(
        len(kernel.in_params),
        len(kernel.out_params),
        parameters
        + _kernel._get_param_info("CIndexer _in_ind, CIndexer _out_ind", False)
        + _kernel._get_param_info("int32 _block_stride", True),
        (*arguments, _indexer(in_ndim), _indexer(out_ndim), stride),
        type_map,
        kernel.name,
        _BLOCK_SIZE,
        kernel.reduce_type or kernel.out_params[0].ctype,
        kernel.identity,
        kernel.map_expr,
        kernel.reduce_expr,
        kernel.post_map_expr,
        kernel.preamble,
        tuple(kernel.options),
    )
    return source
