"""Connectionist temporal classification (Graves et al., 2006) as one op.

All alignments of a target of S labels form a lattice of 2 S + 1 states: blanks between labels.
`labels` says what each state emits, `jumps` is 0 where a state can be reached from the last but
one and FAR elsewhere.  Logarithms of 0 are FAR, a number, so that no difference of infinities
arises; sums of a few thousand of them stay within float32.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.kernels import kernel
from autograd_gpu.primitive import primitive

FAR = -1e30


def _emitted(xp: Namespace, log_probs: Any, labels: Any) -> Any:
    """[T, N, states]: the log-probability of what each state emits."""
    t, n, _ = log_probs.shape
    steps = xp.reshape(xp.arange(t), (t, 1, 1))
    rows = xp.reshape(xp.arange(n), (1, n, 1))
    return log_probs[steps, rows, labels[None]]


def _three(xp: Namespace, a: Any, b: Any, c: Any) -> Any:
    return xp.logaddexp(xp.logaddexp(a, b), c)


def _shifted(xp: Namespace, a: Any, by: int, wall: Any) -> Any:
    """`a` [N, states] moved up by `by` states, or down; FAR comes in."""
    if by > 0:
        return xp.concat([wall[:, :by], a[:, :-by]], axis=1)
    return xp.concat([a[:, -by:], wall[:, :-by]], axis=1)


def _forward(xp: Namespace, emitted: Any, jumps: Any, starts: Any, wall: Any) -> list[Any]:
    """For each step, the log-probability [N, states] of having got to each state."""
    alpha = starts + emitted[0]
    alphas = [alpha]
    for t in range(1, emitted.shape[0]):
        before = _shifted(xp, alpha, 1, wall)
        jumped = _shifted(xp, alpha, 2, wall) + jumps
        alpha = _three(xp, alpha, before, jumped) + emitted[t]
        alphas.append(alpha)
    return alphas


def _total(xp: Namespace, alphas: list[Any], lengths: Any, ends: Any) -> Any:
    """[N]: the log-probability of the target, from the states where an alignment can end."""
    last = xp.stack(alphas)[lengths - 1, xp.arange(lengths.shape[0])] + ends
    top = xp.max(last, axis=1, keepdims=True)
    return xp.log(xp.sum(xp.exp(last - top), axis=1)) + top[:, 0]


@kernel
def alignments(
    xp: Namespace, log_probs: Any, labels: Any, jumps: Any, starts: Any, ends: Any, lengths: Any
) -> tuple[Any, Any]:
    """The log-probabilities of the targets [N], and what `alignment_gradient` gets as `kept`."""
    wall = xp.full_like(starts[:, :2], FAR)
    alphas = _forward(xp, _emitted(xp, log_probs, labels), jumps, starts, wall)
    total = _total(xp, alphas, lengths, ends)
    return total, (alphas, total)


@kernel
def alignment_gradient(
    xp: Namespace,
    g: Any,
    log_probs: Any,
    labels: Any,
    jumps: Any,
    starts: Any,
    ends: Any,
    lengths: Any,
    kept: Any,
) -> Any:
    """The gradient of the log-probabilities that `alignments` returns, for `log_probs`."""
    t, n, _ = log_probs.shape
    wall = xp.full_like(starts[:, :2], FAR)
    emitted = _emitted(xp, log_probs, labels)
    if kept is None:
        alphas = _forward(xp, emitted, jumps, starts, wall)
        total = _total(xp, alphas, lengths, ends)
    else:
        alphas, total = kept
    # the log-probability of the rest, given each state
    beta = xp.full_like(starts, FAR)
    up = xp.concat([jumps[:, 2:], wall], axis=1)
    parts = []
    for step in range(t - 1, -1, -1):
        if step < t - 1:
            ahead = beta + emitted[step + 1]
            beta = _three(
                xp, ahead, _shifted(xp, ahead, -1, wall), _shifted(xp, ahead, -2, wall) + up
            )
        beta = xp.where((lengths == step + 1)[:, None], ends, beta)
        passed = (step < lengths)[:, None]
        log_share = xp.where(passed, alphas[step] + beta - total[:, None], FAR)
        parts.append(xp.exp(xp.minimum(log_share, 0)) * g[:, None])
    steps = xp.reshape(xp.arange(t), (t, 1, 1))
    rows = xp.reshape(xp.arange(n), (1, n, 1))
    shares = xp.stack(parts[::-1])
    index = (*xp.broadcast_arrays(steps, rows, labels[None]),)
    return xp.scatter_add(shares, index, tuple(log_probs.shape))


def _log_probs(
    xp: Namespace,
    g: Any,
    log_probs: Any,
    labels: Any,
    jumps: Any,
    starts: Any,
    ends: Any,
    lengths: Any,
    aux: Any,
) -> Any:
    return alignment_gradient(xp, -g, log_probs, labels, jumps, starts, ends, lengths, aux)


@primitive(aux=True, log_probs=_log_probs)
def ctc(
    xp: Namespace,
    log_probs: Array,
    labels: Array,
    jumps: Array,
    starts: Array,
    ends: Array,
    lengths: Array,
) -> tuple[Array, Any]:
    """-log(probability of the targets) [N] for log-probabilities [T, N, C].

    labels, jumps, starts, ends [N, states]; lengths [N], how many steps of each sequence count.
    """
    total, kept = alignments(xp, log_probs, labels, jumps, starts, ends, lengths)
    return -total, kept
