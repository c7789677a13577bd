"""g++, its flags, its precompiled headers, and the folder where everything built is kept.

Every file in the cache is named by a hash of all that it depends on and is put there by one rename,
so processes may share the folder, and nothing in it ever has to be thrown away for being old.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import CannotStart, HostCompileError

SHIM = Path(__file__).parent / "shim"
# -w: warnings about generated text help nobody.  -O1: most of a kernel's time here is compilation.
_FLAGS = ("-std=c++17", "-O1", "-w", "-fPIC", "-fno-strict-aliasing", "-fno-exceptions")


@functools.cache
def cache() -> Path:
    """The folder of compiled kernels; AUTOGRAD_GPU_CUPY_ON_CPU_CACHE chooses another one."""
    chosen = os.environ.get("AUTOGRAD_GPU_CUPY_ON_CPU_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(chosen) if chosen else Path(base) / "autograd_gpu" / "cupy_on_cpu"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:40]


def write(path: Path, data: bytes) -> None:
    """Put a file into the cache, whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as f:
        f.write(data)
    os.replace(temporary, path)


@functools.cache
def compiler() -> str:
    """The path of g++, with a clear error where there is none."""
    found = shutil.which("g++")
    if found is None:
        raise CannotStart(
            "CuPy on the CPU needs g++ to run kernels; install it, e.g. `apt install g++`"
        )
    return found


@functools.cache
def compiler_version() -> str:
    text = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True)
    return text.stdout.splitlines()[0]


@functools.cache
def _linker_flags() -> tuple[str, ...]:
    # gold links a kernel in half the time that bfd takes
    return ("-fuse-ld=gold",) if shutil.which("ld.gold") else ()


# What kernels call is in the launcher's libraries, which are loaded before: the linker, which would
# take a fifth of g++'s time to look for it, leaves it open.
KERNEL_FLAGS = ("-nostdlib", "-lgcc")
_LIBRARY_FLAGS = ("-Wl,--no-as-needed",)


@functools.cache
def include_flags() -> tuple[str, ...]:
    """Folders of CuPy's own headers and of the CUDA headers that CuPy would find."""
    from cupy._core import core

    listed = [o for o in core.assemble_cupy_compiler_options(()) if o.startswith("-I")]
    plain = [o for o in listed if "cccl" not in o]
    # Of CCCL only <nv/target> is wanted; the rest of it does not compile outside of nvcc.
    cccl = [o for o in listed if o.endswith("libcudacxx")]
    return (f"-I{_prefix_folder()}", *plain, *cccl)


def _prefix_folder() -> Path:
    """A folder with stand-ins for headers, which are found before CuPy's and CUDA's."""
    folder = cache() / f"include-{digest(*_STAND_INS.items())[:12]}"
    for name, text in _STAND_INS.items():
        header = folder / name
        if not header.exists():
            header.parent.mkdir(parents=True, exist_ok=True)
            write(header, text.encode())
    return folder


# On a device these headers take std::complex for Thrust's, which CuPy's arrays hold.
_STAND_INS = {
    "cupy/xsf/digamma.h": """#pragma once
#include_next <cupy/xsf/digamma.h>
namespace xsf {
template <typename T> thrust::complex<T> digamma(thrust::complex<T> z) {
    const std::complex<T> y = digamma(std::complex<T>(z.real(), z.imag()));
    return thrust::complex<T>(y.real(), y.imag());
}
}
""",
    "cupy/xsf/sici.h": """#pragma once
#include_next <cupy/xsf/sici.h>
namespace xsf {
template <typename T>
int sici(thrust::complex<T> z, thrust::complex<T>& si, thrust::complex<T>& ci) {
    std::complex<T> s, c;
    const int status = sici(std::complex<T>(z.real(), z.imag()), s, c);
    si = thrust::complex<T>(s.real(), s.imag());
    ci = thrust::complex<T>(c.real(), c.imag());
    return status;
}
}
""",
    # which CuPy's complex.cuh includes from Thrust
    "thrust/detail/config/namespace.h": """#pragma once
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
""",
}


@functools.cache
def environment() -> str:
    """What every compiled kernel depends on besides its text."""
    sources = [*sorted(SHIM.iterdir()), *(SHIM.parent / name for name in _WRITERS)]
    texts = (path.read_text() for path in sources)
    return digest(compiler_version(), _FLAGS, _linker_flags(), *texts)


# The modules that decide what is in an entry of the cache.
_WRITERS = ("toolchain.py", "kernels.py", "headers.py", "cubin.py")


@functools.cache
def precompiled(header: str, version: str) -> Path:
    """A folder with a shim header and its precompiled form, made on first use.

    `version` is that of the headers it includes: CuPy's and CUDA's.
    """
    folder = cache() / f"{header}-{digest(environment(), version, include_flags())}"
    if not folder.exists():
        temporary = Path(tempfile.mkdtemp(dir=cache()))
        for source in SHIM.glob("*.h"):
            shutil.copy(source, temporary)
        path = temporary / f"{header}.h"
        arguments = [*_FLAGS, *include_flags(), "-x", "c++-header", str(path)]
        _run([*arguments, "-o", f"{path}.gch"], f"the shim {header}.h")
        try:
            temporary.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(temporary)
    return folder


class Compilation:
    """g++ at work in the background on a shared library."""

    def __init__(self, text: str, path: Path, flags: tuple[str, ...]) -> None:
        self.path = path
        self._folder = tempfile.TemporaryDirectory(dir=path.parent)
        self._source = Path(self._folder.name) / "kernel.cpp"
        self._source.write_text(text)
        self._built = Path(self._folder.name) / "kernel.so"
        command = [compiler(), *_FLAGS, *_linker_flags(), "-shared", str(self._source), *flags]
        self._process = subprocess.Popen(
            [*command, "-o", str(self._built)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self) -> Path:
        _, messages = self._process.communicate()
        try:
            if self._process.returncode:
                raise HostCompileError(f"g++ does not compile this kernel:\n{messages[:4000]}")
            os.replace(self._built, self.path)
        finally:
            self._folder.cleanup()
        return self.path

    def abandon(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def build_library(text: str, name: str = "library") -> Path:
    """A shared library of plain C++, from the cache if it was built before."""
    path = cache() / f"{name}-{digest(environment(), text)}.so"
    if not path.exists():
        Compilation(text, path, _LIBRARY_FLAGS).finish()
    return path


@functools.cache
def launcher() -> ctypes.CDLL:
    """The library that runs threads; loaded so that every kernel finds its symbols."""
    path = build_library((SHIM / "launcher.cpp").read_text(), "launcher")
    # PyDLL keeps the interpreter's lock: a launch uses static state, so they must take turns.
    library = ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.emu_failure.restype = ctypes.c_char_p
    return library


def _run(arguments: list[str], what: str) -> None:
    done = subprocess.run([compiler(), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise HostCompileError(f"g++ does not compile {what}:\n{done.stderr[:4000]}")
