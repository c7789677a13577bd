"""Every sample of every primitive, compiled: values, gradients and their gradients, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_steps import bits
from samples import SAMPLES
from samples.calling import call, cotangents, differentiable

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.engine import gradients

# Ops that look at the values of arrays and so run eagerly, and what the reason says.
REFUSED = {
    "expm": "int()",
    "getitem by a mask": "with a mask",
    "histogram": "histogram",
    "nonzero": "nonzero",
    "scatter_add by a mask": "with a mask",
    "set_at by a mask": "with a mask",
    "slogdet of complex numbers": "returns a complex",
    "unique_all": "unique",
}


def kind(name, sample):
    masked = getattr(getattr(sample.statics.get("index"), "dtype", None), "kind", None) == "b"
    if name == "slogdet" and sample.operands[0].dtype.kind == "c" and sample.operands[0].ndim == 2:
        return "slogdet of complex numbers"
    return f"{name} by a mask" if masked else name


def step_of(name, sample):
    """A step of the op's operands: its outputs, gradients and gradients of these."""
    backend = load_backend("numpy")
    needs = differentiable(name, sample)

    def step(*operands):
        xs = [
            ag.Variable(x, requires_grad=i in needs) if hasattr(x, "dtype") and x.ndim >= 0 else x
            for i, x in enumerate(operands)
        ]
        ys = call(name, xs, sample.statics, backend)
        results = [y.detach() for y in ys]
        pairs = [
            (y, g) for y, g in zip(ys, cotangents(ys, True, backend), strict=True) if g is not None
        ]
        if not needs or not pairs:
            return results
        ins = [xs[i] for i in needs]
        outs, seeds = ([p[k] for p in pairs] for k in (0, 1))
        first = gradients(outs, ins, seeds, create_graph=True, allow_unused=True)
        results += [g if g is None else g.detach() for g in first]
        again = [g for g in first if g is not None and g.requires_grad]
        if again:
            ones = [np.ones(g.shape, g.dtype) for g in again]
            found = gradients(again, ins, ones, allow_unused=True)
            results += found
        return results

    return step


def move(arrays):
    """Nearly the same numbers in the same memory: a recording must not have kept the first."""
    for x in arrays:
        if x.dtype.kind in "fc" and x.flags.writeable:
            x *= x.dtype.type(0.9921875)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_compiled_and_eager_are_equal_to_the_last_bit(name):
    for sample in SAMPLES[name]:
        step = step_of(name, sample)
        compiled = ag.compile(step)
        operands = [np.asarray(x) if isinstance(x, np.generic) else x for x in sample.operands]
        arrays = [x for x in operands if isinstance(x, np.ndarray)]
        before = [x.copy() for x in arrays]
        refused = REFUSED.get(kind(name, sample))
        with np.errstate(all="ignore"):
            for i in range(5):
                if i >= 2:
                    move(arrays)
                try:
                    expected = bits(step(*operands))
                except Exception as error:
                    with pytest.raises(type(error)):
                        compiled(*operands)
                    break
                assert bits(compiled(*operands)) == expected, f"{sample}, call {i}"
            else:
                if refused is None:
                    assert compiled.reason is None, f"{sample}: {compiled.reason}"
                    assert compiled.replays == 2, sample
                else:
                    assert refused in compiled.reason
        for x, old in zip(arrays, before, strict=True):
            if x.flags.writeable:
                x[...] = old


@pytest.mark.parametrize("join", [ag.concat, ag.stack])
def test_joined_arrays_keep_the_order_of_their_parts_in_memory(join):
    """In which sums go through them."""

    def step(x):
        x = ag.Variable(x)
        return ag.sum(join([x, x * 2]))

    compiled, rng = ag.compile(step), np.random.default_rng(0)
    for _ in range(30):
        x = np.asfortranarray(rng.normal(size=(16, 24)))
        assert compiled(x).item() == step(x).item()
    assert compiled.reason is None
