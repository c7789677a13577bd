"""Connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from autograd_gpu import ops
from autograd_gpu.backend import backend_of
from autograd_gpu.nn.functional.arguments import backend_near, raw
from autograd_gpu.nn.functional.losses import check_reduction
from autograd_gpu.ops.ctc import FAR
from autograd_gpu.variable import Variable


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Variable:
    """-log of the probability that a sequence spells its target, over all alignments.

    Parameters
    ----------
    log_probs
        [T, N, C], or [T, C] for one sequence: log-probabilities of the classes at each step.
    targets
        Labels [N, S], or those of all sequences one after the other; none is `blank`.
    input_lengths, target_lengths
        How many steps and labels of each sequence count.  They are read on the host, so pass lists
        or NumPy arrays unless a wait for the device does not matter.
    reduction
        'mean' divides each loss by the target's length first.
    zero_infinity
        Whether sequences too short for their target give 0, and not infinity.

    >>> float(round(ctc_loss(log_softmax(zeros((3, 1, 2))), [[1]], [3], [1]), 5).item())
    0.28768...
    """
    op = "ctc_loss"
    check_reduction(op, reduction)
    log_probs = ops.asarray(log_probs)
    if log_probs.ndim == 2:
        loss = ctc_loss(
            log_probs[:, None], [_numbers(targets)], _list(input_lengths), _list(target_lengths),
            blank, "none" if reduction == "none" else reduction, zero_infinity,
        )  # fmt: skip
        return loss[0] if reduction == "none" else loss
    if log_probs.ndim != 3:
        raise ValueError(f"{op}: log_probs {list(log_probs.shape)} must be [T, N, C] or [T, C]")
    t, n, classes = log_probs.shape
    steps, sizes = _list(input_lengths), _list(target_lengths)
    if len(steps) != n or len(sizes) != n:
        raise ValueError(f"{op}: {len(steps)} and {len(sizes)} lengths for {n} sequences")
    if any(not 1 <= k <= t for k in steps):
        raise ValueError(f"{op}: input_lengths {steps} must be within 1 and {t} steps")
    if not 0 <= blank < classes:
        raise ValueError(f"{op}: blank {blank} is outside [0, {classes})")
    rows = _rows(op, _numbers(targets), sizes, n)
    for row in rows:
        for label in row:
            if not 0 <= label < classes or label == blank:
                raise ValueError(
                    f"{op}: label {label} is outside [0, {classes}) or the blank, {blank}"
                )
    lattice = _lattice(rows, blank)
    asarray = backend_near(log_probs).asarray
    work = ops.astype(log_probs, "float32") if log_probs.dtype.itemsize == 2 else log_probs
    labels, *numbers = lattice
    loss = ops.ctc(
        work, asarray(labels), *(asarray(x, work.dtype) for x in numbers), asarray(steps)
    )
    too_short = loss.value > -FAR / 2
    loss = ops.where(too_short, 0.0 if zero_infinity else float("inf"), loss)
    if loss.dtype != log_probs.dtype:
        loss = ops.astype(loss, log_probs.dtype)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return ops.sum_(loss)
    return ops.mean(loss / asarray([max(1, k) for k in sizes], loss.dtype))


def _lattice(rows: list[list[int]], blank: int) -> tuple[list[Any], ...]:
    """labels, jumps, starts and ends [N, states] of `ops.ctc`, as lists."""
    states = 2 * max(map(len, rows)) + 1
    states = max(states, 2)
    labels, jumps, starts, ends = [], [], [], []
    for row in rows:
        path = [blank] * states
        path[1 : 2 * len(row) : 2] = row
        last = 2 * len(row)
        labels.append(path)
        jumps.append(
            [
                0.0 if s % 2 and s > 1 and s < last and path[s] != path[s - 2] else FAR
                for s in range(states)
            ]
        )
        starts.append([0.0 if s == 0 or (s == 1 and row) else FAR for s in range(states)])
        ends.append([0.0 if s in (last, last - 1) else FAR for s in range(states)])
    return labels, jumps, starts, ends


def _rows(op: str, targets: list[Any], sizes: list[int], n: int) -> list[list[int]]:
    if targets and isinstance(targets[0], list):
        if len(targets) != n or any(k > len(row) for row, k in zip(targets, sizes, strict=True)):
            raise ValueError(f"{op}: target_lengths {sizes} do not fit the targets")
        return [row[:k] for row, k in zip(targets, sizes, strict=True)]
    if len(targets) != sum(sizes):
        raise ValueError(f"{op}: {len(targets)} labels for target_lengths {sizes}")
    rows, start = [], 0
    for k in sizes:
        rows.append(targets[start : start + k])
        start += k
    return rows


def _numbers(x: Any) -> list[Any]:
    """Labels as a list, or a list of lists."""
    x = raw(x)
    if hasattr(x, "dtype"):
        if x.dtype.kind not in "iu":
            raise TypeError(f"ctc_loss: labels and lengths are integers, not {x.dtype}")
        x = backend_of(x).to_host(x).tolist()
    return list(x)


def _list(x: Any) -> list[int]:
    if isinstance(x, int):
        return [x]
    x = raw(x)
    return [_numbers(x.reshape(-1))[0]] if getattr(x, "shape", None) == () else _numbers(x)
