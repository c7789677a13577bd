"""What a product and its backward ask of cuBLAS: two calls of gemm for two gradients, no copies."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="no GPU and not run with --cupy-on-cpu"
)


def leaf(*shape, dtype="f4"):
    rng = np.random.default_rng(sum(shape))
    x = rng.uniform(-1, 1, shape)
    return ag.Variable(load_backend("cupy").from_host(x.astype(dtype)), requires_grad=True)


def same(x):
    return x


# Leaves and what is multiplied of them: (shape, view), twice.
LAYOUTS = {
    "matrices": ((5, 3), same, (3, 4), same),
    "transposed left": ((3, 5), lambda x: x.T, (3, 4), same),
    "transposed right": ((5, 3), same, (4, 3), lambda x: x.T),
    "transposed both": ((3, 5), lambda x: x.T, (4, 3), lambda x: x.T),
    "columns of a wider matrix": ((5, 8), lambda x: x[:, 2:5], (3, 9), lambda x: x[:, :4]),
    "rows apart": ((10, 3), lambda x: x[::2], (6, 4), lambda x: x[::2]),
    "a batch": ((2, 5, 3), same, (2, 3, 4), same),
    "two batch axes": ((2, 3, 5, 3), same, (2, 3, 3, 4), same),
    "a batch, transposed": (
        (2, 3, 5),
        lambda x: x.swapaxes(1, 2),
        (2, 4, 3),
        lambda x: x.swapaxes(1, 2),
    ),
    "a batch on the left": ((2, 5, 3), same, (3, 4), same),
    "two batch axes on the left": ((2, 6, 5, 3), same, (3, 4), same),
    "a batch on the left, weight transposed": ((2, 5, 3), same, (4, 3), lambda x: x.T),
    "every other of a batch": ((4, 5, 3), lambda x: x[::2], (2, 3, 4), same),
}


TRANSPOSED = {
    "transposed left": 1,
    "transposed right": 1,
    "transposed both": 2,
    "a batch, transposed": 2,
    "a batch on the left, weight transposed": 1,
}


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "c8"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_backward_is_two_products(name, dtype, counting):
    shape, view, other, second_view = LAYOUTS[name]
    x, y = leaf(*shape, dtype=dtype), leaf(*other, dtype=dtype)
    a, b = view(x).detach(), second_view(y).detach()
    a.requires_grad = b.requires_grad = True
    with counting() as forward:
        z = a @ b
    assert (len(forward.blas), forward.launches, forward.copies) == (1, 0, [])
    seed = load_backend("cupy").xp.ones_like(z.value)
    with counting() as backward:
        ag.gradients(z, [a, b], seed)
    # cuBLAS takes the conjugate of what it transposes; a factor that came transposed, and is not
    # any more, is conjugated by a kernel.
    conjugations = TRANSPOSED.get(name, 0) if dtype == "c8" else 0
    assert (len(backward.blas), backward.launches) == (2, conjugations), str(backward)
    assert (backward.copies, backward.waits) == ([], 0)


@pytest.fixture
def counting():
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    return counting


def test_attention_from_its_storage_copies_nothing(counting):
    # [B, T, H, D] as the projections leave it; no stride leads through both B and H, which takes a
    # call for each of the B
    b, t, h, d = 2, 8, 3, 4
    q, k, v = (leaf(b, t, h, d) for _ in range(3))
    heads = [x.swapaxes(1, 2).detach() for x in (q, k, v)]
    for x in heads:
        x.requires_grad = True
    with counting() as forward:
        scores = heads[0] @ heads[1].swapaxes(2, 3)
        out = ag.softmax(scores, axis=-1) @ heads[2]
    assert [c.name for c in forward.blas] == ["gemmStridedBatchedEx"] * 2 * b
    assert {c.batchCount for c in forward.blas} == {h}
    assert forward.copies == []
    assert not [name for name in forward.kernels if "copy" in name], str(forward)
    seed = load_backend("cupy").xp.ones_like(out.value)
    with counting() as backward:
        ag.gradients(out, heads, seed)
    assert backward.copies == []
    # the gradient of k comes about transposed, a view, and what is handed out is none
    assert len([name for name in backward.kernels if "copy" in name]) == 1, str(backward)
    assert sum(c.batchCount for c in backward.blas) == 4 * b * h


def test_attention_is_numpys():
    found = {}
    host = [np.random.default_rng(i).standard_normal((2, 8, 3, 4)) for i in range(3)]
    for name in ("numpy", "cupy"):
        xs = [ag.Variable(load_backend(name).from_host(x), requires_grad=True) for x in host]
        y = F.scaled_dot_product_attention(*[x.swapaxes(1, 2) for x in xs], is_causal=True)
        ag.sum(y * y).backward()
        found[name] = [y.numpy(), *(load_backend(name).to_host(x.grad) for x in xs)]
    for mine, other in zip(found["cupy"], found["numpy"], strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
