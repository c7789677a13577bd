"""Layers and losses as functions: values by their definition, derivatives, errors, dtypes."""

import numpy as np
import pytest

import autograd_gpu as ag
import autograd_gpu.nn.functional as F
from autograd_gpu.backend import load_backend


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def on(backend, x, requires_grad=False):
    return ag.Variable(load_backend(backend).from_host(np.asarray(x)), requires_grad)


def convolved(x, w, stride, padding, dilation, groups):
    """The definition, in loops."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    (n, _, h, width), (o, c, kh, kw) = x.shape, w.shape
    out_h = (h - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    out_w = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, o, out_h, out_w))
    for k in range(o):
        first = k // (o // groups) * c
        for i in range(out_h):
            for j in range(out_w):
                rows = i * stride[0] + dilation[0] * np.arange(kh)
                columns = j * stride[1] + dilation[1] * np.arange(kw)
                part = x[:, first : first + c][:, :, rows[:, None], columns]
                y[:, k, i, j] = (part * w[k]).sum((1, 2, 3))
    return y


CONVOLUTIONS = [
    ((1, 1), (0, 0), (1, 1), 1),
    ((1, 1), (1, 2), (1, 1), 2),
    ((2, 1), (1, 0), (1, 2), 1),
    ((3, 2), (2, 2), (2, 1), 2),
]


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_by_definition(backend, stride, padding, dilation, groups):
    x, w, b = normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)
    expected = convolved(x, w, stride, padding, dilation, groups) + b[:, None, None]
    y = F.conv2d(on(backend, x), on(backend, w), on(backend, b), stride, padding, dilation, groups)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_derivatives_are_the_same_on_all_backends(
    backend, stride, padding, dilation, groups
):
    arrays = [normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)]

    def derivatives(name):
        xs = [on(name, a, True) for a in arrays]
        y = F.conv2d(*xs, stride, padding, dilation, groups)
        first = ag.gradients(ag.sum(y**3), xs, create_graph=True)
        second = ag.gradients(sum(ag.sum(g * g) for g in first), xs)
        return [g.numpy() for g in (*first, *second)]

    for actual, expected in zip(derivatives(backend), derivatives("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d_derivatives(stride, padding, dilation, groups):
    arrays = [normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 2), normal(6)]

    def f(x, w, b):
        return F.conv2d(x, w, b, stride, padding, dilation, groups) ** 2

    assert ag.grad_check(f, arrays, fast=True, order=2)


def test_conv2d_in_blocks_of_images():
    x, w = normal(300, 3, 20, 20), normal(8, 3, 5, 5)  # several blocks
    y = F.conv2d(x, w)
    np.testing.assert_allclose(y.value[::77], F.conv2d(x[::77], w).value, rtol=1e-12)
    g = normal(*y.shape)
    vx, vw = ag.Variable(x, True), ag.Variable(w, True)
    F.conv2d(vx, vw).backward(g)
    parts = [ag.Variable(w, True) for _ in range(3)]
    for i, part in enumerate(parts):
        vi = ag.Variable(x[i::3], True)
        F.conv2d(vi, part).backward(g[i::3])
        np.testing.assert_allclose(vx.grad[i::3], vi.grad, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(vw.grad, sum(p.grad for p in parts), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_conv2d_keeps_dtypes(backend, dtype):
    if backend == "cupy" and dtype == "float16":
        pytest.skip("checked by value in float32; half types are the matmul's matter")
    x = on(backend, normal(2, 2, 5, 5).astype(dtype), True)
    w = on(backend, normal(3, 2, 3, 3).astype(dtype), True)
    y = F.conv2d(x, w, padding=1)
    assert y.dtype == dtype
    ag.sum(ag.abs(y)).backward()
    assert x.grad.dtype == w.grad.dtype == dtype


def test_conv2d_of_complex_numbers():
    x, w = normal(1, 2, 4, 4) + 1j * normal(1, 2, 4, 4), normal(2, 2, 3, 3) * (1 - 2j)
    assert ag.grad_check(lambda x, w: F.conv2d(x, w), [x, w], order=2, fast=True)


def test_conv2d_names_what_does_not_fit():
    x = np.ones((1, 4, 6, 6))
    with pytest.raises(ValueError, match=r"weight \[6, 3, 3, 3\] do not fit"):
        F.conv2d(x, np.ones((6, 3, 3, 3)))
    with pytest.raises(ValueError, match=r"bias \[5\] must be \[6\]"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), np.ones(5))
    with pytest.raises(ValueError, match="does not fit into padded images"):
        F.conv2d(x, np.ones((6, 4, 7, 3)))
    with pytest.raises(ValueError, match=r"must be \[N, C, H, W\]"):
        F.conv2d(np.ones((4, 4)), np.ones((6, 4, 3, 3)))
    with pytest.raises(ValueError, match="at least 1"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), stride=0)
    with pytest.raises(ValueError, match="'same' needs stride 1"):
        F.conv2d(x, np.ones((6, 4, 3, 3)), stride=2, padding="same")


def test_max_pool2d(backend):
    x = on(backend, np.arange(16.0).reshape(1, 1, 4, 4), True)
    y = F.max_pool2d(x, 2)
    assert y.tolist() == [[[[5, 7], [13, 15]]]]
    ag.sum(y).backward()
    expected = np.zeros((4, 4))
    expected[1::2, 1::2] = 1
    np.testing.assert_array_equal(ag.Variable(x.grad).numpy()[0, 0], expected)


@pytest.mark.parametrize("options", [(2,), (3, 1, 1), ((2, 3), 2, 1, 1, True), (2, 1, 0, 2)])
def test_pooling_derivatives(backend, options):
    x = normal(2, 2, 6, 7)
    assert ag.grad_check(lambda x: F.max_pool2d(x, *options), [x], fast=True)
    pooled = F.max_pool2d(on(backend, x), *options)
    np.testing.assert_array_equal(pooled.numpy(), F.max_pool2d(x, *options).value)

    def derivatives(name):
        v = on(name, x, True)
        first = ag.gradients(ag.sum(F.max_pool2d(v, *options) ** 3), v, create_graph=True)
        return first.numpy(), ag.gradients(ag.sum(first**2), v).numpy()

    for actual, expected in zip(derivatives(backend), derivatives("numpy"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_the_first_of_equal_maxima_gets_the_gradient():
    x = ag.Variable(np.ones((1, 1, 2, 4)), True)
    ag.sum(F.max_pool2d(x, 2)).backward()
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0, 0, 0, 0]]]]


def test_max_pool2d_of_integers_and_nan():
    assert F.max_pool2d(np.arange(4).reshape(1, 1, 2, 2), 2, padding=1).dtype == np.int64
    assert np.isnan(F.max_pool2d([[[[1.0, float("nan")], [0.0, 2.0]]]], 2).item())


def test_pooling_refuses():
    x = np.ones((1, 1, 4, 4))
    with pytest.raises(ValueError, match="more than half"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="does not fit"):
        F.avg_pool2d(x, 5)
    with pytest.raises(ValueError, match="pair"):
        F.max_pool2d(x, (1, 2, 3))


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


def test_cross_entropy(backend):
    x, labels = 3 * normal(6, 4), [1, 0, 3, -100, 2, 1]
    kept = [i for i, label in enumerate(labels) if label >= 0]
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    expected = -np.log(p[kept, [labels[i] for i in kept]]).mean()
    v = on(backend, x, True)
    loss = F.cross_entropy(v, labels)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    loss.backward()
    onehot = np.zeros((6, 4))
    onehot[kept, [labels[i] for i in kept]] = 1
    mask = onehot.sum(1, keepdims=True)
    np.testing.assert_allclose(
        ag.Variable(v.grad).numpy(), (p - onehot) * mask / 5, rtol=1e-10, atol=1e-15
    )


def test_labels_may_be_arrays_variables_lists_and_of_any_integer_type(backend):
    v = on(backend, normal(3, 4))
    expected = F.cross_entropy(v, [0, 1, 2]).item()
    array = load_backend(backend).from_host(np.array([0, 1, 2]))
    for labels in (array, ag.Variable(array), array.astype("uint8"), array.astype("int32")):
        assert F.cross_entropy(v, labels).item() == expected


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum"}])
def test_cross_entropy_derivatives(options):
    weight = np.linspace(0.5, 2, 4)
    for more in ({}, {"weight": weight}):
        assert ag.grad_check(
            lambda x, m=more: F.cross_entropy(x, [1, -100, 3], **options, **m),
            [normal(3, 4)],
            order=2,
        )


def test_cross_entropy_of_half_precision_and_infinite_logits():
    x = ag.Variable(normal(4, 3).astype("float16"), True)
    F.cross_entropy(x, [0, 1, 2, 0]).backward()
    assert x.grad.dtype == np.float16
    loss = F.cross_entropy([[0.0, -float("inf"), 0.0]], [0])
    assert loss.item() == pytest.approx(np.log(2))


def test_cross_entropy_refuses():
    x = normal(3, 4)
    for bad in (4, -1):
        with pytest.raises(ValueError, match=rf"label {bad} is outside \[0, 4\)"):
            F.cross_entropy(x, [0, 1, bad])
        with pytest.raises(ValueError, match=rf"label {bad} is outside \[0, 4\)"):
            F.nll_loss(x, [0, 1, bad])
    with pytest.raises(ValueError, match=r"target \[2\] must be \[3\]"):
        F.cross_entropy(x, [0, 1])
    with pytest.raises(ValueError, match="shapes differ"):
        F.cross_entropy(x, normal(3, 3))
    with pytest.raises(ValueError, match="reduction is one of"):
        F.cross_entropy(x, [0, 1, 2], reduction="median")
    with pytest.raises(ValueError, match="label_smoothing"):
        F.cross_entropy(x, [0, 1, 2], label_smoothing=2)


PAIRS = [
    F.mse_loss, F.l1_loss, F.huber_loss, F.smooth_l1_loss, F.kl_div,
    F.binary_cross_entropy_with_logits, F.binary_cross_entropy,
]  # fmt: skip


@pytest.mark.parametrize("loss", PAIRS)
def test_losses_refuse_shapes_that_differ(loss):
    with pytest.raises(ValueError, match=r"\[3, 1\] and target \[3\]; losses do not broadcast"):
        loss(np.full((3, 1), 0.5), np.full(3, 0.5))


@pytest.mark.parametrize("loss", PAIRS)
def test_losses_keep_float32_and_run_on_every_backend(backend, loss):
    p = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)).astype("float32")
    expected = ag.Variable(p[0], True)
    loss(expected, p[1]).backward()
    v = on(backend, p[0], True)
    y = loss(v, on(backend, p[1]))
    assert y.dtype == "float32"
    y.backward()
    np.testing.assert_allclose(ag.Variable(v.grad).numpy(), expected.grad, rtol=1e-5, atol=1e-7)


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
