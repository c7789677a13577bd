"""The CUDA runtime as far as CuPy uses it: devices, memory, copies, streams, events, graphs.

Everything happens at once and in the order of the calls, so streams and events have nothing to do.
The names and arguments are those of `cupy_backends.cuda.api.runtime`.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from . import counters, graphs, memory, places
from .blocks import Blocks
from .errors import IllegalCall, NotEmulated

CUDA_VERSION = 13020
MULTIPROCESSORS = 132
MAX_SHARED = 232448
_INVALID_VALUE = 1
_OUT_OF_MEMORY = 2

_DIRECTIONS: dict[int, counters.Direction] = {
    0: "on_host",
    1: "to_device",
    2: "to_host",
    3: "on_device",
}
_DEFAULT = 4
_NON_BLOCKING = 1  # cudaStreamNonBlocking
# The attributes, by number, that CuPy or this project asks for; any other is refused.
_ATTRIBUTES = {
    1: 1024,  # MaxThreadsPerBlock
    2: 1024,  # MaxBlockDimX
    3: 1024,
    4: 64,
    5: 2**31 - 1,  # MaxGridDimX
    6: 65535,
    7: 65535,
    8: 49152,  # MaxSharedMemoryPerBlock
    10: 32,  # WarpSize
    12: 65536,  # MaxRegistersPerBlock
    16: MULTIPROCESSORS,
    38: 50 * 2**20,  # L2CacheSize
    39: 2048,  # MaxThreadsPerMultiProcessor
    75: 9,  # ComputeCapabilityMajor
    76: 0,
    81: MAX_SHARED,  # MaxSharedMemoryPerMultiprocessor
    97: MAX_SHARED,  # MaxSharedMemoryPerBlockOptin
    115: 0,  # MemoryPoolsSupported: no cudaMallocAsync
}


class Runtime:
    """Emulated devices with the properties of an H200, but for its memory."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._last_handle = 0x1000
        self._non_blocking: set[int] = set()
        self._events: dict[int, float] = {}
        self._captured_events: set[int] = set()

    def _handle(self) -> int:
        self._last_handle += 0x10
        return self._last_handle

    # --- device
    def driverGetVersion(self) -> int:
        return CUDA_VERSION

    def runtimeGetVersion(self) -> int:
        return CUDA_VERSION

    def _getLocalRuntimeVersion(self) -> int:
        return CUDA_VERSION

    def _getCUDAMajorVersion(self) -> int:
        return CUDA_VERSION // 1000

    def _ensure_context(self) -> None:
        pass

    def getDevice(self) -> int:
        return places.current()

    def getDeviceCount(self) -> int:
        return places.visible()

    def setDevice(self, device: int) -> None:
        if not 0 <= device < places.visible():
            raise self._module.CUDARuntimeError(101)  # cudaErrorInvalidDevice
        places.use(device)

    def deviceGetPCIBusId(self, device: int) -> str:
        return f"0000:00:{device:02x}.0"

    def deviceCanAccessPeer(self, device: int, peer: int) -> int:
        return 0

    def deviceGetAttribute(self, attribute: int, device: int) -> int:
        try:
            return _ATTRIBUTES[attribute]
        except KeyError:
            # what a device answers to an attribute it does not know; Device.attributes skips those
            raise self._module.CUDARuntimeError(_INVALID_VALUE) from None

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        return {
            "name": b"emulated on the CPU",
            "totalGlobalMem": memory.TOTAL,
            "sharedMemPerBlock": 49152,
            "sharedMemPerBlockOptin": MAX_SHARED,
            "regsPerBlock": 65536,
            "warpSize": 32,
            "maxThreadsPerBlock": 1024,
            "maxThreadsDim": (1024, 1024, 64),
            "maxGridSize": (2**31 - 1, 65535, 65535),
            "major": 9,
            "minor": 0,
            "multiProcessorCount": MULTIPROCESSORS,
            "maxThreadsPerMultiProcessor": 2048,
            "l2CacheSize": 50 * 2**20,
            "pciBusID": 0,
            "pciDeviceID": 0,
            "pciDomainID": 0,
        }

    def memGetInfo(self) -> tuple[int, int]:
        return memory.TOTAL - memory.device.total, memory.TOTAL

    def deviceSynchronize(self) -> None:
        graphs.refuse("cudaDeviceSynchronize")
        counters.wait("device")

    # --- memory
    def _allocate(self, size: int, table: Blocks) -> int:
        graphs.refuse_unsafe("an allocation")
        try:
            return memory.allocate(size, table)
        except memory.OutOfMemory:
            raise self._module.CUDARuntimeError(_OUT_OF_MEMORY) from None

    def malloc(self, size: int) -> int:
        return self._allocate(size, memory.device)

    def mallocAsync(self, size: int, stream: int) -> int:
        if graphs.is_capturing(stream):
            raise NotEmulated("allocation as part of a graph", "cudaMallocAsync in a capture")
        return self._allocate(size, memory.device)

    def mallocManaged(self, size: int, flags: int = 1) -> int:
        return self._allocate(size, memory.device)

    def hostAlloc(self, size: int, flags: int) -> int:
        return self._allocate(size, memory.pinned)

    def free(self, address: int) -> None:
        graphs.refuse_unsafe("cudaFree")
        memory.release(address, memory.device)

    def freeAsync(self, address: int, stream: int) -> None:
        memory.release(address, memory.device)

    def freeHost(self, address: int) -> None:
        graphs.refuse_unsafe("cudaFreeHost")
        memory.release(address, memory.pinned)

    def hostRegister(self, address: int, size: int, flags: int) -> None:
        pass

    def hostUnregister(self, address: int) -> None:
        pass

    def memAdvise(self, address: int, size: int, advice: int, device: int) -> None:
        pass

    def memPrefetchAsync(self, address: int, size: int, device: int, stream: int) -> None:
        pass

    def memcpy(self, to: int, source: int, size: int, kind: int) -> None:
        graphs.refuse("cudaMemcpy")
        direction = _direction(to, source, kind)
        counters.stream(graphs.LEGACY)
        counters.copy(direction, size, asynchronous=False)
        if direction != "on_device":  # on the device it does not wait
            counters.wait(f"memcpy {direction}")
        _copy(to, source, size, direction)

    def memcpyAsync(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        direction = _direction(to, source, kind)

        def copy() -> None:
            counters.copy(direction, size, asynchronous=True)
            _copy(to, source, size, direction)

        graphs.do(stream, copy, "cudaMemcpyAsync")

    def memset(self, address: int, value: int, size: int) -> None:
        graphs.refuse("cudaMemset")
        counters.stream(graphs.LEGACY)
        _set(address, value, size)

    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:
        graphs.do(stream, lambda: _set(address, value, size), "cudaMemsetAsync")

    def pointerGetMemoryType(self, address: int) -> int:
        return 2 if memory.is_on_device(address) else 1 if memory.pinned.find(address) else 0

    def pointerGetAttributes(self, address: int) -> Any:
        kind = self.pointerGetMemoryType(address)
        on_device = address if kind == 2 else 0
        number = memory.device_of(address) if kind == 2 else 0 if kind else -1
        return self._module.PointerAttributes(number, on_device, 0 if kind == 2 else address, kind)

    # --- streams and events: all work is done when a call returns
    def streamCreate(self) -> int:
        return places.own_stream(self._handle())

    def streamCreateWithFlags(self, flags: int) -> int:
        stream = places.own_stream(self._handle())
        if flags & _NON_BLOCKING:
            self._non_blocking.add(stream)
        return stream

    def streamCreateWithPriority(self, flags: int, priority: int) -> int:
        return self.streamCreateWithFlags(flags)

    def streamGetFlags(self, stream: int) -> int:
        return _NON_BLOCKING if stream in self._non_blocking else 0

    def streamGetPriority(self, stream: int) -> int:
        return 0

    def streamDestroy(self, stream: int) -> None:
        self._non_blocking.discard(stream)

    def streamSynchronize(self, stream: int) -> None:
        graphs.refuse("cudaStreamSynchronize", stream)
        counters.wait("stream")

    def streamQuery(self, stream: int) -> None:
        graphs.refuse("cudaStreamQuery", stream)

    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        if event in self._captured_events:
            if not graphs.is_capturing(stream):
                raise NotEmulated("capture of several streams", "cudaStreamWaitEvent")
        elif graphs.is_capturing(stream):
            graphs.refuse_event("cudaStreamWaitEvent for an event from outside of the capture")

    def eventCreate(self) -> int:
        return self._handle()

    def eventCreateWithFlags(self, flags: int) -> int:
        return self._handle()

    def eventDestroy(self, event: int) -> None:
        self._events.pop(event, None)
        self._captured_events.discard(event)

    def eventQuery(self, event: int) -> None:
        self._refuse_captured(event, "cudaEventQuery")

    def eventRecord(self, event: int, stream: int) -> None:
        places.check_stream(stream, "cudaEventRecord")
        if graphs.is_capturing(stream):  # part of the graph, and nothing that one could ask then
            self._captured_events.add(event)
        else:
            self._captured_events.discard(event)
            self._events[event] = time.perf_counter()

    def eventSynchronize(self, event: int) -> None:
        self._refuse_captured(event, "cudaEventSynchronize")
        counters.wait("event")

    def _refuse_captured(self, event: int, what: str) -> None:
        if event in self._captured_events:
            graphs.refuse(what)
        graphs.refuse_unsafe(what)

    def eventElapsedTime(self, start: int, end: int) -> float:
        return (self._events[end] - self._events[start]) * 1e3

    # --- graphs
    def streamIsCapturing(self, stream: int) -> int:
        if graphs.is_spoiled(stream):  # so says CuPy; the capture has to be ended first
            raise RuntimeError("the stream was capturing, but an error has invalidated the capture")
        return int(graphs.is_capturing(stream))

    def streamBeginCapture(self, stream: int, mode: int = graphs.RELAXED) -> None:
        graphs.begin(stream, mode, stream not in self._non_blocking)

    def streamEndCapture(self, stream: int) -> int:
        return graphs.end(stream, self._handle())

    def graphInstantiate(self, graph: int) -> int:
        return graphs.instantiate(graph, self._handle())

    def graphLaunch(self, executable: int, stream: int) -> None:
        graphs.launch(executable, stream)

    def graphUpload(self, executable: int, stream: int) -> None:
        pass

    def graphDestroy(self, graph: int) -> None:
        graphs.destroy(graph)

    def graphExecDestroy(self, executable: int) -> None:
        graphs.destroy(executable)

    def profilerStart(self) -> None:
        pass

    def profilerStop(self) -> None:
        pass


def _direction(to: int, source: int, kind: int) -> counters.Direction:
    known = {(0, 0): 0, (0, 1): 2, (1, 0): 1, (1, 1): 3}
    real = known[int(memory.is_on_device(to)), int(memory.is_on_device(source))]
    if kind not in (_DEFAULT, real):
        raise IllegalCall(
            f"a copy {_DIRECTIONS[kind]} was asked for, but it goes {_DIRECTIONS[real]}"
        )
    return _DIRECTIONS[real]


def _copy(to: int, source: int, size: int, direction: counters.Direction) -> None:
    if direction in ("to_device", "on_device"):
        memory.check_range(to, size, "the destination of a copy")
    if direction in ("to_host", "on_device"):
        memory.check_range(source, size, "the source of a copy")
    ctypes.memmove(to, source, size)


def _set(address: int, value: int, size: int) -> None:
    memory.check_range(address, size, "the target of a memset")
    ctypes.memset(address, value, size)
