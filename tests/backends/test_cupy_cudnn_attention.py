"""Attention by cuDNN: which calls it takes, the graphs that it is given, and what comes of them."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

SCALE = 0.3


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def numbers(shape, dtype, seed):
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 8).astype(dtype)


def reference(q, k, v, g, is_causal, bias=None, mask=None):
    """Value and gradients in float64; 0 for a query that sees no key."""
    q, k, v, g = (x.astype("f8") for x in (q, k, v, g))
    scores = q @ k.swapaxes(-1, -2) * SCALE
    if bias is not None:
        scores = scores + bias.astype("f8")
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores - np.where(top > -np.inf, top, 0))
    shares /= np.maximum(shares.sum(axis=-1, keepdims=True), 1e-300)
    inner = g @ v.swapaxes(-1, -2)
    d = shares * (inner - (inner * shares).sum(axis=-1, keepdims=True)) * SCALE
    return shares @ v, d @ k, d.swapaxes(-1, -2) @ q, shares.swapaxes(-1, -2) @ g


def attend(xp, q, k, v, is_causal=False, bias=None, mask=None, keep=None):
    return xp.attended(q, k, v, bias, mask, keep, scale=SCALE, is_causal=is_causal, p=0.0)


def differentiate(xp, g, y, q, k, v, kept, is_causal=False, bias=None, mask=None, needs_bias=True):
    return xp.attention_gradients(
        g, y, q, k, v, bias, mask, None, kept, (True, True, True, needs_bias),
        scale=SCALE, is_causal=is_causal, p=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("heads_last", [False, True])
def test_values_and_gradients(cupy_backend, cudnn, counting, dtype, is_causal, batch, heads_last):
    half, xp, to = dtype_of(dtype), cupy_backend.xp, cupy_backend.from_host
    shapes = [(*batch, n, 16) for n in (7, 5, 5, 7)]
    host = [numbers(shape, half, i) for i, shape in enumerate(shapes)]
    q, k, v, g = map(to, host)
    if heads_last and len(batch) == 2:  # [B, L, H, E] in memory, as projections leave it
        q, k, v = (
            to(np.ascontiguousarray(x.transpose(0, 2, 1, 3))).transpose(0, 2, 1, 3)
            for x in host[:3]
        )
    with counting() as c:
        y, kept = attend(xp, q, k, v, is_causal)
        grads = differentiate(xp, g, y, q, k, v, kept, is_causal)
    assert [call.op for call in c.cudnn] == ["sdpa", "sdpa_backward"]
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)
    assert grads[3] is None
    for got, want in zip((y, *grads[:3]), reference(*host, is_causal), strict=True):
        assert got.dtype == half
        assert got.shape == want.shape
        np.testing.assert_allclose(
            got.get().astype("f8"), want, atol=3e-3 if dtype == "float16" else 3e-2
        )


L, S = 7, 5
MASKS = {
    "mask": ((2, 3), None, (2, 3, L, S)),
    "padding": ((2, 3), None, (2, 1, 1, S)),
    "mask of each head": ((2, 3), None, (3, L, S)),
    "bias": ((2, 3), (L, S), None),
    "bias of each batch": ((3,), (3, L, S), None),
    "both": ((2, 3), (3, L, S), (2, 1, L, S)),
    "two axes": ((), (S,), (L, S)),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_masks_and_biases(cupy_backend, cudnn, counting, name, is_causal, dtype):
    half, xp, to = dtype_of(dtype), cupy_backend.xp, cupy_backend.from_host
    batch, bias_shape, mask_shape = MASKS[name]
    host = [numbers((*batch, n, 16), half, i) for i, n in enumerate((L, S, S, L))]
    bias = mask = None
    if bias_shape is not None:
        bias = numbers(bias_shape, half, 4)
        bias[..., 1] = -np.inf
        if bias.ndim > 1:
            bias[..., 2, :] = -np.inf
    if mask_shape is not None:
        mask = np.random.default_rng(5).random(mask_shape) < 0.7
        mask[0 if name == "padding" else (..., 0, slice(None))] = False  # queries that see no key
    q, k, v, g = map(to, host)
    b, m = (None if x is None else to(x) for x in (bias, mask))
    options = {"bias": b, "mask": m}
    with counting() as c:
        y, kept = attend(xp, q, k, v, is_causal, **options)
        grads = differentiate(xp, g, y, q, k, v, kept, is_causal, **options, needs_bias=False)
    assert [call.op for call in c.cudnn] == ["sdpa", "sdpa_backward"]
    assert (c.waits, c.to_host, c.to_device) == (0, 0, 0)
    wanted = reference(*host, is_causal, bias, mask)
    for got, want in zip((y, *grads[:3]), wanted, strict=True):
        np.testing.assert_allclose(
            got.get().astype("f8"), want, atol=3e-3 if dtype == "float16" else 3e-2
        )
    if mask is not None:
        assert not y.get()[0 if name == "padding" else (..., 0, slice(None))].astype("f8").any()


def test_the_least_bias_is_seen_and_what_is_hidden_is_not(cupy_backend, cudnn, counting):
    xp, to = cupy_backend.xp, cupy_backend.from_host
    host = [numbers((2, 3, n, 16), "f2", i) for i, n in enumerate((L, S, S, L))]
    bias = np.zeros((L, S), "f2")
    bias[1:] = np.finfo("f2").min
    mask = np.ones((L, S), bool)
    mask[:, 0] = False
    y, _ = attend(xp, *map(to, host[:3]), bias=to(bias), mask=to(mask))
    assert len(cudnn.built) == 2
    np.testing.assert_allclose(
        y.get().astype("f8"), reference(*host, False, bias, mask)[0], atol=1e-2
    )


def test_the_graph_of_a_mask(cupy_backend, cudnn, counting):
    import cupy as cp

    xp = cupy_backend.xp
    q = cp.ones((2, 7, 3, 8), "f2").transpose(0, 2, 1, 3)
    mask = cp.ones((2, 1, 1, 7), bool)
    with counting() as c:
        y, kept = attend(xp, q, q, q, mask=mask)
        differentiate(xp, y, y, q, q, q, kept, mask=mask)
    forward, backward = c.cudnn
    assert forward.tensors[4][:3] == ((2, 1, 7, 7), (49, 49, 7, 1), "HALF")
    assert backward.tensors[7] == forward.tensors[4]
    assert y.transpose(0, 2, 1, 3).flags.c_contiguous


def test_the_gradient_of_a_bias_is_computed_by_products(cupy_backend, cudnn, counting):
    host = [numbers(shape, "f2", i) for i, shape in enumerate([(2, 3, 5, 8)] * 3 + [(3, 5, 5)])]

    def derivatives(arrays):
        q, k, v, bias = (ag.Variable(x, requires_grad=True) for x in arrays)
        y = F.scaled_dot_product_attention(q, k, v, bias, scale=SCALE)
        return [y, *ag.gradients((y * y).sum(), [q, k, v, bias])]

    with counting() as c:
        found = derivatives(map(cupy_backend.from_host, host))
    assert [call.op for call in c.cudnn] == ["sdpa"]
    for got, want in zip(found, derivatives([x.astype("f8") for x in host]), strict=True):
        scale = max(1.0, float(abs(want.numpy()).max()))
        np.testing.assert_allclose(got.numpy().astype("f8"), want.numpy(), atol=2e-2 * scale)


def test_the_graphs(cupy_backend, cudnn, counting):
    import cupy as cp

    xp = cupy_backend.xp
    q, k, v = (cp.ones((2, n, 3, 8), "f2").transpose(0, 2, 1, 3) for n in (7, 5, 5))
    with counting() as c:
        y, kept = attend(xp, q, k, v, is_causal=True)
    (call,) = c.cudnn
    assert call.params.pop("diagonal_alignment").name == "TOP_LEFT"
    assert call.params == {
        "generate_stats": True,
        "attn_scale": SCALE,
        "diagonal_band_right_bound": 0,
    }
    long, short = (168, 8, 24, 1), (120, 8, 24, 1)
    assert call.tensors == {
        1: ((2, 3, 7, 8), long, "HALF", q.data.ptr),
        2: ((2, 3, 5, 8), short, "HALF", k.data.ptr),
        3: ((2, 3, 5, 8), short, "HALF", v.data.ptr),
        4: ((2, 3, 7, 8), long, "HALF", y.data.ptr),
        5: ((2, 3, 7, 1), (21, 7, 1, 1), "FLOAT", kept.array.data.ptr),
    }
    # so the heads of a token are put beside each other again without a copy
    assert y.transpose(0, 2, 1, 3).flags.c_contiguous
    g = cp.ones_like(y)
    with counting() as c:
        grads = differentiate(xp, g, y, q, k, v, kept)
    (call,) = c.cudnn
    assert call.params == {"use_deterministic_algorithm": True, "attn_scale": SCALE}
    assert [call.tensors[uid][3] for uid in range(1, 7)] == [
        x.data.ptr for x in (q, k, v, y, g, kept.array)
    ]
    assert [call.tensors[uid] for uid in (7, 8, 9)] == [
        (x.shape, strides, "HALF", x.data.ptr)
        for x, strides in zip(grads[:3], (long, short, short), strict=True)
    ]


def test_gradients_in_another_layout_are_copied(cupy_backend, cudnn, counting):
    import cupy as cp

    xp = cupy_backend.xp
    q = cp.ones((2, 7, 3, 8), "f2").transpose(0, 2, 1, 3)
    y, kept = attend(xp, q, q, q)
    g = cp.ones((2, 3, 7, 8), "f2")
    with counting() as c:
        differentiate(xp, g, y, q, q, q, kept)
    assert (len(c.cudnn), c.launches) == (1, 1)


def taken(xp, *arrays, **options):
    return attend(xp, *arrays, **options) is not NotImplemented


def test_what_is_not_for_cudnn(cupy_backend, cudnn, cudnn_modules, monkeypatch):
    import cupy as cp

    xp = cupy_backend.xp
    q = cp.ones((2, 3, 4, 8), "f2")
    assert taken(xp, q, q, q)
    assert taken(xp, q, q, q, bias=cp.ones((4, 4), "f2"), mask=cp.ones((4, 4), bool))
    assert not taken(xp, q, q, q, keep=cp.ones((2, 3, 4, 4), bool)), "dropout"
    assert not taken(xp, q, q, q, bias=cp.ones((4, 4), "f4")), "digits that would be lost"
    assert not taken(xp, q[:1], q[:1], q[:1], mask=cp.ones((2, 1, 4, 4), bool)), "more batches"
    assert not taken(xp, *(q.astype("f4"),) * 3)
    assert not taken(xp, *(q[..., :4],) * 3), "a width that is no multiple of 8"
    assert not taken(xp, q, q, cp.ones((2, 3, 4, 16), "f2")), "values of another width"
    assert not taken(xp, q, q[:1], q[:1]), "a batch that broadcasts"
    assert not taken(xp, *(cp.ones((2, 3, 8, 4), "f2").swapaxes(-1, -2),) * 3), "rows with gaps"
    assert not taken(xp, *(cp.ones((1, 2, 3, 4, 8), "f2"),) * 3)
    cudnn_modules[2].set_cudnn(False)
    assert not taken(xp, q, q, q)


@pytest.mark.parametrize("op", ["sdpa", "sdpa_backward"])
def test_a_forward_without_a_backward_is_not_taken(cupy_backend, cudnn, monkeypatch, op):
    import cupy as cp

    monkeypatch.setattr(cudnn, "declines", lambda graph: graph.op == op and "no engine")
    q = cp.ones((2, 3, 4, 8), "f2")
    assert not taken(cupy_backend.xp, q, q, q)


def test_a_backward_whose_plan_is_gone_says_so(cupy_backend, cudnn, cudnn_modules, monkeypatch):
    import cupy as cp

    q = cp.ones((2, 3, 4, 8), "f2")
    y, kept = attend(cupy_backend.xp, q, q, q)
    cudnn_modules[2].set_deterministic(False)
    monkeypatch.setattr(cudnn, "declines", lambda graph: "no engine")
    with pytest.raises(RuntimeError, match="set_deterministic"):
        differentiate(cupy_backend.xp, y, y, q, q, q, kept)


def test_what_another_form_kept_is_its_own_matter(cupy_backend, cudnn):
    import cupy as cp

    q = cp.ones((2, 3, 4, 8), "f2")
    shares = cp.ones((2, 3, 4, 4), "f4")
    for kept in (shares, None):
        assert differentiate(cupy_backend.xp, q, q, q, q, q, kept) is NotImplemented


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_on_a_gpu_it_agrees_with_float64(cupy_backend, cudnn_modules, dtype):
    from cupy_on_cpu import is_started

    if is_started():
        pytest.skip("the device is emulated, and cuDNN needs a GPU")
    pytest.importorskip("cudnn")
    mask = np.random.default_rng(4).random((2, 1, 128, 128)) < 0.7
    mask[..., 0, :] = False
    for is_causal, m in ((False, None), (True, None), (False, mask), (True, mask)):
        host = [numbers((2, 3, 128, 64), dtype_of(dtype), i) for i in range(4)]
        q, k, v, g = map(cupy_backend.from_host, host)
        seen = None if m is None else cupy_backend.from_host(m)
        result = attend(cupy_backend.xp, q, k, v, is_causal, mask=seen)
        assert result is not NotImplemented
        y, kept = result
        grads = differentiate(cupy_backend.xp, g, y, q, k, v, kept, is_causal, mask=seen)
        for got, want in zip((y, *grads[:3]), reference(*host, is_causal, mask=m), strict=True):
            np.testing.assert_allclose(
                got.get().astype("f8"), want, atol=2e-2 if dtype == "float16" else 1e-1
            )


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_op_takes_it_and_goes_on_without_it(cupy_backend, cudnn, counting, is_causal):
    host = [numbers((2, 3, n, 8), "f2", i) for i, n in enumerate((7, 5, 5))]

    def derivatives(arrays):
        q, k, v = (ag.Variable(x, requires_grad=True) for x in arrays)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=SCALE)
        first = ag.gradients((y * y).sum(), [q, k, v], retain_graph=True)
        grads = ag.gradients((y * y).sum(), [q, k, v], create_graph=True)
        second = ag.gradients(sum((g * g).sum() for g in grads), [q, k, v])
        return [y, *first, *grads, *second]

    with counting() as c:
        found = derivatives(map(cupy_backend.from_host, host))
    # A gradient that is to be differentiated again is computed by products, from the start; what
    # goes back through the forward at last is cuDNN's once more.
    assert [call.op for call in c.cudnn] == ["sdpa", "sdpa_backward", "sdpa_backward"]
    for got, want in zip(found, derivatives([x.astype("f8") for x in host]), strict=True):
        assert got.dtype == np.float16
        scale = max(1.0, float(abs(want.numpy()).max()))
        np.testing.assert_allclose(got.numpy().astype("f8"), want.numpy(), atol=2e-2 * scale)


def test_layers_leave_heads_where_they_are(cupy_backend, cudnn, counting):
    from autograd_gpu import nn

    layer = nn.MultiheadAttention(16, 2, batch_first=True).to("cupy").to("float16")
    x = ag.Variable(cupy_backend.from_host(numbers((3, 5, 16), "f2", 0)), requires_grad=True)
    y, _ = layer(x, x, x, need_weights=False)
    with counting() as c:
        y, _ = layer(x, x, x, need_weights=False)
        y.sum().backward()
    assert [call.op for call in c.cudnn] == ["sdpa", "sdpa_backward"]
    (heads,) = {call.tensors[1][:2] for call in c.cudnn}
    # [B, H, L, E], within the rows of 3 x 16 that the joined projection makes
    assert heads == ((3, 2, 5, 8), (240, 8, 48, 1))
