"""Starts the emulation; has to be done before cupy is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from types import ModuleType
from typing import Any

from . import (
    cublas,
    cufft,
    kernels,
    linalg,
    memory,
    nvmath,
    places,
    refused,
    thrust,
    toolchain,
    trampolines,
)
from .driver import Driver
from .errors import CannotStart
from .runtime import Runtime

# The emulation puts itself behind C functions whose names and types are this version's.
CUPY_VERSION = "14.2"
_DISTRIBUTIONS = ("cupy-cuda13x", "cupy-cuda12x")

_started = False


def is_started() -> bool:
    return _started


def start() -> None:
    """Let every later `import cupy` in this process get CuPy with an emulated device.

    Raises CannotStart if CuPy was imported before, is missing or is not the version that this was
    written for, or if g++ or NVRTC is missing.
    """
    global _started
    if _started:
        return
    _check()
    # CUB reaches CUDA from compiled C++; without it CuPy's own kernels do the same work.
    os.environ["CUPY_ACCELERATORS"] = ""
    # A real GPU must not answer what the emulation forgot.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    _exchange_api()
    import cupy

    _load_nvrtc()
    _exchange_compiler()
    _exchange_libraries()
    _exchange_allocator(cupy)
    with places.devices(places.MOST):
        # CuPy makes room for the devices that there are when a thread first makes a plan.
        cupy.fft.config.get_plan_cache()
    _started = True


def cupy_version() -> str:
    """The version of the installed CuPy wheel, without importing it."""
    for name in _DISTRIBUTIONS:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise CannotStart(
        f"CuPy on the CPU needs a wheel of CuPy; install one, e.g. `pip install "
        f"'{_DISTRIBUTIONS[0]}=={CUPY_VERSION}.*' nvidia-cuda-nvrtc nvidia-cuda-runtime "
        f"nvidia-cuda-crt`"
    )


def check_version(found: str) -> None:
    """Raise CannotStart unless `found` is the version of CuPy that this was written for."""
    if not f"{found}.".startswith(f"{CUPY_VERSION}."):
        raise CannotStart(
            f"CuPy {found} is installed, and the emulation in tests/cupy_on_cpu was written for "
            f"CuPy {CUPY_VERSION}.  Either install that one (`pip install "
            f"'{_DISTRIBUTIONS[0]}=={CUPY_VERSION}.*'`), or set CUPY_VERSION in "
            f"tests/cupy_on_cpu/start.py to the new version, run `pytest --cupy-on-cpu "
            f"tests/emulated_cupy` and repair what fails."
        )


def _check() -> None:
    if "cupy" in sys.modules or "cupy_backends.cuda.api.runtime" in sys.modules:
        raise CannotStart("cupy was imported before the emulation was started")
    if sys.platform != "linux" or platform.python_implementation() != "CPython":
        raise CannotStart("the emulation works with CPython on Linux only")
    check_version(cupy_version())
    toolchain.compiler()


def _exchange_api() -> None:
    import cupy_backends.cuda.api.driver as driver
    import cupy_backends.cuda.api.runtime as runtime

    implementations: list[tuple[ModuleType, Any]] = [
        (runtime, Runtime(runtime)),
        (driver, Driver(driver)),
    ]
    for module, implementation in implementations:

        def find(name: str, implementation: Any = implementation, module: Any = module) -> Any:
            if name in ("check_status", "_is_cuda_python"):
                return getattr(module, name)  # they ask nothing of a device
            return getattr(implementation, name, None) or refused.runtime_function(name)

        missing = [
            n for n in dir(implementation) if not n.startswith("_") and not hasattr(module, n)
        ]
        if missing:
            raise CannotStart(f"{module.__name__} has no {missing}: CuPy has changed")
        trampolines.exchange(module, find)
        # Functions that only Python code calls have no capsule.
        for name in dir(module):
            value = getattr(module, name)
            if name not in module.__pyx_capi__ and type(value).__name__ in _FUNCTION_TYPES:
                setattr(module, name, find(name))


_FUNCTION_TYPES = ("cython_function_or_method", "builtin_function_or_method")


def _load_nvrtc() -> None:
    from cupy_backends.cuda.libs import nvrtc

    try:
        nvrtc.getVersion()
    except (RuntimeError, ImportError) as error:
        raise CannotStart(
            f"CuPy on the CPU needs NVRTC ({error}); install it, e.g. `pip install "
            f"nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt`"
        ) from error


def _exchange_compiler() -> None:
    import cupy
    from cupy.cuda import compiler

    real = compiler._compile_using_nvrtc_no_warning
    kernels.nvrtc = lambda: real
    version = f"{cupy.__version__} {compiler._get_nvrtc_version()}"

    def compile_using_nvrtc(
        source: str,
        options: tuple[str, ...] = (),
        arch: str | None = None,
        filename: str = "kern.cu",
        name_expressions: Any = None,
        log_stream: Any = None,
        cache_in_memory: bool = False,
        jitify: bool | None = None,
        method: str | None = None,
    ) -> Any:
        return kernels.compile_kernel(
            real, version, source, tuple(options), arch, filename, name_expressions,
            log_stream, cache_in_memory, jitify, method,
        )  # fmt: skip

    compiler._compile_using_nvrtc_no_warning = compile_using_nvrtc
    # CuPy compiles an empty file to learn NVRTC's version; its own cache, off now, needs that.
    compiler._preprocess = lambda *args: ""

    class NoCache(compiler._KernelCacheBackend):  # type: ignore[misc]
        """Real cubins and emulated ones must not meet in one cache."""

        def load(self, name: str) -> None:
            return None

        def save(self, name: str, cubin: bytes, source: str) -> None:
            pass

    compiler._set_kernel_cache_backend(NoCache())


def _exchange_libraries() -> None:
    import cupy
    import cupy.random._bit_generator
    import cupy.random._generator_api
    from cupy.cuda import cub

    for name, part in refused.MODULES.items():
        refused.stand_in(name, part)
    for attribute in ("curand", "cusolver", "cusparse", "nccl", "cutensor"):
        setattr(cupy.cuda, attribute, sys.modules[f"cupy_backends.cuda.libs.{attribute}"])
    cupy.cuda.cublas = cublas.make_module(lambda: cupy.cuda.get_current_stream().ptr)
    cufft.make_module()
    nvmath.install()
    thrust.install(cupy.cuda.thrust)
    linalg.install()
    refused.refuse_functions(cub, "CUB", _CUB)
    generators = (n for n in dir(cupy.random._bit_generator) if n in _BIT_GENERATORS)
    refused.refuse_functions(cupy.random._bit_generator, "cuRAND", tuple(generators))
    refused.refuse_functions(cupy.random, "cuRAND", (*_BIT_GENERATORS, "Generator", "default_rng"))


_CUB = (
    "cub_reduction",
    "cub_scan",
    "cub_histogram",
    "device_reduce",
    "device_segmented_reduce",
    "device_scan",
    "device_histogram",
)
_BIT_GENERATORS = ("BitGenerator", "XORWOW", "MRG32k3a", "Philox4x3210")


def _exchange_allocator(cupy: ModuleType) -> None:
    pool = cupy.get_default_memory_pool()
    with places.devices(places.MOST):
        pool.malloc(1)  # at the first of these it counts the devices, and makes a pool for each
    pool.free_all_blocks()

    def malloc(size: int) -> Any:
        block = pool.malloc(size)
        memory.enter_array(block.ptr, size)
        return block

    cupy.cuda.set_allocator(malloc)
