"""Data for training: shuffled mini-batches over arrays, and a log of how it went."""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from autograd_gpu.backend import (
    Array,
    Backend,
    Uploader,
    backend_of,
    current_backend,
    find_backend,
    load_backend,
)
from autograd_gpu.callers import require_keys
from autograd_gpu.variable import Variable


class Batches:
    """Mini-batches of arrays that share their first axis; a for loop over it is one epoch.

    Each batch is a tuple of arrays of the current backend or that called `backend`, or one array
    if one was given.  The order depends on `seed` and the number of the epoch alone.  The last
    batch is smaller where `batch_size` does not divide the number of rows, or left out if
    `drop_last`.  `transform(*arrays)`, if given, changes a batch before it is moved to the device.

    With `prefetch=n`, a thread prepares n batches ahead: it picks the rows, applies `transform`,
    and copies them through pinned memory on a stream of its own.

    A loop goes on where the last one stopped, also after `load_state_dict`: a resumed training
    meets the same batches as one that was not interrupted.

    >>> batches = data.Batches(np.arange(5), batch_size=2, seed=1)
    >>> [len(batch) for batch in batches]
    [2, 2, 1]
    """

    def __init__(
        self,
        *arrays: Any,
        batch_size: int,
        shuffle: bool = True,
        drop_last: bool = False,
        seed: int = 0,
        transform: Callable[..., Any] | None = None,
        prefetch: int = 0,
        backend: str | None = None,
    ) -> None:
        self.arrays = tuple([x.value if isinstance(x, Variable) else x for x in arrays])
        sizes = [len(x) for x in self.arrays if find_backend(x)]
        if not sizes or len(sizes) < len(arrays):
            kinds = ", ".join(type(x).__name__ for x in arrays)
            raise TypeError(f"Batches: expected arrays of NumPy or CuPy, got {kinds or 'none'}")
        if len(set(sizes)) > 1:
            raise ValueError(f"Batches: the arrays have different lengths {sizes}")
        if batch_size < 1 or prefetch < 0 or seed < 0:
            raise ValueError(
                f"Batches: batch_size={batch_size} must be positive, prefetch={prefetch} and "
                f"seed={seed} not negative"
            )
        self.size = sizes[0]
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.seed, self.transform, self.prefetch, self.backend = seed, transform, prefetch, backend
        if not len(self):
            raise ValueError(f"Batches: {self.size} rows make no batch of {batch_size}")
        self.epoch = 0
        self.position = 0

    def __len__(self) -> int:
        """The number of batches of one epoch."""
        whole, rest = divmod(self.size, self.batch_size)
        return whole + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        target = current_backend() if self.backend is None else load_backend(self.backend)
        rows = self._rows(self.epoch)[self.position :]
        batches: Generator[tuple[Array, ...], None, None]
        if self.prefetch:
            batches = _ahead(self._pick, rows, self.prefetch, target)
        else:
            batches = (tuple([_moved(x, target) for x in self._pick(at)]) for at in rows)
        with contextlib.closing(batches):  # a loop that is left ends the thread
            for batch in batches:
                # before the batch is handed out, so that a state taken meanwhile is past it
                self.position += 1
                if self.position == len(self):
                    self.epoch, self.position = self.epoch + 1, 0
                yield batch if len(batch) > 1 else batch[0]

    def _rows(self, epoch: int) -> list[Any]:
        """The numbers of the rows of each batch of one epoch, on the host."""
        host = load_backend("numpy")
        if self.shuffle:
            order = host.host_generator(self.seed + (epoch << 64)).permutation(self.size)
        else:
            order = host.xp.arange(self.size)
        return [order[i * self.batch_size :][: self.batch_size] for i in range(len(self))]

    def _pick(self, rows: Any) -> list[Array]:
        """One batch, on the backends of the arrays."""
        batch = []
        for x in self.arrays:
            backend = backend_of(x)
            here = rows if backend.name == "numpy" else backend.from_host(rows)
            batch.append(backend.xp.take(x, here, axis=0))
        if self.transform is None:
            return batch
        changed = self.transform(*batch)
        results = changed if isinstance(changed, (tuple, list)) else [changed]
        return [x.value if isinstance(x, Variable) else x for x in results]

    def state_dict(self) -> dict[str, int]:
        """Which batch is next."""
        return {
            "epoch": self.epoch,
            "position": self.position,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "size": self.size,
        }

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from where `state` was taken; ValueError unless rows and batches are as many."""
        require_keys("Batches", state, ("size", "batch_size", "seed", "epoch", "position"))
        for name in ("size", "batch_size"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"Batches: the state was taken with {name}={state[name]}, "
                    f"here it is {getattr(self, name)}"
                )
        self.seed, self.epoch, self.position = state["seed"], state["epoch"], state["position"]


def _moved(x: Array, target: Backend) -> Array:
    source = backend_of(x)
    return x if source is target else target.from_host(source.to_host(x))


def _ahead(
    pick: Callable[[Any], list[Array]], rows: list[Any], depth: int, target: Backend
) -> Generator[tuple[Array, ...], None, None]:
    """The batches of `rows`, which a thread prepares `depth` ahead."""
    uploader = target.uploader()
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def work() -> None:
        try:
            with uploader.working():
                for at in rows:
                    if stopped.is_set():
                        return
                    ready.put([_sent(x, target, uploader) for x in pick(at)])
            ready.put(None)
        except BaseException as error:  # raised where the batch would have been
            ready.put(error)

    context = contextvars.copy_context()  # `use_backend`, `no_grad` and the like hold there too
    thread = threading.Thread(target=context.run, args=(work,), daemon=True)
    thread.start()
    try:
        while (batch := ready.get()) is not None:
            if isinstance(batch, BaseException):
                raise batch
            yield tuple([uploader.receive(x) if sent else x for x, sent in batch])
    finally:
        stopped.set()
        while thread.is_alive():  # it may wait for room
            with contextlib.suppress(queue.Empty):
                ready.get_nowait()
            thread.join(0.01)


def _sent(x: Array, target: Backend, uploader: Uploader) -> tuple[Any, bool]:
    """What `uploader` makes of `x`, True; or `x` as it is, False, where it is there already."""
    source = backend_of(x)
    if source is target:
        return x, False
    return uploader.send(source.to_host(x) if source.name != "numpy" else x), True


class Log:
    """Appends entries to a JSON Lines file, one a line; `read_log` reads it.

    Entries are on their way to the disk when `write` returns, and a line that a killed process has
    left incomplete is removed.  `upto={"step": n}` also removes the entries with a larger "step":
    what came after the checkpoint from which a training is resumed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = data.Log(f"{folder}/log.jsonl")
    ...     log.write(step=1, loss=0.5)
    ...     data.read_log(log.path)
    [{'step': 1, 'loss': 0.5}]
    """

    def __init__(
        self, path: str | os.PathLike[str], upto: Mapping[str, float] | None = None
    ) -> None:
        self.path = Path(path)
        if not self.path.exists():
            return
        bounds = (upto or {}).items()
        kept = [
            entry
            for entry in read_log(self.path)
            if all(key not in entry or entry[key] <= bound for key, bound in bounds)
        ]
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        temporary.write_text("".join(json.dumps(entry) + "\n" for entry in kept))
        os.replace(temporary, self.path)

    def write(self, **entry: Any) -> None:
        """Append one entry; arrays and Variables of one element become numbers, which waits."""
        plain = {k: v.item() if hasattr(v, "item") else v for k, v in entry.items()}
        with open(self.path, "a") as file:
            file.write(json.dumps(plain) + "\n")


def read_log(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The entries of a log; an incomplete last line is left out."""
    lines = Path(path).read_text().split("\n")
    return [json.loads(line) for line in lines[:-1]]
