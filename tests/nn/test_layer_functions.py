"""Linear layers, norms, embeddings, attention and dropout as functions."""

import numpy as np
import pytest
from operands import normal, on

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu.backend import load_backend


def test_linear_folds_and_names_shapes(backend):
    x, w, b = normal(2, 3, 4), normal(5, 4), normal(5)
    y = F.linear(on(backend, x), on(backend, w), on(backend, b))
    np.testing.assert_allclose(y.numpy(), x @ w.T + b, rtol=1e-12)
    with pytest.raises(ValueError, match=r"x \[2, 3\] must be .* weight \[5, 4\]"):
        F.linear(np.ones((2, 3)), w)
    with pytest.raises(ValueError, match=r"bias \[4\] must be \[5\]"):
        F.linear(x, w, np.ones(4))


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_norm(backend, shape, dtype):
    x, w, b = (a.astype(dtype) for a in (3 + normal(*shape), normal(3, 5), normal(3, 5)))
    operands = [on(backend, a, True) for a in (x, w, b)]
    y = F.layer_norm(operands[0], (3, 5), *operands[1:])
    mean = x.mean((-2, -1), keepdims=True)
    std = np.sqrt(x.var((-2, -1), keepdims=True) + 1e-5)
    tolerance = 1e-5 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(y.numpy(), (x - mean) / std * w + b, tolerance, tolerance)
    assert y.dtype == dtype
    ag.sum(y**2).backward()
    assert all(v.grad.dtype == dtype and v.grad.shape == v.shape for v in operands)


def test_rms_norm_of_half_precision(backend):
    x, w, g = 300 * normal(3, 5), normal(5), normal(3, 5)  # whose squares float16 can't hold
    results = []
    for dtype in ("float16", "float64"):
        operands = [on(backend, a.astype("float16").astype(dtype), True) for a in (x, w)]
        y = F.rms_norm(operands[0], 5, operands[1], eps=1e-5)
        ag.sum(y * on(backend, g.astype(dtype))).backward()
        assert y.dtype == operands[0].grad.dtype == operands[1].grad.dtype == dtype
        results.append([ag.Variable(v).numpy() for v in (y.value, *(v.grad for v in operands))])
    for half, want in zip(*results, strict=True):
        np.testing.assert_allclose(half, want, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("norm", ["layer", "rms", "group", "instance"])
@pytest.mark.filterwarnings("error")
def test_norms_of_nothing(backend, norm):
    shape = (0, 4, 5) if norm == "instance" else (2, 4, 0)
    n = 0 if norm in ("layer", "rms") else 4
    x, w, b = (on(backend, np.ones(s, "f4"), True) for s in (shape, (n,), (n,)))
    if norm == "layer":
        y = F.layer_norm(x, 0, w, b)
    elif norm == "rms":
        y = F.rms_norm(x, 0, w) + b
    elif norm == "group":
        y = F.group_norm(x, 2, w, b)
    else:
        y = F.instance_norm(x, weight=w, bias=b)
    assert (y.shape, y.dtype) == (shape, x.dtype)
    ag.sum(y).backward()
    assert x.grad.shape == shape
    assert all(ag.Variable(v.grad).tolist() == [0] * n for v in (w, b))


def test_layer_norm_in_blocks_and_of_half_precision():
    x, w, b, g = normal(5000, 64), normal(64), normal(64), normal(5000, 64)

    def gradients(x, w, b, g):
        vs = [ag.Variable(a, True) for a in (x, w, b)]
        y = F.layer_norm(vs[0], 64, *vs[1:])
        y.backward(g)
        return [y.value, *(v.grad for v in vs)]

    whole = gradients(x, w, b, g)
    halves = [gradients(x[i::2], w, b, g[i::2]) for i in range(2)]
    np.testing.assert_allclose(whole[0][::2], halves[0][0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[1][1::2], halves[1][1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[2], halves[0][2] + halves[1][2], rtol=1e-9)
    for half, exact in zip(gradients(*(a.astype("float16") for a in (x, w, b, g))), whole,
                           strict=True):  # fmt: skip
        assert half.dtype == np.float16
        np.testing.assert_allclose(half, exact, rtol=0.05, atol=0.3)


def test_layer_norm_derivatives():
    arrays = [normal(3, 2, 4), normal(2, 4), normal(2, 4)]
    assert ag.grad_check(lambda x, w, b: F.layer_norm(x, (2, 4), w, b), arrays, order=2)
    assert ag.grad_check(lambda x: F.layer_norm(x, 4), [normal(3, 4)], order=2)


def test_embedding(backend):
    weight = on(backend, normal(5, 3), True)
    y = F.embedding([[1, 4], [1, 1]], weight, padding_idx=4)
    np.testing.assert_array_equal(y.numpy(), normal(5, 3)[[[1, 4], [1, 1]]])
    ag.sum(y).backward()
    expected = np.zeros((5, 3))
    expected[1] = 3
    np.testing.assert_array_equal(ag.Variable(weight.grad).numpy(), expected)


def test_embedding_refuses_what_is_out_of_range():
    for bad in (5, -1):
        with pytest.raises(IndexError, match=r"outside \[0, 5\)"):
            F.embedding([0, bad], normal(5, 3))
    with pytest.raises(TypeError, match="indices are integers"):
        F.embedding([0.5], normal(5, 3))


def test_fully_masked_rows_of_attention_are_zero(backend):
    q, k, v = (on(backend, normal(2, n, 4), True) for n in (3, 5, 5))
    mask = np.ones((3, 5), bool)
    mask[1] = False
    numbers = np.where(mask, 0.0, -np.inf)
    for m in (mask, numbers):
        m = load_backend(backend).from_host(m)
        y = F.scaled_dot_product_attention(q, k, v, m)
        assert not y.numpy()[:, 1].any()
        assert y.numpy()[:, 0].all()
        grads = ag.gradients(ag.sum(y**2), [q, k, v])
        assert all(np.isfinite(g.numpy()).all() for g in grads)
        assert not grads[0].numpy()[:, 1].any()


def test_attention_derivatives():
    arrays = [normal(2, 3, 4), normal(2, 3, 4) + 1, normal(2, 3, 2)]
    for options in ({}, {"is_causal": True}, {"attn_mask": normal(3, 3)}):
        assert ag.grad_check(
            lambda q, k, v, o=options: F.scaled_dot_product_attention(q, k, v, **o),
            arrays,
            order=2,
            fast=True,
        )


def test_dropout(backend):
    x = on(backend, np.ones((100, 100)), True)
    ag.manual_seed(5)
    y = F.dropout(x, 0.3)
    kept = y.numpy() != 0
    assert kept.mean() == pytest.approx(0.7, abs=0.02)
    np.testing.assert_allclose(y.numpy()[kept], 1 / 0.7)
    ag.sum(y).backward()
    np.testing.assert_array_equal(ag.Variable(x.grad).numpy(), y.numpy())
    ag.manual_seed(5)
    with ag.use_backend("numpy"):
        again = F.dropout(np.ones((100, 100)), 0.3)
    np.testing.assert_array_equal(again.value, y.numpy())
    assert (F.dropout(x, 0.3).numpy() != y.numpy()).any()
    np.testing.assert_array_equal(F.dropout(x, 0.3, training=False).numpy(), x.numpy())
    assert not F.dropout(x, 1.0).numpy().any()
    channels = F.dropout2d(on(backend, np.ones((8, 16, 3, 3)))).numpy()
    assert ((channels == 0).all((2, 3)) | (channels == 2).all((2, 3))).all()
    with pytest.raises(ValueError, match="probability"):
        F.dropout(x, 1.5)


def test_dropout_differentiates_twice():
    def f(x):
        return F.dropout(x**2, 0.5, generator=ag.Generator(3))

    assert ag.grad_check(f, [normal(4, 5)], order=2)


def test_batch_norm_moves_the_running_statistics(backend):
    x = normal(6, 3, 2, 2)
    mean, var = ag.Variable([0.0] * 3).to(backend), ag.Variable([1.0] * 3).to(backend)
    y = F.batch_norm(on(backend, x), mean, var, training=True, momentum=0.5)
    np.testing.assert_allclose(y.numpy().mean((0, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2, 3)) / 2, rtol=1e-5)
    expected = 0.5 + x.var((0, 2, 3), ddof=1) / 2
    np.testing.assert_allclose(var.numpy(), expected, rtol=1e-5)
    y = F.batch_norm(on(backend, x), mean, var)
    expected = (x - mean.numpy()[:, None, None]) / np.sqrt(var.numpy()[:, None, None] + 1e-5)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_one_hot(backend):
    assert F.one_hot([[0, 2]], 3).tolist() == [[[1, 0, 0], [0, 0, 1]]]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_one_hot_of_an_index_out_of_range(wrong):
    with pytest.raises(IndexError, match=rf"one_hot: {wrong} is outside \[0, 3\)"):
        F.one_hot(np.array([0, wrong]), 3)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0])
def test_celu_is_smooth_at_0(backend, alpha):
    x = on(backend, np.array([-1.0, 0.0, 1.0]), True)
    slope = ag.gradients(ag.sum(F.celu(x, alpha)), x, create_graph=True)
    assert slope.tolist() == pytest.approx([np.exp(-1 / alpha), 1, 1])
