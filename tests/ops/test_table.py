"""Every primitive on its samples: values, derivatives, dtypes, shapes, and what is saved."""

import inspect

import numpy as np
import pytest
from samples import SAMPLES

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.engine import gradients
from autograd_gpu.grad_check import grad_check
from autograd_gpu.primitive import PRIMITIVES

ALL = [
    (name, sample, f"{name}-{i}-{sample.label}")
    for name, samples in SAMPLES.items()
    for i, sample in enumerate(samples)
]
FLOATS = {
    "float32": {"f": "float32", "c": "complex64"},
    "float16": {"f": "float16"},
}
TOLERANCE = {"float32": 2e-5, "float16": 2e-2}


def is_float(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def differentiable(name, sample):
    """The positions of the operands that have a derivative and can take one."""
    primitive = PRIMITIVES[name]
    given = primitive.operands * (len(sample.operands) if primitive.variadic else 1)
    return [
        i
        for i, (operand, x) in enumerate(zip(given, sample.operands, strict=True))
        if is_float(x) and operand in primitive.derivatives
    ]


def samples(condition=lambda name, sample: True):
    """Runs a test on the samples for which the condition holds."""
    chosen = [pytest.param(name, s, id=id_) for name, s, id_ in ALL if condition(name, s)]
    return pytest.mark.parametrize(("name", "sample"), chosen)


@pytest.fixture(params=ag.available_backends())
def backend(request):
    return load_backend(request.param)


# Convolutions and the like need references of their own; their tests take the table's place.
ELSEWHERE = (
    "classification", "convolution", "ctc", "dropout", "layers", "losses", "normalization",
    "pooling", "recurrent",
)  # fmt: skip


def test_every_primitive_has_samples():
    prefix = "autograd_gpu.ops."
    mine = {
        name
        for name, primitive in PRIMITIVES.items()
        if (module := primitive.forward.__module__).startswith(prefix)
        and module.removeprefix(prefix) not in ELSEWHERE
    }
    assert mine - SAMPLES.keys() == set()
    assert SAMPLES.keys() - mine == set()


def converted(x, backend):
    return backend.from_host(x) if isinstance(x, np.ndarray) else x


def call(name, operands, statics, backend):
    """The outputs of the op, as a tuple."""
    primitive = PRIMITIVES[name]
    statics = {key: converted(value, backend) for key, value in statics.items()}
    y = (
        primitive.op(operands, **statics)
        if primitive.variadic
        else primitive.op(*operands, **statics)
    )
    return y if primitive.outputs else (y,)


def run(name, sample, operands, needs, backend):
    """The outputs for operands of which those in `needs` require gradients, and the Variables."""
    xs = [
        ag.Variable(backend.from_host(x), requires_grad=i in needs)
        if isinstance(x, np.ndarray)
        else x
        for i, x in enumerate(operands)
    ]
    return call(name, xs, sample.statics, backend), xs


def cotangents(ys, ones, backend):
    rng = np.random.default_rng(0)
    made = []
    for y in ys:
        if y.grad_fn is None:
            made.append(None)
            continue
        g = np.ones(y.shape) if ones else rng.uniform(0.5, 1, y.shape)
        if y.dtype.kind == "c" and not ones:
            g = g + 1j * rng.uniform(0.5, 1, y.shape)
        made.append(backend.from_host(g.astype(y.dtype)))
    return made


def derivatives(name, sample, operands, needs, backend, ones=False):
    """The gradients, by position, for all outputs at once."""
    ys, xs = run(name, sample, operands, needs, backend)
    pairs = [
        (y, g) for y, g in zip(ys, cotangents(ys, ones, backend), strict=True) if g is not None
    ]
    assert pairs, "nothing was recorded"
    found = gradients(
        [y for y, _ in pairs], [xs[i] for i in needs], [g for _, g in pairs], allow_unused=True
    )
    return dict(zip(needs, found, strict=True))


def close(actual, expected, tolerance=1e-10):
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@samples()
def test_value(name, sample, backend):
    expected = sample.reference(*sample.operands, **sample.statics)
    ys, _ = run(name, sample, sample.operands, (), backend)
    expected = expected if PRIMITIVES[name].outputs else (expected,)
    assert len(ys) == len(expected)
    for y, value in zip(ys, expected, strict=True):
        assert type(y) is ag.Variable
        assert type(y.value) is backend.array_type
        assert y.dtype == np.asarray(value).dtype
        assert not y.requires_grad
        close(y.numpy(), np.asarray(value))


@samples(lambda name, sample: sample.check and differentiable(name, sample))
def test_derivatives_match_central_differences(name, sample):
    needs = differentiable(name, sample)
    numpy = load_backend("numpy")

    def f(*given):
        operands = list(sample.operands)
        for i, x in zip(needs, given, strict=True):
            operands[i] = x
        ys = [y for y in call(name, operands, sample.statics, numpy) if y.dtype.kind in "fc"]
        return ys[0] if len(ys) == 1 else sum(ag.sum(y * (i + 1.5)) for i, y in enumerate(ys))

    given = [sample.operands[i] for i in needs]
    grad_check(f, given)
    if sample.second:
        grad_check(f, given, order=2)


@samples(differentiable)
def test_gradients_have_dtype_and_shape_of_operands(name, sample, backend):
    needs = differentiable(name, sample)
    reference = derivatives(name, sample, sample.operands, needs, load_backend("numpy"))
    for dtype in ("float64", *sample.dtypes):
        kinds = FLOATS.get(dtype, {})
        floats = [x for x in sample.operands if is_float(x)]
        if kinds and any(x.dtype.kind not in kinds for x in floats):
            continue
        operands = [
            x.astype(kinds[x.dtype.kind]) if kinds and is_float(x) else x for x in sample.operands
        ]
        if kinds and not all(np.isfinite(x).all() or sample.check is False for x in floats):
            continue
        with np.errstate(all="ignore"):
            found = derivatives(name, sample, operands, needs, backend)
        for i in needs:
            if reference[i] is None:
                assert found[i] is None
                continue
            assert found[i].dtype == operands[i].dtype
            assert found[i].shape == operands[i].shape
            assert type(found[i].value) is backend.array_type
            if sample.check:
                close(found[i].numpy(), reference[i].numpy(), TOLERANCE.get(dtype, 1e-9))


@samples(lambda name, s: differentiable(name, s) and not PRIMITIVES[name].variadic)
def test_only_needed_gradients_are_computed_and_only_what_they_need_is_saved(name, sample):
    primitive = PRIMITIVES[name]
    needs = differentiable(name, sample)
    numpy = load_backend("numpy")
    together = derivatives(name, sample, sample.operands, needs, numpy)
    heavy = {*primitive.operands, "y"}
    for i in needs:
        alone = derivatives(name, sample, sample.operands, [i], numpy)
        if alone[i] is not None:
            close(alone[i].numpy(), together[i].numpy())
        ys, _ = run(name, sample, sample.operands, [i], numpy)
        node = next(y.grad_fn for y in ys if y.grad_fn is not None)
        node = node.edges[0] if primitive.outputs else node
        wanted = inspect.signature(primitive.derivatives[primitive.operands[i]]).parameters
        saved = {x for x in heavy if hasattr(node, f"s_{x}")}
        assert saved == heavy & wanted.keys()


@samples(lambda name, sample: sample.gradients is not None)
def test_documented_values(name, sample, backend):
    needs = differentiable(name, sample)
    assert needs == [i for i, g in enumerate(sample.gradients) if g is not None]
    found = derivatives(name, sample, sample.operands, needs, backend, ones=True)
    for i in needs:
        close(found[i].numpy(), sample.gradients[i], 1e-12)
