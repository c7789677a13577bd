"""What a test can count: launches, copies, waits, allocations and cuBLAS calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

Direction = Literal["to_device", "to_host", "on_device", "on_host"]


@dataclass(frozen=True)
class Copy:
    """One memory copy as the runtime was asked for it."""

    direction: Direction
    size: int
    asynchronous: bool


@dataclass(frozen=True)
class BlasCall:
    """One cuBLAS call; `args` are its arguments by their names in cuBLAS's manual."""

    name: str
    args: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["args"][name]
        except KeyError:
            raise AttributeError(f"{self.__dict__.get('name')} has no argument {name!r}") from None


@dataclass(frozen=True)
class CudnnCall:
    """One execution of a cuDNN graph: its operation, parameters, and what it read and wrote.

    `tensors` has (dim, stride, data type, pointer) by uid.
    """

    op: str
    params: dict[str, Any]
    tensors: dict[int, tuple[tuple[int, ...], tuple[int, ...], str, int]]
    stream: int
    workspace: int


@dataclass
class Counts:
    """Everything that happened within one `counting()`, in order of time."""

    kernels: list[str] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    wait_calls: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    raw_sizes: list[int] = field(default_factory=list)
    blas: list[BlasCall] = field(default_factory=list)
    cudnn: list[CudnnCall] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    streams: set[int] = field(default_factory=set)
    graph_launches: int = 0

    @property
    def launches(self) -> int:
        """Kernel launches; those of a replayed graph are counted one by one."""
        return len(self.kernels)

    @property
    def waits(self) -> int:
        """How often the host waited for the device."""
        return len(self.wait_calls)

    @property
    def allocations(self) -> int:
        """Blocks taken from the memory pool; their bytes, as asked for, are in `sizes`."""
        return len(self.sizes)

    @property
    def to_device(self) -> int:
        return self._copies("to_device")

    @property
    def to_host(self) -> int:
        return self._copies("to_host")

    @property
    def on_device(self) -> int:
        return self._copies("on_device")

    def _copies(self, direction: Direction) -> int:
        return sum(copy.direction == direction for copy in self.copies)

    def __str__(self) -> str:
        return (
            f"{self.launches} launches {self.kernels}, {len(self.blas)} cuBLAS calls "
            f"{[call.name for call in self.blas]}, {self.to_device} copies to the device, "
            f"{self.to_host} to the host, {self.on_device} on the device, {self.waits} waits "
            f"{self.wait_calls}, {self.allocations} allocations of {sum(self.sizes)} bytes, "
            f"replaced by NumPy: {self.replaced}"
        )


# Whoever counts now; nothing is kept for nobody, so long runs do not collect memory.
_counting: list[Counts] = []


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what happens within the with statement; it may be nested.

    >>> with counting() as c:
    ...     pass
    >>> c.launches, c.waits
    (0, 0)
    """
    counts = Counts()
    _counting.append(counts)
    try:
        yield counts
    finally:
        # by identity: Counts compare by value, and two of them may be equal
        del _counting[next(i for i, c in enumerate(_counting) if c is counts)]


def kernel(name: str) -> None:
    for c in _counting:
        c.kernels.append(name)


def copy(direction: Direction, size: int, asynchronous: bool) -> None:
    for c in _counting:
        c.copies.append(Copy(direction, size, asynchronous))


def wait(what: str) -> None:
    for c in _counting:
        c.wait_calls.append(what)


def allocation(size: int) -> None:
    for c in _counting:
        c.sizes.append(size)


def raw_allocation(size: int) -> None:
    for c in _counting:
        c.raw_sizes.append(size)


def blas(name: str, args: dict[str, Any]) -> None:
    if _counting:
        call = BlasCall(name, args)
        for c in _counting:
            c.blas.append(call)


def cudnn(call: CudnnCall) -> None:
    for c in _counting:
        c.cudnn.append(call)


def replaced(name: str) -> None:
    for c in _counting:
        c.replaced.append(name)


def stream(pointer: int) -> None:
    for c in _counting:
        c.streams.add(pointer)


def graph_launch() -> None:
    for c in _counting:
        c.graph_launches += 1
