"""Every primitive on its samples: values, derivatives, dtypes, shapes, and what is saved."""

import inspect

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import (
    TOLERANCE,
    UP_TO_PHASES,
    call,
    close,
    derivatives,
    differentiable,
    in_depth,
    in_dtype,
    missing,
    on_gpu,
    run,
)

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.grad_check import grad_check
from autograd_gpu.primitive import PRIMITIVES

ALL = [
    (name, sample, f"{name}-{i}-{sample.label}")
    for name, samples in SAMPLES.items()
    for i, sample in enumerate(samples)
]


def samples(condition=lambda name, sample: True):
    """Runs a test on the samples for which the condition holds."""
    chosen = [pytest.param(name, s, id=id_) for name, s, id_ in ALL if condition(name, s)]
    return pytest.mark.parametrize(("name", "sample"), chosen)


@pytest.fixture(params=ag.available_backends())
def backend(request, name):
    chosen = load_backend(request.param)
    if reason := missing(name, chosen):
        pytest.skip(reason)
    return chosen


# Convolutions and the like need references of their own; their tests take the table's place.
ELSEWHERE = (
    "attention", "classification", "convolution", "ctc", "dropout", "layers", "losses",
    "normalization", "pooling", "recurrent",
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
        if name in UP_TO_PHASES and on_gpu(backend):
            close(abs(y.numpy()), abs(np.asarray(value)))
        else:
            close(y.numpy(), np.asarray(value))


@samples(lambda name, sample: sample.check and differentiable(name, sample))
def test_derivatives_match_central_differences(name, sample, record_property):
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
    record_property("proofs", 1 + sample.second)


@samples(differentiable)
def test_gradients_have_dtype_and_shape_of_operands(
    name, sample, backend, record_property, request
):
    needs = differentiable(name, sample)
    reference = derivatives(name, sample, sample.operands, needs, load_backend("numpy"))
    others = sample.dtypes if in_depth(request.config, name, sample, backend) else ()
    for dtype in ("float64", *others):
        operands = in_dtype(sample, dtype)
        if operands is None:
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
            if sample.check and not (name in UP_TO_PHASES and on_gpu(backend)):
                close(found[i].numpy(), reference[i].numpy(), TOLERANCE.get(dtype, 1e-9))
                record_property("proofs", 1)


@samples(lambda name, s: differentiable(name, s) and not PRIMITIVES[name].variadic)
def test_only_needed_gradients_are_computed_and_only_what_they_need_is_saved(
    name, sample, record_property
):
    primitive = PRIMITIVES[name]
    needs = differentiable(name, sample)
    numpy = load_backend("numpy")
    together = derivatives(name, sample, sample.operands, needs, numpy)
    heavy = {*primitive.operands, "y"}
    for i in needs:
        alone = derivatives(name, sample, sample.operands, [i], numpy)
        if alone[i] is not None:
            close(alone[i].numpy(), together[i].numpy())
            record_property("proofs", 1)
        ys, _ = run(name, sample, sample.operands, [i], numpy)
        node = next(y.grad_fn for y in ys if y.grad_fn is not None)
        node = node.edges[0] if primitive.outputs else node
        wanted = inspect.signature(primitive.derivatives[primitive.operands[i]]).parameters
        saved = {x for x in heavy if hasattr(node, f"s_{x}")}
        assert saved == heavy & wanted.keys()


@samples(lambda name, sample: sample.gradients is not None)
def test_documented_values(name, sample, backend, record_property):
    needs = differentiable(name, sample)
    assert needs == [i for i, g in enumerate(sample.gradients) if g is not None]
    found = derivatives(name, sample, sample.operands, needs, backend, ones=True)
    for i in needs:
        close(found[i].numpy(), sample.gradients[i], 1e-12)
        record_property("proofs", 1)
