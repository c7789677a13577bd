"""Linear layers, norms, embeddings and attention as functions, against PyTorch's."""

import numpy as np
import pytest
from parity import compare, normal, torch

import autograd_gpu as ag
import autograd_gpu.nn.functional as F

TF = torch.nn.functional


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (0, 5)])
def test_linear(shape):
    compare(
        F.linear, TF.linear, normal(*shape), normal(4, 5), normal(4), order=2 * (0 not in shape)
    )
    compare(F.linear, TF.linear, normal(*shape), normal(4, 5), order=0)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("given", ["", "w", "wb", "b"])
def test_layer_norm(axes, given):
    shape = (2, 3, 5)[3 - axes :]
    operands = [normal(*shape) for _ in given]

    def run(function):
        def call(x, *rest):
            named = dict(zip(given, rest, strict=True))
            return function(x, shape, named.get("w"), named.get("b"), 1e-3)

        return call

    compare(run(F.layer_norm), run(TF.layer_norm), normal(2, 3, 5), *operands)


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 5), (2, 4, 3, 2), (0, 4, 5), (2, 4, 33, 33)])
@pytest.mark.parametrize("given", ["", "w", "wb"])
def test_group_norm(shape, given):
    compare(
        lambda x, *affine: F.group_norm(x, 2, *affine),
        lambda x, *affine: TF.group_norm(x, 2, *affine),
        normal(*shape), *(normal(4) for _ in given),
        order=2 * (0 not in shape),
    )  # fmt: skip


def test_rms_norm():
    compare(
        lambda x, w: F.rms_norm(x, (5,), w),
        lambda x, w: TF.rms_norm(x, (5,), w),
        normal(3, 5), normal(5),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 2, 4)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training):
    mean, var = np.linspace(-1, 1, 3), np.linspace(1, 2, 3)
    compare(
        lambda x, w, b: F.batch_norm(x, mean.copy(), var.copy(), w, b, training),
        lambda x, w, b: TF.batch_norm(
            x, torch.tensor(mean), torch.tensor(var), w, b, training
        ),
        normal(*shape), normal(3), normal(3),
    )  # fmt: skip
    moved = mean.copy(), var.copy()
    expected = torch.tensor(mean), torch.tensor(var)
    F.batch_norm(ag.Variable(normal(*shape)), *moved, training=training, momentum=0.3)
    TF.batch_norm(torch.tensor(normal(*shape)), *expected, training=training, momentum=0.3)
    for ours, theirs in zip(moved, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_embedding(padding_idx):
    indices = np.array([[1, 2, 2], [0, 1, 4]])
    compare(
        lambda w: F.embedding(indices, w, padding_idx),
        lambda w: TF.embedding(torch.tensor(indices), w, padding_idx),
        normal(5, 2),
        order=0,
    )


MASKS = {
    "none": None,
    "bool": np.tril(np.ones((4, 4), bool), 1),
    "numbers": normal(2, 1, 4, 4),
    "minus infinity": np.where(np.tril(np.ones((4, 4), bool)), 0.0, -np.inf),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(mask, is_causal):
    if mask != "none" and is_causal:
        pytest.skip("PyTorch does not take both")
    m = MASKS[mask]
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, m, is_causal=is_causal),
        lambda q, k, v: TF.scaled_dot_product_attention(
            q, k, v, None if m is None else torch.tensor(m), is_causal=is_causal
        ),
        normal(2, 3, 4, 5), normal(2, 3, 4, 5) + 1, normal(2, 3, 4, 6),
    )  # fmt: skip
