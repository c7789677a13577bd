"""Capture of a step as a CUDA graph on CuPy.

What a graph does is bound to addresses.  So arguments get buffers of their own, which a launch
first copies into; memory comes from a pool that only this graph uses and that lives as long as it
does; and where the step replaces the array of a Variable that it reads, the new one is copied into
the old one, where the next launch looks for it.

Nothing runs during a capture, so one that fails is undone, and the step can be run eagerly.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import cupy as cp

from autograd_gpu.backends import cupy_counters, cupy_philox
from autograd_gpu.backends.cupy_graph_blas import captured_products, rehearsed_products
from autograd_gpu.backends.cupy_graph_pools import new_pool, retire
from autograd_gpu.backends.cupy_graph_replay import GraphReplay, Slot
from autograd_gpu.backends.cupy_live import LiveNumber, LiveNumbers
from autograd_gpu.recorder import NotReplayable, NotYet, Replay

Array = Any


class GraphRecorder:
    """See `autograd_gpu.recorder.Recorder` for what the members mean."""

    recordings = 1
    by_update = False

    def __init__(self) -> None:
        self._slots: dict[tuple[int, str], Slot | None] = {}
        """What is known of the slots that the step uses; None for those of its own Variables."""
        self._statics: dict[int, Array] = {}
        self._numbers = LiveNumbers()
        self._depends: list[tuple[Callable[[], Any], Any]] = []
        self._undo: list[Callable[[], None]] = []
        self._peeking = False
        self._reserve = 0
        self._kept: list[Any] = []
        """Memory from outside of the graph that it reads, besides that of slots and arguments."""
        self._allocations = _Allocations()
        self.counters = cupy_counters.Counters(cp.cuda.get_allocator())
        cupy_philox.prepare(cp.cuda.Device().id)

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        allocations = _Allocations()
        with rehearsed_products(), allocations:
            yield
        self._reserve = allocations.peak

    def record(
        self, run: Callable[[Sequence[Any]], list[Any]], given: Sequence[Any]
    ) -> tuple[list[Any], Replay]:
        statics = [_static(x if isinstance(x, cp.ndarray) else x.value) for x in given]
        stand_ins = []
        for x, static in zip(given, statics, strict=True):
            if isinstance(x, cp.ndarray):
                stand_ins.append(static)
            else:
                self._statics.setdefault(id(x), static)
                stand_ins.append(x)
        pool = new_pool()
        try:
            with captured_products() as products, capture(pool, self._reserve) as captured:
                with self._allocations:
                    outputs = run(stand_ins)
                for slot in self._used():
                    slot.finish()
        except BaseException as error:
            for undo in reversed(self._undo):
                undo()
            retire(pool)
            if isinstance(error, Exception):
                kind = NotYet if isinstance(error, NotYet) else NotReplayable
                raise kind(_reason(error)) from error
            raise
        replay = GraphReplay(
            captured.graph,
            pool,
            (products.workspace, self._kept),
            given,
            statics,
            self._used(),
            outputs,
            self._numbers,
            self._depends,
        )
        return replay.launch(given), replay

    def _used(self) -> list[Slot]:
        return [slot for slot in self._slots.values() if slot is not None]

    def reads(self, variable: Any, slot: str, held: Any) -> Any:
        key = id(variable), slot
        if self._peeking or key in self._slots:
            return held
        known = self._enter(variable, slot, held)
        known.read()
        return held if known.static is None or slot == "grad" else known.static

    def writes(self, variable: Any, slot: str, array: Any, is_new: bool) -> None:
        key = id(variable), slot
        if is_new:
            self._slots[key] = None
            if isinstance(array, cp.ndarray) and not self._allocations.have(array):
                self._kept.append(array.data)
            return
        held = self._held(variable, slot)
        known = self._slots.get(key)
        if known is None:
            known = self._enter(variable, slot, held)
            if slot == "grad" and held is None and array is not None:
                known.read()  # the first gradient, which would be added to another
        known.write(held, array)

    def _enter(self, variable: Any, slot: str, held: Any) -> Slot:
        known = Slot(variable, slot, self._statics.get(id(variable)), held)
        self._slots[id(variable), slot] = known
        self._undo.append(known.restore)
        return known

    def _held(self, variable: Any, slot: str) -> Any:
        """What a slot holds, looked at without being told of it."""
        self._peeking = True
        try:
            return getattr(variable, slot)
        finally:
            self._peeking = False

    def numbers(self, read: Callable[[], tuple[Any, ...]]) -> tuple[LiveNumber, ...]:
        return self._numbers.read(read)

    def on_failure(self, undo: Callable[[], object]) -> None:
        self._undo.append(undo)

    def update(self, change: Callable[..., None], variables: Any, *args: Any) -> None:
        change(variables, *args)

    def depends(self, read: Callable[[], Any]) -> None:
        self._depends.append((read, read()))

    def refuse(self, reason: str) -> None:
        raise NotReplayable(reason)  # nothing has been executed


class Captured:
    """A capture; `graph` is what it gave."""

    graph: Any = None


class _Allocations(cp.cuda.MemoryHook):  # type: ignore[misc]
    """What memory this thread is given while this is on, and the most bytes in use at once."""

    def __init__(self) -> None:
        self.name = f"autograd_gpu.allocations.{id(self)}"  # compiled functions call each other
        self.peak = 0
        self._used = 0
        self._alive: set[int] = set()
        self._addresses: set[int] = set()

    def have(self, x: Array) -> bool:
        """Whether the memory of `x` is among it."""
        return x.data.mem.ptr in self._addresses

    def malloc_postprocess(
        self, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int
    ) -> None:
        self._addresses.add(mem_ptr)
        self._alive.add(pmem_id)
        self._used += mem_size
        self.peak = max(self.peak, self._used)

    def free_postprocess(self, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        if pmem_id in self._alive:
            self._alive.remove(pmem_id)
            self._used -= mem_size


@contextmanager
def capture(pool: Any, reserve: int = 0) -> Iterator[Captured]:
    """Capture what this thread launches within, with memory from `pool`, `reserve` bytes of it from
    the beginning.

    The mode is relaxed, as CuPy's own default is, so that the pool can ask CUDA for more.  If
    anything raises, the capture is ended and the device is as usable as before.
    """
    stream = cp.cuda.Stream(non_blocking=True)
    captured = Captured()
    collecting = gc.isenabled()
    # The collector could free what lives outside of the pool, which waits for the device.
    gc.disable()
    try:
        with cp.cuda.using_allocator(pool.malloc), stream:
            _fill(pool, reserve)
            stream.begin_capture()
            try:
                yield captured
            except BaseException:
                with suppress(RuntimeError):  # a spoiled capture raises once more, and is over
                    stream.end_capture()
                raise
            captured.graph = stream.end_capture()
    finally:
        if collecting:
            gc.enable()


def _fill(pool: Any, reserve: int) -> None:
    """Let the pool have memory, of which it gives pieces to the current stream."""
    if not reserve:
        return
    size = reserve + reserve // 4  # pieces do not fit into each other without gaps
    try:
        pool.malloc(size)
    except cp.cuda.memory.OutOfMemoryError:
        cp.get_default_memory_pool().free_all_blocks()
        pool.malloc(size)


def _static(x: Array) -> Array:
    """A buffer like `x`, with its contents."""
    static = cp.empty_like(x)
    static[...] = x
    return static


def _reason(error: Exception) -> str:
    """Why a step is not captured: the op that raised, or the line of the step, and what it said."""
    notes = [n for n in getattr(error, "__notes__", ()) if n.startswith("raised in ")]
    where = notes[0].removeprefix("raised in ") if notes else f"the step{_line(error)}"
    said = str(error) if isinstance(error, NotReplayable) else f"{type(error).__name__}: {error}"
    return f"{where} cannot be captured in a CUDA graph: {said}"


def _line(error: Exception) -> str:
    """Where the error left the code that is not this library's or an array library's."""
    trace, where = error.__traceback__, ""
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _LIBRARIES:
            where = f", in line {trace.tb_lineno} of {Path(frame.f_code.co_filename).name},"
        trace = trace.tb_next
    return where


_LIBRARIES = ("autograd_gpu", "cupy", "cupyx", "cupy_backends", "numpy", "contextlib")
