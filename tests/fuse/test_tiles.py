"""fuse on NumPy: large arrays go tile by tile, and what is smaller stays so."""

import itertools

import numpy as np
import pytest
from fused import leaf, numbers

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

LARGE = [(1_000_003,), (300_007, 3), (3, 300_007), (1009, 1021), (2, 400_003), (7, 50, 1, 3001)]


@pytest.mark.parametrize("shape", LARGE)
def test_large_arrays_go_tile_by_tile(shape):
    """Of odd sizes, in single precision, over every set of axes, and the same bits whatever the
    number of threads."""
    xp = load_backend("numpy")
    x = leaf(xp, numbers(shape), "float32")
    row = leaf(xp, numbers(shape[-1:], 1), "float32")
    n = len(shape)
    sets = [axes for k in range(1, n + 1) for axes in itertools.combinations(range(n), k)]
    before = ag.get_num_threads()
    for axes in sets:
        fused = ag.fuse(lambda x, row, axes=axes: ag.sum(ag.exp(x) * row, axis=axes))
        results = []
        try:
            for threads in (1, 3):
                ag.set_num_threads(threads)
                y = fused(x, row)
                g = ag.Variable(numbers(y.shape, 2).astype("f4"))
                results.append([y, *ag.gradients(y, [x, row], g)])
        finally:
            ag.set_num_threads(before)
        assert fused.reason is None
        for one, other in zip(*results, strict=True):
            np.testing.assert_array_equal(one.value, other.value)
        e = np.exp(x.value.astype("f8"))
        want = (e * row.value).sum(axes)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.value, want, rtol=0, atol=2e-6 * (e * 2).sum(axes).max())
        g = np.broadcast_to(np.expand_dims(g.value, axes), shape)
        np.testing.assert_allclose(results[0][1].value, g * e * row.value, atol=2e-5)
        lead = tuple(range(n - 1))
        scale = np.abs(g * e).sum(lead).max()
        np.testing.assert_allclose(results[0][2].value, (g * e).sum(lead), atol=2e-6 * scale)


def test_the_gradient_of_a_sum_is_not_spread_out(monkeypatch):
    """It comes as an array that repeats one element, and is a number for the kernel."""
    from autograd_gpu.backends import numpy_fuse

    forms = []
    plain = numpy_fuse._Kernel.__call__

    def spy(self, arrays):
        forms.append([x.shape for x in arrays])
        return plain(self, arrays)

    monkeypatch.setattr(numpy_fuse._Kernel, "__call__", spy)
    x = ag.Variable(numbers((300, 40)), requires_grad=True)
    row = ag.Variable(numbers(40), requires_grad=True)
    ag.fuse(lambda x, row: ag.exp(x) * row)(x, row).sum().backward()
    assert forms[1] == [(1, 1), (300, 40), (40,), (300, 40)]
    np.testing.assert_allclose(x.grad, np.exp(x.value) * row.value)
    np.testing.assert_allclose(row.grad, np.exp(x.value).sum(0))


def test_zeros_keep_their_sign():
    for shape in ((), (1,), (1, 1), (3,)):
        x = ag.Variable(np.zeros(shape), requires_grad=True)
        y = ag.fuse(lambda x: -x)(x)
        assert np.signbit(y.value).all()
        assert np.signbit(ag.gradients(y, x, ag.Variable(np.zeros(shape))).value).all()


def test_constants_that_look_the_same_are_not_taken_for_each_other():
    a, b = 0.123456789012, 0.123456789013
    fused = ag.fuse(lambda x: ag.sum(x * x * a - x * x * b))
    x = ag.Variable(np.full(3, 1e6), requires_grad=True)
    results = []
    for f in (fused, fused.function):
        y = f(x)
        g = ag.gradients(y, x, create_graph=True)
        results.append([y, g, ag.gradients((g * g).sum(), x)])
    assert fused.reason is None
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got.value, want.value, rtol=1e-2)
