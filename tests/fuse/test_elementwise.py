"""fuse: the same values and derivatives as op by op, in one kernel; or op by op with a reason."""

import math

import numpy as np
import pytest
from fused import close, leaf, numbers

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

F = ag.nn.functional


def gelu(x):
    return 0.5 * x * (1 + ag.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def chain(x):
    y = ag.sin(x)
    for _ in range(4):
        y = ag.exp(-ag.square(y)) * ag.cos(y) + ag.log1p(ag.abs(y)) - ag.sqrt(1 + y * y)
    return y


ONE = {
    "gelu": gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu erf": F.gelu,
    "silu": F.silu,
    "swish": lambda x: x * ag.sigmoid(1.5 * x),
    "chain": chain,
    "where": lambda x: ag.where(x > 0.1, ag.exp(x), 2.0 * x),
    "clip": lambda x: ag.clip(x, -0.5, 0.5) * x,
    "maximum": lambda x: ag.maximum(x, 0.3 * x) / (2.0 + ag.abs(x)),
    "power": lambda x: (1 + x * x) ** 1.5 - x**3,
    "softplus": F.softplus,
    "mish": F.mish,
    "itself": lambda x: +x,
    "constant gradient": lambda x: x * 3.0 - 1,
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_values_and_gradients_are_those_of_the_ops(xp, name, dtype):
    plain, fused = ONE[name], ag.fuse(ONE[name])
    shape = (7, 13)
    x, g = leaf(xp, numbers(shape), dtype), leaf(xp, numbers(shape, 1), dtype, grad=False)
    y = fused(x)
    if x.dtype in getattr(xp.xp, "OWN_KERNELS", {}) and name == "gelu tanh":
        assert "a kernel of its own" in fused.reason
    else:
        assert fused.reason is None
    assert y.dtype == x.dtype
    close(y, plain(x), dtype)
    got, want = (ag.gradients(f(x), x, g) for f in (fused, plain))
    assert got.dtype == x.dtype
    close(got, want, dtype)


@pytest.mark.parametrize("name", ["gelu", "silu", "swish", "chain", "where", "power", "gelu tanh"])
def test_second_and_third_order(xp, name):
    x = leaf(xp, numbers((5, 3)), "float64")
    results = []
    for f in (ag.fuse(ONE[name]), ONE[name]):
        first = ag.gradients(f(x).sum(), x, create_graph=True)
        second = ag.gradients((first * first).sum(), x, create_graph=True)
        third = ag.gradients((second * x).sum(), x)
        results.append((first, second, third))
    for got, want in zip(*results, strict=True):
        close(got, want, "float64")


def test_what_is_kept_for_the_backward():
    """The slope where it is one array, else what is costly."""
    x = leaf(load_backend("numpy"), numbers((5, 7)), "float64")
    (slope,) = ag.fuse(ONE["gelu tanh"])(x).grad_fn.kept[1]
    want = ag.gradients(ONE["gelu tanh"](x).sum(), x)
    np.testing.assert_allclose(slope, want.value, rtol=1e-12)
    (tanh,) = ag.fuse(gelu)(x).grad_fn.kept[1]
    u = math.sqrt(2 / math.pi) * (x.value + 0.044715 * x.value**3)
    np.testing.assert_allclose(tanh, np.tanh(u), rtol=1e-12)


def test_grad_check():
    f = ag.fuse(lambda x, y: (ag.tanh(x * y) + ag.exp(-x), x / (2 + ag.cos(y))))
    x, y = numbers((3, 4)), numbers((3, 4), 1)
    assert ag.grad_check(lambda x, y: ag.sum(f(x, y)[0] * f(x, y)[1]), [x, y])
    assert f.reason is None


def test_several_outputs_and_arguments(xp):
    def plain(x, y, *, scale=1.0, shift=None):
        return x * y * scale, ag.exp(x) if shift is None else ag.exp(x) + shift, x

    fused = ag.fuse(plain)
    x, y, z = (leaf(xp, numbers((4, 5), i), "float64") for i in range(3))
    for kwargs in ({}, {"scale": 2.0}, {"shift": z}):
        found = []
        for f in (fused, plain):
            a, b, c = f(x, y, **kwargs)
            total = (a * b).sum() + (c * c * c).sum()
            found.append(ag.gradients(total, [x, y, z], allow_unused=True))
        assert fused.reason is None
        for got, want in zip(*found, strict=True):
            assert (got is None) == (want is None)
            if got is not None:
                close(got, want, "float64")


def test_an_output_without_gradient(xp):
    fused = ag.fuse(lambda x, y: (x * y, ag.exp(y)))
    x, y = leaf(xp, numbers(3)), leaf(xp, numbers(3, 1))
    fused(x, y)[1].sum().backward()
    assert fused.reason is None
    np.testing.assert_allclose(xp.to_host(y.grad), np.exp(numbers(3, 1)), rtol=1e-5)
    assert x.grad is None or not xp.to_host(x.grad).any()


def test_broadcasting(xp):
    def plain(x, row, number):
        return ag.tanh(x * row) + number * x

    fused = ag.fuse(plain)
    for other in ((5,), (4, 1), (1, 5), ()):
        args = [leaf(xp, numbers(s, i), "float64") for i, s in enumerate([(4, 5), other, ()])]
        found = [ag.gradients(f(*args).sum(), args) for f in (fused, plain)]
        assert fused.reason is None
        for got, want in zip(*found, strict=True):
            assert got.shape == want.shape
            close(got, want, "float64")


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1), (100_003,)])
def test_shapes(xp, shape):
    fused = ag.fuse(gelu)
    x = leaf(xp, numbers(shape))
    y = fused(x)
    assert fused.reason is None
    assert y.shape == shape
    close(y, gelu(x), "float32")
    y.sum().backward()
    got, x.grad = x.grad, None
    gelu(x).sum().backward()
    assert got.shape == shape
    np.testing.assert_allclose(xp.to_host(got), xp.to_host(x.grad), atol=2e-6)


def test_not_contiguous(xp):
    a = xp.from_host(numbers((6, 8)).astype("f4"))
    for view in (a.T, a[::2, 1::3], a[:, ::-1]):
        x = ag.Variable(view, requires_grad=True)
        fused = ag.fuse(ONE["chain"])
        close(fused(x), chain(x), "float32")
        close(ag.gradients(fused(x).sum(), x), ag.gradients(chain(x).sum(), x), "float32")


def test_dtypes_mix(xp):
    fused = ag.fuse(lambda x, y: ag.exp(x) * y)
    x, y = leaf(xp, numbers(5), "float32"), leaf(xp, numbers(5, 1), "float64")
    z = fused(x, y)
    assert (fused.reason, str(z.dtype)) == (None, "float64")
    grads = ag.gradients(z.sum(), [x, y])
    assert [str(g.dtype) for g in grads] == ["float32", "float64"]
    close(grads[0], fused.function(x, y).astype("float32"), "float32")


def test_complex():
    fused = ag.fuse(lambda z: z * ag.exp(1j * z) * ag.conj(z))
    z = ag.Variable(numbers(6) + 1j * numbers(6, 1), requires_grad=True)
    got, want = (ag.gradients(ag.abs(f(z)).sum(), z) for f in (fused, fused.function))
    assert fused.reason is None
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x / x.sum(), "sum"),
        (lambda x: x[0] * x, "index"),
        (lambda x: x if x.sum() > 0 else -x, "branch"),
        (lambda x: ag.exp(x) if float(x.max()) > 0 else x, "max"),
        (lambda x: x * ag.Variable(np.arange(3.0, dtype="f4")), "argument"),
        (lambda x: F.dropout(x, 0.5), ""),
        (lambda x: ag.reshape(x, (3, 1)), ""),
        (lambda x: [x, 3][0] * x if x > 0 else x, "branch"),
    ],
)
def test_what_cannot_be_fused_runs_op_by_op(function, reason):
    fused = ag.fuse(function)
    x = ag.Variable(np.array([1.0, 2.0, 3.0], "f4"), requires_grad=True)
    try:
        want = function(x)
    except ValueError:
        with pytest.raises(ValueError):
            fused(x)
        assert reason in fused.reason
        return
    got = fused(x)
    assert fused.reason
    assert reason in fused.reason
    assert got.shape == want.shape
    assert x.grad is None


def test_shapes_numbers_and_dtypes_each_have_their_kernel():
    calls = []

    @ag.fuse
    def f(x, a=1.0):
        calls.append(x.shape)
        return x * a + x.shape[0]

    for _ in range(2):
        for x in (np.ones(3), np.ones(4), np.ones(3, "f4")):
            for a in (1, 1.0, True, 2.5):
                want = x * a + len(x)
                got = f(ag.Variable(x), a)
                assert f.reason is None
                np.testing.assert_array_equal(got.value, want)
                assert got.dtype == want.dtype
    assert len(calls) == 12


def test_within_another_fused_function():
    inner = ag.fuse(gelu)
    outer = ag.fuse(lambda x: inner(x) * ag.exp(x))
    x = ag.Variable(numbers(5), requires_grad=True)
    got = ag.gradients(outer(x).sum(), x)
    assert outer.reason is None
    close(got, ag.gradients((gelu(x) * ag.exp(x)).sum(), x), "float64")


def test_common_subexpressions_are_computed_once():
    from autograd_gpu.symbol_backend import symbol_type
    from autograd_gpu.tracing import Trace

    trace = Trace(symbol_type("numpy"), [(3,)], [np.dtype("f4")])
    (x,) = trace.inputs()
    xp = load_backend("numpy").xp
    y = (x * x) * 2.0 + (x * x) * 2.0
    z = (x * x) * 2
    program = trace.program([y])
    assert [s.name for s in program.steps] == ["multiply", "multiply", "add"]
    assert len(trace.program([y, z]).steps) == 4  # 2 and 2.0 are not the same constant
    assert xp is trace.xp


def test_writing_into_an_array_leaves_others_alone():
    from autograd_gpu.symbol_backend import symbol_type
    from autograd_gpu.tracing import Trace

    kernels = load_backend("numpy").xp.fused_kernel
    trace = Trace(symbol_type("numpy"), [(3,)], [np.dtype("f8")])
    (x,) = trace.inputs()
    y = x + 1
    alias, copy = y, y.copy()
    y *= 10
    out = kernels(trace.program([x, y, alias, copy]), None, ())([np.arange(3.0)], (3,))
    for got, want in zip(out, ([0, 1, 2], [10, 20, 30], [10, 20, 30], [1, 2, 3]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_graph_and_its_release():
    fused = ag.fuse(gelu)
    x = ag.Variable(numbers(4), requires_grad=True)
    y = fused(x)
    assert y.grad_fn.name == "gelu"
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    with ag.no_grad():
        assert fused(x).grad_fn is None
    assert fused(numbers(4)).grad_fn is None
    assert fused.__name__ == "gelu"


def test_method():
    class Layer:
        def __init__(self, slope):
            self.slope = slope

    layer = ag.fuse(lambda x, slope: ag.maximum(x, slope * x))
    np.testing.assert_array_equal(layer(np.array([-1.0, 1.0]), Layer(0.5).slope).value, [-0.5, 1.0])


def test_threads_do_not_change_a_bit():
    fused = ag.fuse(chain)
    x = ag.Variable(numbers(1_000_003).astype("f4"), requires_grad=True)
    before = ag.get_num_threads()
    results = []
    try:
        for n in (1, 2, 5):
            ag.set_num_threads(n)
            y = fused(x)
            results.append((y.value, ag.gradients(y.sum(), x).value))
    finally:
        ag.set_num_threads(before)
    for y, g in results[1:]:
        np.testing.assert_array_equal(y, results[0][0])
        np.testing.assert_array_equal(g, results[0][1])


def test_numbers_that_a_derivative_kept_belong_to_no_backend(xp):
    x = leaf(xp, numbers((2, 3)), "float64")
    y = 0.5 * x / 3.0
    first = ag.gradients((y * y).sum(), x, create_graph=True)
    second = ag.gradients(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), np.full((2, 3), 1 / 18))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y: y + 2, "not the shape of all arguments"),
        (lambda x, y: (x * y, ag.exp(x)), "not the shape of all arguments"),
        (lambda x, y: x * y / x.shape[1], "depends on the shape of an argument"),
        (lambda x, y: x * y / y.size, "depends on the shape of an argument"),
        (lambda x, y: x * y if x.ndim == 2 else x + y, None),
        (lambda x, y: ag.exp(x) * y + x, None),
    ],
)
def test_arguments_have_their_own_shapes(function, reason):
    """Also where a kernel has one for all of them."""
    fused = ag.fuse(function)
    x, y = ag.Variable(numbers((3, 1)), requires_grad=True), ag.Variable(numbers(4))
    pairs = [v if isinstance(v, tuple) else (v,) for v in (fused(x, y), function(x, y))]
    for got, want in zip(*pairs, strict=True):
        assert got.shape == want.shape
        close(got, want, "float64")
    assert fused.reason is None if reason is None else reason in fused.reason


def test_a_second_derivative_of_arguments_that_broadcast_is_fused():
    fused = ag.fuse(lambda x, y: ag.exp(x * y) + x)
    x, y = (ag.Variable(numbers(s), requires_grad=True) for s in ((3, 1), 4))
    (g,) = ag.gradients(fused(x, y).sum(), [x], create_graph=True)
    node = g.grad_fn
    while not node.name.endswith("_gradient"):
        (node,) = [edge for edge in node.edges if edge is not None]
    (found,) = ag.gradients(g.sum(), [x])
    product = ag.Variable(np.exp(x.value * y.value) * y.value**2).sum(1, keepdims=True)
    close(found, product, "float64")


def test_a_function_that_changes_its_argument():
    def doubled(x):
        x *= 2
        return x + 1

    fused, x = ag.fuse(doubled), ag.Variable([1.0, 2.0])
    assert fused(x).tolist() == [3, 5]
    assert x.tolist() == [2, 4]
    assert "writes into its arguments" in fused.reason
