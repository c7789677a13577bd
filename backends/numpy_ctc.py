"""The sums over alignments of connectionist temporal classification, for NumPy.

A step of the recursion adds up three neighbouring states.  They are three views of one padded row,
so that one exponential does for all; np.logaddexp, twice for each step, takes ten times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FAR = -1e30
"""The logarithm of 0, as `ops.ctc` has it."""


class _Sum:
    """Adds up what leads to each state: itself, its neighbour, and by a jump the one beyond.

    `states` [N, states] are to be written before each call.
    """

    def __init__(self, jumps: Array, *, ahead: bool) -> None:
        n, count = jumps.shape
        row = np.full((n, count + 2), FAR, jumps.dtype)  # nothing comes from outside
        self.states = row[:, :count] if ahead else row[:, 2:]
        shape, (down, right) = (3, n, count), row.strides
        self.three = np.lib.stride_tricks.as_strided(row, shape, (right, down, right))
        self.added = np.zeros(shape, jumps.dtype)
        self.added[2 if ahead else 0] = jumps
        self.parts = np.empty(shape, jumps.dtype)
        self.top = np.empty((n, count), jumps.dtype)

    def __call__(self, out: Array) -> None:
        parts, top = self.parts, self.top
        np.add(self.three, self.added, parts)
        np.maximum.reduce(parts, 0, None, top)
        np.subtract(parts, top, parts)
        np.exp(parts, parts)
        np.add.reduce(parts, 0, None, out)
        np.log(out, out)
        np.add(out, top, out)


def alignments(
    log_probs: Array,
    labels: Array,
    jumps: Array,
    starts: Array,
    ends: Array,
    lengths: Array,
) -> tuple[Array, Any]:
    """The log-probabilities of the targets [N], and what `alignment_gradient` gets as `kept`: those
    of what each state emits, and of having got there."""
    if not _knows(log_probs, jumps):
        return NotImplemented
    emitted = np.take_along_axis(log_probs, labels[None], 2)
    alphas = np.empty_like(emitted)
    np.add(starts, emitted[0], alphas[0])
    add_up = _Sum(jumps, ahead=False)
    for before, now, given in zip(alphas[:-1], alphas[1:], emitted[1:], strict=True):
        add_up.states[...] = before
        add_up(now)
        np.add(now, given, now)
    last = alphas[lengths - 1, np.arange(len(lengths))] + ends
    top = last.max(1, keepdims=True)
    total = np.log(np.exp(last - top).sum(1)) + top[:, 0]
    return total, (emitted, alphas, total)


def alignment_gradient(
    g: Array,
    log_probs: Array,
    labels: Array,
    jumps: Array,
    starts: Array,
    ends: Array,
    lengths: Array,
    kept: Any,
) -> Any:
    """The gradient of the log-probabilities that `alignments` returns, for `log_probs`."""
    if not _knows(log_probs, jumps):
        return NotImplemented
    emitted, alphas, total = kept
    steps, _, classes = log_probs.shape
    ahead = np.full_like(jumps, FAR)
    ahead[:, :-2] = jumps[:, 2:]
    add_up = _Sum(ahead, ahead=True)
    ending = {int(t): np.flatnonzero(lengths == t) for t in lengths}
    shares = np.empty_like(alphas)
    rest = np.full_like(starts, FAR)  # the log-probability of what follows each state
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            np.add(rest, emitted[t + 1], add_up.states)
            add_up(rest)
        if t + 1 in ending:
            rows = ending[t + 1]
            rest[rows] = ends[rows]
        np.add(alphas[t], rest, shares[t])
    np.subtract(shares, total[:, None], shares)
    np.minimum(shares, 0, out=shares)
    np.exp(shares, shares)
    np.multiply(shares, g[:, None], shares)
    # to the classes: a product for each sequence, with ones where a state emits a class
    emits = (labels[..., None] == np.arange(classes)).astype(log_probs.dtype)
    out = np.empty_like(log_probs)
    np.matmul(shares.swapaxes(0, 1), emits, out.swapaxes(0, 1))
    return out


def _knows(log_probs: Array, jumps: Array) -> bool:
    dtype = log_probs.dtype
    return dtype.kind == "f" and dtype.itemsize > 2 and jumps.dtype == dtype
