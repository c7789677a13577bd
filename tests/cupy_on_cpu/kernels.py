"""Every kernel that CuPy compiles is judged by NVRTC and made to run by g++, side by side."""

from __future__ import annotations

import ctypes
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import headers, memory, toolchain
from .cubin import function_names, variables
from .errors import NotEmulated

_IMAGE = b"kernel on the CPU: "
_BARRIER = re.compile(r"__sync|__shfl|__ballot|__any_sync|__all_sync")
_THREADS = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|__shared__|warpSize|_jit_|this_grid)"
)
_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\d+\)\s*)?([\w:<> ]+?)\s*(\w+)\s*\[\s*\]"
)
_KERNEL = re.compile(
    r"(template\s*<[^;{]*?>\s*)?(extern\s+\"C\"\s+)?__global__\s+(?:static\s+)?"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s*(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\("
)


@dataclass
class Function:
    """A kernel that can be launched."""

    name: str
    entry: Callable[..., int]
    argument_sizes: tuple[int, ...]
    max_shared: int = 48 * 1024


@dataclass
class Module:
    """A loaded module: its library, and the number of each kernel's entry point."""

    library: ctypes.CDLL
    entries: dict[str, int]
    names: dict[str, str]
    variables: dict[str, int]
    functions: dict[str, Function] = field(default_factory=dict)

    def function(self, symbol: str) -> Function | None:
        if symbol not in self.functions:
            number = self.entries.get(symbol)
            if number is None:
                return None
            entry = getattr(self.library, f"emu_entry_{number}")
            entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
            sizes_of = getattr(self.library, f"emu_sizes_{number}")
            sizes_of.restype = ctypes.POINTER(ctypes.c_uint)
            pointer = sizes_of()
            sizes: list[int] = []
            while pointer[len(sizes)]:
                sizes.append(pointer[len(sizes)])
            name = self.names.get(symbol, symbol)
            self.functions[symbol] = Function(name, entry, tuple(sizes))
        return self.functions[symbol]

    def variable(self, symbol: str) -> int | None:
        """The address of a global variable, which counts as device memory from now on."""
        size = self.variables.get(symbol)
        if size is None:
            return None
        address = ctypes.addressof(ctypes.c_char.in_dll(self.library, symbol))
        memory.symbols.add(address, size)
        return address


def load(image: bytes) -> Module | None:
    """The module of an image that `compile_kernel` returned; None for any other image."""
    if not image.startswith(_IMAGE):
        return None
    key = image.removeprefix(_IMAGE).decode()
    if key not in _modules:
        facts = json.loads(_facts(key).read_text())
        toolchain.launcher()
        library = ctypes.PyDLL(str(_library(key)))
        _modules[key] = Module(library, facts["entries"], facts["names"], facts["variables"])
    return _modules[key]


_modules: dict[str, Module] = {}


def nvrtc() -> Callable[..., Any]:
    """CuPy's own way to NVRTC; `start()` puts it here."""
    raise RuntimeError("the emulation has not been started")


def _library(key: str) -> Path:
    return toolchain.cache() / f"kernel-{key}.so"


def _facts(key: str) -> Path:
    return toolchain.cache() / f"kernel-{key}.json"


def compile_kernel(
    real: Callable[..., Any],
    version: str,
    source: str,
    options: tuple[str, ...],
    arch: str | None,
    filename: str,
    name_expressions: Iterable[str] | None,
    log_stream: Any,
    cache_in_memory: bool,
    jitify: bool | None,
    method: str | None,
) -> tuple[bytes, dict[str, str] | None]:
    """Stands for CuPy's `_compile_using_nvrtc_no_warning`, and calls it as `real`.

    The image that comes back only names the entry in the cache.
    """
    if jitify:
        raise NotEmulated("Jitify", "compile without jitify=True")
    if method is not None or any(o in _SEPARATE for o in options):
        raise NotEmulated("separate compilation", f"options {options}")
    expressions = tuple(name_expressions or ())
    key = toolchain.digest(toolchain.environment(), version, source, options, arch, expressions)
    if not (_facts(key).exists() and _library(key).exists()):
        text, candidates = _host_text(source, expressions)
        header = _header(source)
        folder = toolchain.precompiled(header, version)
        includes = (f"-I{folder}", *toolchain.include_flags(), *_host_options(options))
        flags = (*includes, *toolchain.KERNEL_FLAGS)
        building = toolchain.Compilation(text, _library(key), flags)
        log = io.StringIO()
        try:
            image, mapping = real(
                headers.gathered(source), (*options, *headers.precompiled()), arch, filename,
                name_expressions, log, cache_in_memory, None, None,
            )  # fmt: skip
        except BaseException:
            building.abandon()
            raise
        building.finish()
        # What NVRTC calls a kernel counts: `extern "C"` forgotten is an error here as well.
        compiled = function_names(image)
        mangled = mapping or {}
        symbols = [mangled.get(name, name) for name in candidates]
        facts = {
            "entries": {s: i for i, s in enumerate(symbols) if s in compiled},
            "names": {s: n for s, n in zip(symbols, candidates, strict=True) if s != n},
            "variables": variables(image),
            "mapping": mapping,
            "log": log.getvalue(),
        }
        toolchain.write(_facts(key), json.dumps(facts).encode())
    facts = json.loads(_facts(key).read_text())
    if log_stream is not None:
        log_stream.write(facts["log"])
    return _IMAGE + key.encode(), facts["mapping"]


_SEPARATE = ("--device-c", "-dc", "-rdc=true", "--relocatable-device-code=true", "-dlto")


def _header(source: str) -> str:
    return "cuda_cupy" if "<cupy/carray.cuh>" in source else "cuda"


def _host_options(options: tuple[str, ...]) -> list[str]:
    return [o for o in options if o.startswith(("-D", "-U", "-I"))]


_RETURN = re.compile(r"\b(return|no_thread_divergence)\b")


def _host_text(source: str, expressions: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The kernel's text for g++, with an entry point for each kernel, and the kernels' names."""
    names = (*_kernel_names(source), *expressions)
    barriers = _BARRIER.search(source) is not None
    # CuPy's elementwise kernels are grid-stride loops: any number of threads does the same, but
    # where one returns and counts on there being a thread for each element.
    loop = source.partition("CUPY_FOR(")[2]
    one_thread = loop and not (barriers or _THREADS.search(source) or _RETURN.search(loop))
    body = _SHARED.sub(r"\1* \2 = (\1*)emu_dynamic_shared", source)
    entries = [
        f"EMU_ENTRY({i}, {int(bool(one_thread))}, {int(barriers)}, {name})"
        for i, name in enumerate(names)
    ]
    # #line keeps the kernel's own line numbers in g++'s messages
    text = [f'#include "{_header(source)}.h"', '#line 1 "kernel.cu"', body, *entries]
    return "\n".join([*text, ""]), names


def _kernel_names(source: str) -> list[str]:
    """Kernels with C names: `extern "C"` stands before them, or a block of it begins above."""
    block = re.search(r"extern\s+\"C\"\s*\{", source)
    return [
        m[3]
        for m in _KERNEL.finditer(source)
        if not m[1] and (m[2] or (block and block.start() < m.start()))
    ]
