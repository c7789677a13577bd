"""fuse: functions that end in sums and means are one kernel too, and so are their gradients."""

import itertools
import warnings

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.backend import BackendError, load_backend

F = ag.nn.functional


@pytest.fixture(params=["numpy", "cupy"])
def xp(request):
    try:
        return load_backend(request.param)
    except BackendError as error:
        pytest.skip(str(error))


def leaf(xp, value, dtype="float64", grad=True):
    return ag.Variable(xp.from_host(np.asarray(value, dtype)), requires_grad=grad)


def numbers(shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape)


TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


def close(got, want, dtype="float64"):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    got, want = (x.numpy().astype("f8") for x in (got, want))
    scale = max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got / scale, want / scale, rtol=0, atol=TOLERANCE[dtype])


def energy(x, y):
    return ag.exp(-x * x) * y + x / (2 + ag.cos(y))


ENDS = {
    "sum": lambda v: v.sum(),
    "mean": lambda v: ag.mean(v),
    "negative mean": lambda v: -v.mean(),
    "half the sum": lambda v: 0.5 * ag.sum(v) + 1,
    "last axis": lambda v: v.sum(axis=-1),
    "last axis, kept": lambda v: v.mean(-1, keepdims=True),
    "first axis": lambda v: ag.mean(v, axis=0),
    "first axis, kept": lambda v: v.sum(axis=0, keepdims=True),
    "middle axis": lambda v: v.sum(axis=1) / 3.0,
    "last two axes": lambda v: ag.sum(v, axis=(-1, 1)),
    "first two axes": lambda v: v.mean((0, 1)),
    "first and last axis": lambda v: v.sum((0, 2)),
    "all axes, kept": lambda v: v.sum(keepdims=True),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_and_gradients_are_those_of_the_ops(xp, end, dtype):
    def plain(x, y):
        return ENDS[end](energy(x, y))

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((3, 5, 4)), dtype), leaf(xp, numbers((3, 5, 4), 1), dtype)
    got, want = fused(x, y), plain(x, y)
    assert fused.reason is None
    assert got.grad_fn.name == "plain"
    close(got, want, dtype)
    g = leaf(xp, numbers(want.shape, 2), dtype, grad=False)
    for a, b in zip(*(ag.gradients(z, [x, y], g) for z in (got, want)), strict=True):
        close(a, b, dtype)


def names_behind(variable):
    """The names of all nodes of its graph."""
    seen, stack = {}, [variable.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in seen:
            seen[id(node)] = node
            stack += node.next_functions
    return {node.name for node in seen.values()}


@pytest.mark.parametrize("end", ENDS)
def test_second_and_third_order_are_fused(xp, end):
    def plain(x, y):
        return ENDS[end](energy(x, y))

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((3, 2, 4))), leaf(xp, numbers((2, 4), 1))
    results = []
    for f in (fused, plain):
        z = f(x, y)
        first = ag.gradients((z * z).sum(), [x, y], create_graph=True)
        second = ag.gradients(sum((g * g).sum() for g in first), [x, y], create_graph=True)
        third = ag.gradients((second[0] * x).sum() + second[1].sum(), [x, y])
        results.append([*first, *second, *third])
        if f is fused:
            assert fused.reason is None
            names = names_behind(second[0])
            assert {"plain_gradient", "plain_gradient_gradient"} <= names
            assert not names & {"exp", "cos", "divide"}
    for got, want in zip(*results, strict=True):
        close(got, want)


def test_grad_check():
    f = ag.fuse(lambda x, y: -(ag.tanh(x * y) + ag.exp(-x)).mean(axis=0))
    assert ag.grad_check(f, [numbers((3, 4)), numbers(4, 1)])
    assert f.reason is None


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("others", [(4, 1), (1, 5), (5,), (), (4, 5), (3, 1, 1), (3, 4, 1)])
def test_arguments_that_broadcast(xp, axis, others):
    def plain(x, y, z):
        return ag.sum(ag.tanh(x * y) + z * x, axis=axis)

    fused = ag.fuse(plain)
    args = [leaf(xp, numbers(s, i)) for i, s in enumerate([(4, 5), others, ()])]
    if len(others) == 3:
        args[0] = leaf(xp, numbers((3, 4, 5)))
    got, want = fused(*args), plain(*args)
    assert fused.reason is None
    close(got, want)
    g = leaf(xp, numbers(want.shape, 5), grad=False)
    for a, b in zip(*(ag.gradients(v, args, g) for v in (got, want)), strict=True):
        close(a, b)


def test_results_share_no_memory(xp):
    fused = ag.fuse(lambda x: [s := ag.sum(x * x, axis=0), +s, s, s * 2])
    x = leaf(xp, numbers((3, 2)), grad=False)
    results = fused(x)
    assert fused.reason is None
    want = [y.numpy().copy() for y in results]
    results[0].value[...] = 7
    for y, expected in zip(results[1:], want[1:], strict=True):
        np.testing.assert_array_equal(y.numpy(), expected)


def test_several_sums(xp):
    def plain(x, y):
        e = energy(x, y)
        return e.sum(0), ag.mean(x * y, axis=0) - 2 * ag.sum(e * e, axis=0)

    fused = ag.fuse(plain)
    x, y = leaf(xp, numbers((6, 4))), leaf(xp, numbers(4, 1))
    found = []
    for f in (fused, plain):
        a, b = f(x, y)
        one = ag.gradients(b, x, ag.ones_like(b), retain_graph=True)
        found.append([a, b, one, *ag.gradients((a * b).sum(), [x, y])])
    assert fused.reason is None
    for got, want in zip(*found, strict=True):
        close(got, want)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (1, 1), (1, 7), (7, 1)])
@pytest.mark.parametrize("axis", [None, -1])
def test_shapes(xp, shape, axis):
    if axis is not None and not shape:
        pytest.skip("there is no last axis")
    fused = ag.fuse(lambda x: ag.sum(ag.exp(x), axis=axis) * 0.5)
    x = leaf(xp, numbers(shape))
    got, want = fused(x), fused.function(x)
    assert fused.reason is None
    close(got, want)
    g = leaf(xp, numbers(want.shape, 1), grad=False)
    close(ag.gradients(got, x, g), ag.gradients(want, x, g))


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


def test_halves_are_added_up_in_single_precision(xp):
    """In their own digits a sum of ones would end at 2048."""
    fused = ag.fuse(lambda x: ag.sum(x * x))
    x = leaf(xp, np.ones(5000), "float16")
    y = fused(x)
    assert (fused.reason, str(y.dtype), y.item()) == (None, "float16", 5000)
    fused = ag.fuse(lambda x: ag.mean(x * 20))
    assert fused(x).item() == 20
    assert fused.reason is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint8", "float32"])
def test_dtypes_of_sums_and_means(xp, dtype):
    x = ag.Variable(xp.from_host(np.array([[1, 0, 1], [1, 1, 0]], dtype)))
    for f in (
        lambda x: ag.sum(x == 1, axis=0),
        lambda x: ag.mean(x == 1),
        lambda x: ag.sum(x * x),
        lambda x: ag.mean(x * x, axis=1),
        lambda x: ag.sum(x * x, dtype="float64"),
        lambda x: ag.mean(x * x, dtype="float64", axis=(0, 1)),
    ):
        fused = ag.fuse(f)
        close(fused(x), f(x))
        assert fused.reason is None


def test_a_sum_in_another_dtype_has_a_gradient_in_that_of_the_elements(xp):
    fused = ag.fuse(lambda x: ag.sum(ag.exp(x), dtype="float64"))
    x = leaf(xp, numbers(9), "float32")
    y = fused(x)
    assert (fused.reason, str(y.dtype)) == (None, "float64")
    close(ag.gradients(y, x), ag.exp(x).detach(), "float32")


def test_complex():
    fused = ag.fuse(lambda z: ag.sum(z * ag.exp(1j * z) * ag.conj(z), axis=0))
    z = ag.Variable(numbers((6, 2)) + 1j * numbers((6, 2), 1), requires_grad=True)
    got, want = (ag.gradients(ag.abs(f(z)).sum(), z) for f in (fused, fused.function))
    assert fused.reason is None
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


LOSSES = {
    "mse": (F.mse_loss, {}),
    "mse, sum": (F.mse_loss, {"reduction": "sum"}),
    "l1": (F.l1_loss, {}),
    "smooth l1": (F.smooth_l1_loss, {}),
    "huber": (F.huber_loss, {"delta": 0.7}),
    "logits": (F.binary_cross_entropy_with_logits, {}),
    "poisson": (F.poisson_nll_loss, {}),
    "kl": (F.kl_div, {"reduction": "sum"}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_fused_with_what_is_before_them(xp, name):
    loss, options = LOSSES[name]
    fused = ag.fuse(lambda x, t: loss(ag.tanh(x) * 2, t, **options))
    x, t = leaf(xp, numbers((4, 5))), leaf(xp, np.abs(numbers((4, 5), 1)), grad=False)
    got, want = fused(x, t), fused.function(x, t)
    assert fused.reason is None
    close(got, want)
    first = [ag.gradients(y, x, create_graph=True) for y in (got, want)]
    close(*first)
    close(*[ag.gradients((g * g).sum(), x) for g in first])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.sum(), "nothing but sums"),
        (lambda x: (ag.exp(x).sum(), ag.exp(x)), "together with what is none"),
        (lambda x: (ag.exp(x).sum(0), ag.exp(x).sum(1)), "over different axes"),
        (lambda x: ag.exp(x).sum(0) + ag.exp(x).sum(1), "over different axes"),
        (lambda x: ag.exp(x) - ag.exp(x).sum(), "elements with a sum"),
        (lambda x: ag.exp(x).sum(0).sum(), "sums what is a sum"),
        (lambda x: ag.sqrt((x * x).sum()), "its gradient"),
        (lambda x: ag.exp(x).sum(0) * ag.exp(x).mean(0), "its gradient"),
        (lambda x: ag.exp(x).sum(axis=()), "of nothing"),
        (lambda x: ag.exp(x).max(), "max"),
        (lambda x: np.sum(ag.exp(x), where=np.arange(3) > 0), "no argument"),
    ],
)
def test_what_cannot_be_fused_runs_op_by_op(function, reason):
    fused = ag.fuse(function)
    x = ag.Variable(numbers((3, 3)), requires_grad=True)
    results = []
    for f in (fused, function):
        y = f(x)
        results.append(y if isinstance(y, tuple) else (y,))
    assert reason in fused.reason
    for got, want in zip(*results, strict=True):
        close(got, want)
        close(*[ag.gradients(v.sum(), x, retain_graph=True) for v in (got, want)])


def test_without_a_gradient_any_function_may_follow_a_sum(xp):
    fused = ag.fuse(lambda x: ag.sqrt(ag.sum(x * x, axis=0)) / ag.sum(ag.abs(x), axis=0))
    x = leaf(xp, numbers((4, 3)), grad=False)
    close(fused(x), fused.function(x))
    assert fused.reason is None


def test_errors_are_those_of_the_ops():
    fused = ag.fuse(lambda x: ag.exp(x).sum(axis=2))
    with pytest.raises(IndexError, match="axis 2 is out of bounds"):
        fused(ag.Variable(numbers((3, 4))))
    mean = ag.fuse(lambda x: ag.exp(x).mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(mean(ag.Variable(np.ones((0, 2)))).item())
    assert "mean of nothing" in mean.reason


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y: (x * x).sum() + (0 * y).sum(), "different axes, or not of one shape"),
        (lambda x, y: (x * y).sum() * x.shape[1], "depends on the shape of an argument"),
        (lambda x, y: (x * y).sum(axis=x.ndim - 1), None),
    ],
)
def test_arguments_have_their_own_shapes(function, reason):
    fused = ag.fuse(function)
    x, y = ag.Variable(numbers((3, 1)), requires_grad=True), ag.Variable(numbers(4))
    close(fused(x, y), function(x, y))
    assert fused.reason is None if reason is None else reason in fused.reason


def test_the_graph_and_its_release(xp):
    fused = ag.fuse(lambda x: ag.mean(ag.exp(x), axis=0))
    x = leaf(xp, numbers((4, 3)))
    y = fused(x)
    assert y.is_leaf is False
    y.sum().backward()
    close(ag.Variable(x.grad), ag.exp(x).detach() / 4)
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    with ag.no_grad():
        assert fused(x).grad_fn is None


def test_transforms_of_a_fused_sum():
    f = ag.fuse(lambda x: ag.mean(ag.exp(x) * x, axis=-1))
    x, t = ag.Variable(numbers((3, 4))), ag.Variable(numbers((3, 4), 1))
    plain = f.function
    for transform in (
        lambda f: ag.transforms.jacobian(f)(x),
        lambda f: ag.transforms.hessian(lambda x: f(x).sum())(x),
        lambda f: ag.transforms.jvp(f, (x,), (t,))[1],
    ):
        close(transform(f), transform(plain))


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


@pytest.mark.parametrize("axes", [None, 0, (0,), (0, 2)])
def test_sums_over_axes_of_one_element_have_the_dtype_of_sums(axes):
    for dtype in ("bool", "int8", "float32"):
        x = ag.Variable(np.full((1, 4, 1) if axes is not None else (), 1, dtype))
        for f in (
            lambda x: ag.sum(x > 0, axis=axes),
            lambda x: -ag.sum(x > 0, axis=axes) * 3,
            lambda x: ag.sum(x * 1, axis=axes, dtype="float64"),
            lambda x: ag.mean(x * 1, axis=axes),
        ):
            fused = ag.fuse(f)
            close(fused(x), f(x))
            assert fused.reason is None


@pytest.mark.parametrize("dtype", ["int8", "bool", "int32", "uint8", "float16", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_dtype_of_a_sum_that_is_asked_for(xp, dtype, axis):
    if xp.name == "cupy" and dtype.startswith("c"):
        pytest.skip("no fused kernels of complex numbers on a GPU")
    x = ag.Variable(xp.from_host(np.arange(12.0).reshape(3, 4) % 3))
    for f in (
        lambda x: ag.sum(x * x, axis=axis, dtype=dtype),
        lambda x: ag.mean(x * x, axis=axis, dtype=dtype),
    ):
        got, want = ag.fuse(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-3)


def test_zeros_keep_their_sign():
    for shape in ((), (1,), (1, 1), (3,)):
        x = ag.Variable(np.zeros(shape), requires_grad=True)
        y = ag.fuse(lambda x: -x)(x)
        assert np.signbit(y.value).all()
        assert np.signbit(ag.gradients(y, x, ag.Variable(np.zeros(shape))).value).all()


def test_axes_that_the_ops_refuse_are_refused():
    x = ag.Variable(numbers((3, 4)))
    for axis, error in (((0, 0), ValueError), ((0, -2), ValueError), (True, TypeError)):
        with pytest.raises(error):
            ag.fuse(lambda x, axis=axis: ag.exp(x).sum(axis=axis))(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, r: x * r,
        lambda x, r: ag.tanh(x) + r,
        lambda x, r: (x + r).sum(),
        lambda x, r: ag.sum(x * r, axis=0),
        lambda x, r: ag.exp(x * r),
    ],
)
@pytest.mark.parametrize("shape", [(5,), (4, 1), (1, 5), ()])
def test_where_a_gradients_gradient_is_not_fused(function, shape):
    """Op by op it has the argument's own shape, and not that of all arguments."""
    results = []
    for f in (ag.fuse(function), function):
        x, r = leaf(load_backend("numpy"), numbers((4, 5))), ag.Variable(numbers(shape, 1))
        r.requires_grad = True
        y = f(x, r)
        first = ag.gradients((y * y).sum(), [x, r], create_graph=True)
        with ag.nan_safe():
            second = ag.gradients((first[1] * first[1]).sum(), [x, r], create_graph=True)
        third = ag.gradients(second[1].sum(), [x, r], create_graph=True, allow_unused=True)
        results.append([*first, *second, *third])
    for got, want in zip(*results, strict=True):
        if want is None:
            assert got is None or not got.value.any()
        else:
            close(got, want)


@pytest.mark.parametrize("w", [np.array(2.0), ag.Variable(np.array(2.0), requires_grad=True)])
def test_a_number_from_elsewhere_that_may_change(w):
    """It is an array without axes, and may have a gradient."""
    fused = ag.fuse(lambda x: (x * w).sum())
    x = ag.Variable(np.ones(3), requires_grad=True)
    y = fused(x)
    assert "no argument" in fused.reason
    if isinstance(w, ag.Variable):
        assert ag.gradients(y, w).item() == 3
    (w.value if isinstance(w, ag.Variable) else w)[...] = 5
    assert fused(x).item() == 15


def test_a_loss_is_computed_under_autocast_and_outside_of_it():
    plain = lambda x, t: F.mse_loss(ag.tanh(x) * 3, t)  # noqa: E731
    fused = ag.fuse(plain)
    x, t = (leaf(load_backend("numpy"), numbers(5, i), "float16") for i in range(2))
    for inside in (True, False, True):
        with ag.autocast("float16", enabled=inside):
            results = [f(x, t) for f in (fused, plain)]
            assert fused.reason is None
        assert str(results[0].dtype) == ("float32" if inside else "float16")
        close(*results, dtype="float16")
        grads = [ag.gradients(y, x, create_graph=True) for y in results]
        close(*grads, dtype="float16")
        close(*[ag.gradients(g.sum(), x) for g in grads], dtype="float16")


def test_outputs_that_no_gradient_flows_through():
    for f in (
        lambda x, y: (x * y, y * y),
        lambda x, y: (ag.sum(x * y), ag.sum(y * y)),
        lambda x, y: (x * y, x > y),
    ):
        fused = ag.fuse(f)
        x, y = ag.Variable(numbers(3), requires_grad=True), ag.Variable(numbers(3, 1))
        assert [z.requires_grad for z in fused(x, y)] == [True, False]
        assert fused.reason is None
    nothing = ag.fuse(lambda x: ag.sum(x.detach() * 2))
    assert not nothing(x).requires_grad
    assert nothing.reason is None


def test_derivatives_of_several_numbers():
    fused = ag.fuse(lambda x: (ag.exp(x).sum(), (x * x).sum()))
    x = ag.Variable(np.linspace(0, 1, 3))
    for f in (lambda f: f(x), lambda f: f(x)):
        close(*[f(ag.jacobian(lambda v, g=g: g(v)[0] * g(v)[1])) for g in (fused, fused.function)])


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


def test_a_compiled_step_replays_it():
    fused = ag.fuse(lambda x, t: ag.mean(ag.square(ag.tanh(x) - t)))
    results = []
    for loss in (fused, fused.function):
        w = ag.Variable(numbers(6), requires_grad=True)

        def step(t, w=w, loss=loss):
            w.grad = None
            y = loss(w, t)
            y.backward()
            with ag.no_grad():
                w -= 0.1 * ag.Variable(w.grad)
            return y

        run = ag.compile(step)
        values = [run(ag.Variable(numbers(6, i))).item() for i in range(4)]
        results.append([*values, *w.tolist()])
    np.testing.assert_allclose(*results, rtol=1e-12)
