"""The CUDA driver as far as CuPy uses it: modules, kernels and their launches."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from . import counters, graphs, kernels, places, toolchain
from .errors import IllegalCall, NotEmulated
from .runtime import CUDA_VERSION, MAX_SHARED, MULTIPROCESSORS

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MAX_THREADS = 1024
_NOT_FOUND = 500


class Driver:
    """Handles are numbers, as everywhere in CUDA; the tables say what they stand for."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._modules: dict[int, kernels.Module] = {}
        self._functions: dict[int, kernels.Function] = {}
        self._handles: dict[tuple[int, str], int] = {}
        # the device of each module, and of each function by its module's
        self._loaded_on: dict[int, int] = {}

    def get_build_version(self) -> int:
        return CUDA_VERSION

    def ctxGetCurrent(self) -> int:
        return 1

    def ctxGetDevice(self) -> int:
        return places.current()

    def moduleLoadData(self, image: bytes) -> int:
        module = kernels.load(image)
        if module is None:
            raise NotEmulated("machine code", f"an image that begins with {image[:8]!r}")
        # Modules are never unloaded, so a new number is always free.
        handle = 0x70000 + 0x10 * len(self._modules)
        self._modules[handle] = module
        self._loaded_on[handle] = places.current()
        return handle

    def moduleUnload(self, module: int) -> None:
        pass

    def moduleGetFunction(self, module: int, name: str) -> int:
        if (module, name) not in self._handles:
            function = self._modules[module].function(name)
            if function is None:
                raise self._not_found(name)
            handle = 0x9000000 + 0x10 * len(self._functions)
            self._functions[handle] = function
            self._loaded_on[handle] = self._loaded_on[module]
            self._handles[module, name] = handle
        return self._handles[module, name]

    def moduleGetGlobal(self, module: int, name: str) -> int:
        address = self._modules[module].variable(name)
        if address is None:
            raise self._not_found(name)
        return address

    def _not_found(self, name: str) -> Exception:
        base = self._module.CUDADriverError

        class CUDADriverError(base):  # type: ignore[misc,valid-type]
            """The real one asks libcuda for its text."""

            def __init__(self) -> None:
                self.status = _NOT_FOUND
                RuntimeError.__init__(
                    self,
                    f"CUDA_ERROR_NOT_FOUND: named symbol not found: {name} (a kernel that "
                    f'is not a template needs extern "C")',
                )

        return CUDADriverError()

    def launchKernel(
        self,
        function: int,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        block_x: int,
        block_y: int,
        block_z: int,
        shared: int,
        stream: int,
        arguments: int,
        extra: int,
    ) -> None:
        kernel = self._functions[function]
        if extra:
            raise NotEmulated("launchKernel", "arguments packed by the caller (extra)")
        dims = (grid_x, grid_y, grid_z, block_x, block_y, block_z)
        _check(kernel, dims, shared)
        places.check_stream(stream, f"a launch of {kernel.name}")
        places.check_current(self._loaded_on[function], f"kernel {kernel.name} was loaded")
        what = f"a launch of {kernel.name}"
        if graphs.is_capturing(stream):
            copied = _copy_arguments(kernel, arguments)
            graphs.do(
                stream,
                lambda: _run(kernel, dims, shared, ctypes.addressof(copied.pointers)),
                what,
            )
        else:
            graphs.do(stream, lambda: _run(kernel, dims, shared, arguments), what)

    def launchCooperativeKernel(self, *arguments: int) -> None:
        raise NotEmulated("cooperative launches", "launchCooperativeKernel")

    def funcGetAttribute(self, attribute: int, function: int) -> int:
        if attribute == _MAX_DYNAMIC_SHARED:
            return self._functions[function].max_shared
        if attribute == 0:  # MAX_THREADS_PER_BLOCK
            return _MAX_THREADS
        raise NotEmulated("funcGetAttribute", f"attribute {attribute}")

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        if attribute == _MAX_DYNAMIC_SHARED:
            if value > MAX_SHARED:
                raise IllegalCall(
                    f"{value} bytes of dynamic shared memory; {MAX_SHARED} is the limit"
                )
            self._functions[function].max_shared = value

    def occupancyMaxActiveBlocksPerMultiprocessor(
        self, function: int, block_size: int, shared: int
    ) -> int:
        return max(1, 2048 // block_size)

    def occupancyMaxPotentialBlockSize(
        self, function: int, shared: int, limit: int
    ) -> tuple[int, int]:
        return MULTIPROCESSORS, 256


def _check(kernel: kernels.Function, dims: tuple[int, ...], shared: int) -> None:
    gx, gy, gz, bx, by, bz = dims
    if (
        min(dims) < 1
        or gx >= 2**31
        or max(gy, gz) > 65535
        or bx * by * bz > _MAX_THREADS
        or bz > 64
    ):
        raise IllegalCall(f"kernel {kernel.name}: no launch with grid {dims[:3]}, block {dims[3:]}")
    if shared > kernel.max_shared:
        raise IllegalCall(
            f"kernel {kernel.name}: {shared} bytes of dynamic shared memory, and "
            f"{kernel.max_shared} are allowed"
        )


def _run(kernel: kernels.Function, dims: tuple[int, ...], shared: int, arguments: int) -> None:
    counters.kernel(kernel.name)
    if kernel.entry(arguments, (ctypes.c_uint * 6)(*dims), shared):
        raise RuntimeError(f"kernel {kernel.name}: {toolchain.launcher().emu_failure().decode()}")


@dataclass(frozen=True)
class _Arguments:
    """A launch's arguments: their addresses, as CUDA takes them, and the values themselves."""

    pointers: ctypes.Array[ctypes.c_void_p]
    values: list[ctypes.Array[ctypes.c_char]]


def _copy_arguments(kernel: kernels.Function, arguments: int) -> _Arguments:
    """What a graph keeps: the caller's own arguments do not outlast the call."""
    count = len(kernel.argument_sizes)
    addresses = (ctypes.c_size_t * count).from_address(arguments) if count else ()
    values = [
        ctypes.create_string_buffer(ctypes.string_at(address, size), size)
        for address, size in zip(addresses, kernel.argument_sizes, strict=True)
    ]
    pointers = (ctypes.c_void_p * max(count, 1))(*map(ctypes.addressof, values))
    return _Arguments(pointers, values)
