"""Threads that share the blocks of large arrays on the CPU.

NumPy lets other threads run while it computes, so the blocks that an op on a large array is cut
into can be spread over the cores.  How an array is cut, and the order in which partial sums are
added, depend on its shape only: results are the same bits for any number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from itertools import count
from queue import SimpleQueue

_number: int | None = None


def set_num_threads(n: int) -> None:
    """Let an op on large NumPy arrays use up to `n` threads; 1 means the calling thread only.

    The products of BLAS have a number of threads of their own (OPENBLAS_NUM_THREADS and the like,
    or the package threadpoolctl).  Raises ValueError unless n > 0.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    """
    global _number
    if n != int(n) or n < 1:
        raise ValueError(f"the number of threads must be a positive integer, not {n!r}")
    _number = int(n)


def get_num_threads() -> int:
    """How many threads an op on large NumPy arrays may use.

    Until `set_num_threads` says otherwise that is the environment variable AUTOGRAD_GPU_THREADS,
    else OMP_NUM_THREADS, else the number of cores that this process may use.
    """
    global _number
    if _number is None:
        _number = _default()
    return _number


def _default() -> int:
    for name in ("AUTOGRAD_GPU_THREADS", "OMP_NUM_THREADS"):
        # OpenMP takes a list: the first number is for the outermost level
        given = os.environ.get(name, "").partition(",")[0].strip()
        if given.isdecimal() and int(given) > 0:
            return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Job:
    """`work(i)` for every i below `count`, by whichever threads come along."""

    def __init__(self, work: Callable[[int], object], count_: int) -> None:
        self.work, self.count = work, count_
        self.next = count().__next__  # atomic: one call of C code
        self.condition = threading.Condition()
        self.active = 0
        self.closed = False
        self.error: BaseException | None = None

    def loop(self) -> None:
        work, total, take = self.work, self.count, self.next
        try:
            while (i := take()) < total:
                work(i)
        except BaseException as error:
            self.next = count(total).__next__  # nobody need go on
            if self.error is None:
                self.error = error

    def help(self) -> None:
        """As a thread of the pool: join in, unless all is done."""
        with self.condition:
            if self.closed:
                return
            self.active += 1
        self.loop()
        with self.condition:
            self.active -= 1
            self.condition.notify()

    def finish(self) -> None:
        """As the caller: do what is left, and wait for the helpers that have begun."""
        self.loop()
        with self.condition:
            self.closed = True
            while self.active:
                self.condition.wait()
        # A helper that has not begun keeps this job; let it not keep the arrays that `work` does,
        # since who holds an array decides whether it is written in place.
        del self.work
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # its traceback refers to this frame


class _Pool:
    """Daemon threads that are started when they are first needed."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self.lock = threading.Lock()
        self.size = 0

    def submit(self, task: Callable[[], object], times: int) -> None:
        if self.size < times:
            with self.lock:
                while self.size < times:
                    name = f"autograd_gpu-{self.size}"
                    threading.Thread(target=self._serve, name=name, daemon=True).start()
                    self.size += 1
        for _ in range(times):
            # each runs in a copy of the caller's context: NumPy's errstate is part of it
            context = copy_context()
            self.queue.put(lambda context=context: context.run(task))  # type: ignore[misc]

    def _serve(self) -> None:
        _local.helping = True
        while True:
            self.queue.get()()


class _Local(threading.local):
    helping = False


_local = _Local()
_pool = _Pool()


def _forget_pool() -> None:
    """In a forked child, which has none of the threads."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def share(work: Callable[[int], object], n: int) -> None:
    """Call `work(i)` once for every i below `n`, in any order, in this thread and others.

    The calls must not depend on each other.  The first exception is raised here; which of the
    other calls are then made is left open.
    """
    threads = min(get_num_threads(), n)
    if threads < 2 or _local.helping:
        for i in range(n):
            work(i)
        return
    job = _Job(work, n)
    _pool.submit(job.help, threads - 1)
    job.finish()
