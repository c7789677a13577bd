"""fuse: random functions have the values and derivatives that they have op by op."""

import numpy as np
from fused import close, leaf, numbers
from hypothesis import given, settings, strategies as st

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

UNARY = [
    ag.tanh,
    ag.sin,
    ag.square,
    ag.negative,
    lambda x: ag.exp(-x * x),
    lambda x: ag.where(x > 0.2, x, 0.3 * x),
    lambda x: ag.clip(x, -0.7, 0.9),
    lambda x: 1 / (2 + ag.cos(x)),
    lambda x: 0.5 * x + 1,
    lambda x: ag.log1p(ag.abs(x)),
]
BINARY = [
    ag.add,
    ag.subtract,
    ag.multiply,
    ag.maximum,
    ag.logaddexp,
    lambda x, y: x / (2 + ag.abs(y)),
    lambda x, y: ag.where(x > y, 2 * x, y),
]
SHAPES = [(3, 4, 5), (4, 5), (5,), (4, 1), (1, 4, 1), (3, 1, 5), (), (1,)]


@st.composite
def functions(draw):
    """A function of arrays of these shapes, the first of which is that of all together."""
    shapes = [SHAPES[0], *draw(st.lists(st.sampled_from(SHAPES), max_size=3))]
    steps = draw(
        st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)), max_size=6)
    )
    axes = draw(st.sampled_from(["none", None, 0, 1, -1, (0, 1), (1, 2), (0, 2)]))
    keepdims, mean = draw(st.booleans()), draw(st.booleans())

    def function(*arrays):
        values = list(arrays)
        for kind, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            if kind % 2:
                values.append(UNARY[kind // 2 % len(UNARY)](x))
            else:
                values.append(BINARY[kind // 2 % len(BINARY)](x, y))
        total = values[-1]
        for x in arrays:
            total = total + 0.3 * x
        if axes == "none":
            return total
        reduce = ag.mean if mean else ag.sum
        return 2 - 0.5 * reduce(total * arrays[0], axis=axes, keepdims=keepdims)

    return function, shapes


@given(functions(), st.integers(0, 9))
@settings(max_examples=150, deadline=None)
def test_values_and_derivatives(function_and_shapes, seed):
    function, shapes = function_and_shapes
    fused, xp = ag.fuse(function), load_backend("numpy")
    arguments = [leaf(xp, numbers(shape, seed + i)) for i, shape in enumerate(shapes)]
    results = []
    for f in (fused, function):
        y = f(*arguments)
        g = ag.Variable(np.asarray(numbers(y.shape, 99)))
        first = ag.gradients(y, arguments, g, create_graph=True)
        total = sum((x * x * a).sum() for x, a in zip(first, arguments, strict=True))
        second = ag.gradients(total, arguments)
        results.append([y, *first, *second])
    assert fused.reason is None
    for got, want in zip(*results, strict=True):
        close(got, want)
