"""Products with a Jacobian, from the right and in batches, against plain reverse passes."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd_gpu as ag
from autograd_gpu.batched import Batched
from autograd_gpu.batching import batched
from autograd_gpu.engine import gradients
from autograd_gpu.forward import push
from autograd_gpu.graph import gradient_edge
from samples.calling import close

BATCH = 3


def drawn(seed: int, like: Any, *lead: int) -> Any:
    """Numbers of the dtype of `like`, and of its shape after `lead`."""
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.5, 1, (*lead, *like.shape))
    if like.dtype.kind == "c":
        v = v + 1j * rng.uniform(0.5, 1, v.shape)
    return v.astype(like.dtype)


def finite(x: Any, like: Any, *lead: int) -> Any:
    """An array, the same on every backend: zeros for None, and 0 for what is not finite."""
    x = np.zeros((*lead, *like.shape), like.dtype) if x is None else ag.Variable(x).numpy()
    return np.where(np.isfinite(x), x, 0)


def raw(x: Any) -> Any:
    return getattr(x, "value", x)


def two_pulls(ys: Any, xs: Any, vs: Any) -> list[Any]:
    """The tangents of `ys` along `vs`, by gradients of gradients."""
    arrived = [ag.zeros_like(y) for y in ys]
    for x in arrived:
        x.requires_grad = True
    pulled = gradients(ys, xs, arrived, create_graph=True, allow_unused=True)
    pairs = [(g, v) for g, v in zip(pulled, vs, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [None] * len(ys)
    outputs, given = zip(*pairs, strict=True)
    return gradients(outputs, arrived, given, create_graph=True, allow_unused=True)


def forward(ys: Any, xs: Any, vs: Any, recorded: bool = False) -> list[Any]:
    seeds = {gradient_edge(x): v for x, v in zip(xs, vs, strict=True)}
    return push([y.grad_fn for y in ys], seeds, recorded=recorded)


def check_tangents(ys: Any, xs: Any, backend: Any, tolerance: float = 1e-9) -> int:
    """Forward mode agrees with the reverse mode; how many products were compared."""
    vs = [backend.from_host(drawn(i, x)) for i, x in enumerate(xs)]
    found = forward(ys, xs, vs)
    for y, t, expected in zip(ys, found, two_pulls(ys, xs, vs), strict=True):
        if t is not None:
            assert type(t) is backend.array_type
            assert (t.shape, t.dtype) == (y.shape, y.dtype)
        close(finite(t, y), finite(raw(expected), y), tolerance)
    return len(ys)


def check_second_order(ys: Any, xs: Any, backend: Any) -> int:
    """Tangents can be differentiated in reverse."""
    vs = [ag.Variable(backend.from_host(drawn(i, x))) for i, x in enumerate(xs)]
    weights = [backend.from_host(drawn(9 + i, y)) for i, y in enumerate(ys)]

    def second(tangents: Any) -> list[Any]:
        pairs = [
            (t, w)
            for t, w in zip(tangents, weights, strict=True)
            if t is not None and t.requires_grad
        ]
        if not pairs:
            return [None] * len(xs)
        outputs, given = zip(*pairs, strict=True)
        return gradients(outputs, xs, given, retain_graph=True, allow_unused=True)

    found, expected = second(forward(ys, xs, vs, True)), second(two_pulls(ys, xs, vs))
    for x, a, b in zip(xs, found, expected, strict=True):
        close(finite(raw(a), x), finite(raw(b), x), 1e-8)
    return len(xs)


def check_batches(ys: Any, xs: Any, backend: Any) -> int:
    """Batches of gradients and of tangents agree with one after the other."""

    def pull(gs: Any) -> list[Any]:
        return gradients(ys, xs, gs, retain_graph=True, allow_unused=True)

    for function, inputs, outputs in (
        (pull, ys, xs),
        (lambda vs: forward(ys, xs, vs), xs, ys),
    ):
        given = [backend.from_host(drawn(i, x, BATCH)) for i, x in enumerate(inputs)]
        found = function([batched(v) for v in given])
        rows = [function([backend.asarray(v[k]).copy() for v in given]) for k in range(BATCH)]
        for i, like in enumerate(outputs):
            batch = raw(found[i])
            if isinstance(batch, Batched):
                assert (batch.shape, batch.dtype) == (like.shape, like.dtype)
                batch = batch.data
            expected = np.stack([finite(raw(row[i]), like) for row in rows])
            close(np.broadcast_to(finite(batch, like, BATCH), expected.shape), expected, 1e-9)
    return BATCH * (len(xs) + len(ys))
