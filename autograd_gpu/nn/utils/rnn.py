"""Sequences of several lengths: side by side with padding, or packed without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from autograd_gpu import ops
from autograd_gpu.backend import backend_of
from autograd_gpu.nn.functional.arguments import as_raw, backend_near
from autograd_gpu.variable import Variable


class PackedSequence(NamedTuple):
    """Sequences step by step, the longest first: what `pack_padded_sequence` returns.

    `data` [steps, ...] has the first elements of all, then the second ones of those that have them,
    and so on; `batch_sizes` says how many each step has.  Row i of the sorted sequences is row
    `sorted_indices[i]` of those given, and `unsorted_indices` is the inverse; both are None where
    they were sorted.
    """

    data: Variable
    batch_sizes: tuple[int, ...]
    sorted_indices: tuple[int, ...] | None = None
    unsorted_indices: tuple[int, ...] | None = None

    def sort(self, x: Any, axis: int = 0) -> Variable:
        """Rows of `x`, given in the order of the sequences, in that of the packed ones."""
        order = self.sorted_indices
        return ops.asarray(x) if order is None else ops.take(x, list(order), axis=axis)

    def unsort(self, x: Any, axis: int = 0) -> Variable:
        """Rows of `x` in the order in which the sequences were given."""
        order = self.unsorted_indices
        return ops.asarray(x) if order is None else ops.take(x, list(order), axis=axis)

    @property
    def lengths(self) -> list[int]:
        """The lengths, in the order in which the sequences were given."""
        sizes = (*self.batch_sizes, 0)
        falling = [
            t + 1
            for t in reversed(range(len(self.batch_sizes)))
            for _ in range(sizes[t] - sizes[t + 1])
        ]
        return (
            falling
            if self.unsorted_indices is None
            else [falling[i] for i in self.unsorted_indices]
        )


def pack_padded_sequence(
    x: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The first `lengths` [N] elements of the sequences `x` [T, N, ...], packed.

    With `batch_first` `x` is [N, T, ...].  Recurrent layers take the result: they compute nothing
    for the padding, and the last states are those at the end of each sequence.  The lengths are
    wanted on the host.  Raises ValueError for lengths outside [1, T], and, unless
    `enforce_sorted=False`, if they grow.

    >>> packed = nn.utils.rnn.pack_padded_sequence(ones((3, 2, 1)), [3, 1])
    >>> packed.data.shape, packed.batch_sizes
    ((4, 1), (2, 1, 1))
    """
    x = ops.asarray(x)
    sizes = _on_host(lengths)
    if x.ndim < 2:
        raise ValueError(f"pack_padded_sequence: x {list(x.shape)} must be [T, N, ...]")
    t, n = x.shape[1::-1] if batch_first else x.shape[:2]
    if len(sizes) != n or not all(1 <= size <= t for size in sizes):
        raise ValueError(
            f"pack_padded_sequence: lengths {sizes} must be {n} between 1 and {t} for x "
            f"{list(x.shape)}"
        )
    order: list[int] = sorted(range(n), key=lambda i: -sizes[i])
    if enforce_sorted:
        if sizes != sorted(sizes, reverse=True):
            raise ValueError(
                f"pack_padded_sequence: lengths {sizes} grow; pass enforce_sorted=False"
            )
        order = list(range(n))
    batch_sizes = tuple(sum(size > step for size in sizes) for step in range(max(sizes)))
    places = [
        i * t + step if batch_first else step * n + i
        for step, many in enumerate(batch_sizes)
        for i in order[:many]
    ]
    data = ops.take(ops.reshape(x, (t * n, *x.shape[2:])), places, axis=0)
    if enforce_sorted:
        return PackedSequence(data, batch_sizes)
    inverse = sorted(range(n), key=order.__getitem__)
    return PackedSequence(data, batch_sizes, tuple(order), tuple(inverse))


def pad_packed_sequence(
    packed: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Variable, list[int]]:
    """The sequences [T, N, ...] with padding, and their lengths: undoes `pack_padded_sequence`.

    T is the largest length, or `total_length`.
    """
    data, sizes = ops.asarray(packed.data), packed.batch_sizes
    t, n = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < t:
            raise ValueError(f"pad_packed_sequence: total_length={total_length} is less than {t}")
        t = total_length
    rows = packed.unsorted_indices or range(n)
    starts = [sum(sizes[:step]) for step in range(len(sizes))]
    # one more row, of padding, is what positions beyond the end read
    nothing = data.shape[0]
    places = [
        [starts[step] + row if step < len(sizes) and row < sizes[step] else nothing for row in rows]
        for step in range(t)
    ]
    xp = backend_of(data.value).xp
    padding = xp.full((1, *data.shape[1:]), padding_value, dtype=data.dtype)
    index = backend_near(data).asarray(places)
    y = ops.take(ops.concat([data, padding], axis=0), index, axis=0)
    return ops.swapaxes(y, 0, 1) if batch_first else y, packed.lengths


def pad_sequence(
    sequences: Iterable[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Variable:
    """Arrays [L, ...] of several lengths side by side, [T, N, ...], with padding at the end or,
    'left', at the beginning.

    >>> nn.utils.rnn.pad_sequence([[1.0, 2.0], [3.0]], batch_first=True).tolist()
    [[1.0, 2.0], [3.0, 0.0]]
    """
    arrays = [ops.asarray(x) for x in sequences]
    if not arrays or len({x.shape[1:] for x in arrays}) > 1:
        shapes = [list(x.shape) for x in arrays]
        raise ValueError(f"pad_sequence: arrays [L, ...] that differ in L only, not {shapes}")
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence: padding_side is 'left' or 'right', not {padding_side!r}")
    longest = max(x.shape[0] for x in arrays)
    padded = []
    for x in arrays:
        missing = longest - x.shape[0]
        side = (missing, 0) if padding_side == "left" else (0, missing)
        widths = [side, *[(0, 0)] * (x.ndim - 1)]
        padded.append(ops.pad(x, widths, constant_values=padding_value))
    return ops.stack(padded, axis=0 if batch_first else 1)


def pack_sequence(sequences: Iterable[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Arrays [L, ...] of several lengths, packed."""
    arrays = [ops.asarray(x) for x in sequences]
    lengths = [x.shape[0] for x in arrays]
    return pack_padded_sequence(pad_sequence(arrays), lengths, enforce_sorted=enforce_sorted)


def unpad_sequence(x: Any, lengths: Any, batch_first: bool = False) -> list[Variable]:
    """The sequences of `x` [T, N, ...] one by one, without their padding."""
    rows = ops.asarray(x) if batch_first else ops.swapaxes(x, 0, 1)
    return [rows[i, :size] for i, size in enumerate(_on_host(lengths))]


def unpack_sequence(packed: PackedSequence) -> list[Variable]:
    """The sequences one by one: undoes `pack_sequence`."""
    return unpad_sequence(*pad_packed_sequence(packed))


def mapped(function: Callable[[Variable], Variable], x: Any) -> Any:
    """`function` of an array, or of the data of a PackedSequence."""
    if isinstance(x, PackedSequence):
        return x._replace(data=function(x.data))
    return function(x)


def run_packed(
    run: Callable[[Variable, list[Variable], bool], tuple[Variable, list[Variable]]],
    x: PackedSequence,
    states: list[Variable],
    reverse: bool,
) -> tuple[PackedSequence, list[Variable]]:
    """`run`, which is for [T, N, ...], over packed sequences and from `states` [N, ...] on.

    Steps with equally many sequences follow one another in `data`, so that each such stretch is a
    view [steps, many, ...] and one call of `run`.
    """
    stretches = list(_stretches(x))
    outputs: list[Variable] = []
    if reverse:
        # the longest sequences begin; the others join with their first states when their ends come
        now = [s[:0] for s in states]
        for data in reversed(stretches):
            many, had = data.shape[1], now[0].shape[0]
            now = [
                ops.concat([a, s[had:many]], axis=0) if had else s[:many]
                for a, s in zip(now, states, strict=True)
            ]
            y, now = run(data, now, True)
            outputs.insert(0, ops.reshape(y, (-1, y.shape[-1])))
        ends = now
    else:
        now = states
        finished: list[list[Variable]] = []
        for data in stretches:
            many = data.shape[1]
            if many < now[0].shape[0]:
                finished.insert(0, [s[many:] for s in now])
                now = [s[:many] for s in now]
            y, now = run(data, now, False)
            outputs.append(ops.reshape(y, (-1, y.shape[-1])))
        parts = [now, *finished]
        ends = [ops.concat(list(part), axis=0) for part in zip(*parts, strict=True)]
    return x._replace(data=ops.concat(outputs, axis=0)), ends


def _stretches(x: PackedSequence) -> Iterator[Variable]:
    start = first = 0
    sizes: Sequence[int] = (*x.batch_sizes, -1)
    for step in range(1, len(sizes)):
        if sizes[step] != sizes[first]:
            stop = start + (step - first) * sizes[first]
            yield ops.reshape(x.data[start:stop], (step - first, sizes[first], *x.data.shape[1:]))
            start, first = stop, step


def _on_host(lengths: Any) -> list[int]:
    values = lengths if isinstance(lengths, (list, tuple)) else as_raw(lengths, lengths).tolist()
    return [int(n) for n in values]
