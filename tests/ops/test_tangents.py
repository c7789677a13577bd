"""Forward mode of every primitive on its samples, against its derivatives in reverse."""

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import call, close, differentiable, in_dtype, variables

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
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


def recorded(name, sample, operands):
    """The outputs that have derivatives, and the operands that they depend on."""
    needs = differentiable(name, sample)
    xs = variables(operands, needs, NUMPY)
    ys = [y for y in call(name, xs, sample.statics, NUMPY) if y.grad_fn is not None]
    return ys, [xs[i] for i in needs]


def drawn(seed, arrays):
    """Something of the shape and dtype of each."""
    rng = np.random.default_rng(seed)
    made = []
    for x in arrays:
        v = rng.uniform(0.5, 1, x.shape)
        if x.dtype.kind == "c":
            v = v + 1j * rng.uniform(0.5, 1, x.shape)
        made.append(np.asarray(v, dtype=x.dtype))
    return made


def by_two_pulls(ys, xs, vs):
    """The product with the Jacobian from the right, by gradients of gradients alone."""
    arrived = [ag.Variable(np.zeros(y.shape, y.dtype), requires_grad=True) for y in ys]
    pulled = gradients(ys, xs, arrived, create_graph=True, allow_unused=True)
    pairs = [(g, v) for g, v in zip(pulled, vs, strict=True) if g is not None and g.requires_grad]
    if not pairs:
        return [None] * len(ys)
    return gradients(
        [g for g, _ in pairs], arrived, [v for _, v in pairs], create_graph=True, allow_unused=True
    )


def value(x, like):
    x = np.zeros(like.shape, like.dtype) if x is None else getattr(x, "value", x)
    return np.where(np.isfinite(x), x, 0)


@pytest.mark.parametrize(("name", "sample"), ALL)
def test_tangents_agree_with_gradients(name, sample, record_property):
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-4)):
        operands = in_dtype(sample, dtype)
        if operands is None or (dtype == "float32" and not sample.check):
            continue
        with np.errstate(all="ignore"):
            ys, xs = recorded(name, sample, operands)
            vs = drawn(1, xs)
            expected = by_two_pulls(ys, xs, vs)
            seeds = {gradient_edge(x): v for x, v in zip(xs, vs, strict=True)}
            found = push([y.grad_fn for y in ys], seeds, recorded=False)
        for y, t, reference in zip(ys, found, expected, strict=True):
            if t is not None:
                assert type(t) is np.ndarray
                assert (t.shape, t.dtype) == (y.shape, y.dtype)
            close(value(t, y), value(reference, y), tolerance)
            record_property("proofs", 1)


@pytest.mark.parametrize(
    ("name", "sample"), [p for p in ALL if p.values[1].second and p.values[1].check]
)
def test_tangents_can_be_differentiated(name, sample, record_property):
    ys, xs = recorded(name, sample, sample.operands)
    vs = drawn(1, xs)
    reference = by_two_pulls(ys, xs, vs)
    seeds = {gradient_edge(x): ag.Variable(v) for x, v in zip(xs, vs, strict=True)}
    found = push([y.grad_fn for y in ys], seeds, recorded=True)
    weights = drawn(2, ys)

    def second(tangents):
        pairs = [
            (t, w)
            for t, w in zip(tangents, weights, strict=True)
            if t is not None and t.requires_grad
        ]
        if not pairs:
            return [None] * len(xs)
        outputs, given = zip(*pairs, strict=True)
        return gradients(outputs, xs, given, retain_graph=True, allow_unused=True)

    for x, a, b in zip(xs, second(found), second(reference), strict=True):
        close(value(a, x), value(b, x), 1e-8)
        record_property("proofs", 1)
