"""Batches of gradients and of tangents through every primitive, against one after the other."""

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import call, close, differentiable, variables

from autograd_gpu.backend import load_backend
from autograd_gpu.batched import Batched
from autograd_gpu.batching import batched
from autograd_gpu.engine import gradients
from autograd_gpu.forward import push
from autograd_gpu.graph import gradient_edge

ALL = [
    pytest.param(name, sample, id=f"{name}-{i}-{sample.label}")
    for name, samples in SAMPLES.items()
    for i, sample in enumerate(samples)
    if differentiable(name, sample)
]
NUMPY = load_backend("numpy")
SIZE = 3


def batch_for(seed, like):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.5, 1, (SIZE, *like.shape))
    if like.dtype.kind == "c":
        v = v + 1j * rng.uniform(0.5, 1, v.shape)
    return v.astype(like.dtype)


def data(x, like):
    """The arrays of a batch; what is the same for all of them is repeated."""
    x = getattr(x, "value", x)
    if x is None:
        return np.zeros((SIZE, *like.shape), like.dtype)
    x = x.data if isinstance(x, Batched) else np.broadcast_to(x, (SIZE, *x.shape))
    assert (x.shape[1:], x.dtype) == (like.shape, like.dtype)
    return np.where(np.isfinite(x), x, 0)


def stacked(rows, like):
    rows = [np.zeros(like.shape, like.dtype) if x is None else getattr(x, "value", x) for x in rows]
    return np.where(np.isfinite(rows), rows, 0)


@pytest.mark.parametrize(("name", "sample"), ALL)
def test_batches_agree_with_one_after_the_other(name, sample, record_property):
    needs = differentiable(name, sample)
    with np.errstate(all="ignore"):
        xs = variables(sample.operands, needs, NUMPY)
        ys = [y for y in call(name, xs, sample.statics, NUMPY) if y.grad_fn is not None]
        xs = [xs[i] for i in needs]

        def pull(gs):
            return gradients(ys, xs, gs, retain_graph=True, allow_unused=True)

        def forward(vs):
            seeds = {gradient_edge(x): v for x, v in zip(xs, vs, strict=True)}
            return push([y.grad_fn for y in ys], seeds, recorded=False)

        for function, inputs, outputs in ((pull, ys, xs), (forward, xs, ys)):
            batches = [batch_for(i, x) for i, x in enumerate(inputs)]
            found = function([batched(v) for v in batches])
            rows = [function([np.asarray(v[k]) for v in batches]) for k in range(SIZE)]
            for i, like in enumerate(outputs):
                close(data(found[i], like), stacked([row[i] for row in rows], like), 1e-9)
                record_property("proofs", SIZE)
