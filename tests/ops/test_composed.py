"""Functions made of primitives: values against NumPy, first and second derivatives."""

from contextlib import nullcontext

import cupy_on_cpu
import numpy as np
import pytest
import scipy.special as scipy
from composed_cases import CASES, A, B, I, w
from samples.sample import draw

import autograd_gpu as ag
from autograd_gpu.backend import load_backend

SPECIAL = {
    "softmax": (lambda xp, x: xp.softmax(x), [A], 2),
    "softmax axis": (lambda xp, x: xp.softmax(x, axis=0), [A], 2),
    "log_softmax": (lambda xp, x: xp.log_softmax(x), [A], 2),
    "logsumexp": (lambda xp, x: xp.logsumexp(x, axis=1), [A], 2),
    "logsumexp b": (lambda xp, x, b: xp.logsumexp(x, axis=1, b=b), [A, abs(B)], 2),
    "exp10": (lambda xp, x: xp.exp10(x), [A], 2),
    "polygamma": (lambda xp, x: xp.polygamma(2, x), [abs(A)], 2),
    "polygamma 0": (lambda xp, x: xp.polygamma(0, x), [abs(A)], 2),
    "multigammaln": (lambda xp, x: xp.multigammaln(x, 3), [abs(A) + 2], 2),
    "poch": (lambda xp, x: xp.poch(x, 1.5), [abs(A)], 2),
    "huber": (lambda xp, x: xp.huber(0.7, x), [A], 2),
    "pseudo_huber": (lambda xp, x: xp.pseudo_huber(0.7, x), [A], 2),
    "chdtr": (lambda xp, x: xp.chdtr(3.0, x), [abs(A) + 0.1], 2),
    "chdtrc": (lambda xp, x: xp.chdtrc(3.0, x), [abs(A) + 0.1], 2),
    "stdtr": (lambda xp, x: xp.stdtr(3.0, x), [A + 3], 2),
    "expit": (lambda xp, x: xp.expit(x), [A], 2),
    "log_expit": (lambda xp, x: xp.log_expit(x), [A], 2),
    "psi": (lambda xp, x: xp.psi(x), [abs(A)], 2),
    "gammaln": (lambda xp, x: xp.gammaln(x), [abs(A)], 2),
}
OWN = {  # what NumPy lacks, with a reference
    "cumulative_trapezoid": (
        lambda xp, y: xp.cumulative_trapezoid(y, axis=1, initial=0.0),
        lambda y: np.cumsum(np.pad((y[:, 1:] + y[:, :-1]) / 2, ((0, 0), (1, 0))), 1),
        [A],
    ),
    "cumulative_trapezoid x": (
        lambda xp, y, x: xp.cumulative_trapezoid(y, x),
        lambda y, x: np.cumsum((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x), 1),
        [A, w],
    ),
    "cumulative_max": (
        lambda xp, x: xp.cumulative_max(x, axis=0),
        np.maximum.accumulate,
        [draw("cm", (7, 3))],
    ),
    "cumulative_min": (
        lambda xp, x: xp.cumulative_min(x),
        np.minimum.accumulate,
        [draw("cm", (9,))],
    ),
    "logcumsumexp": (
        lambda xp, x: xp.logcumsumexp(x, axis=0),
        lambda x: np.log(np.cumsum(np.exp(x), 0)),
        [draw("lc", (7, 3))],
    ),
    "topk": (lambda xp, x: xp.topk(x, 2).values, lambda x: -np.sort(-x)[:, :2], [A]),
    "topk smallest": (
        lambda xp, x: xp.topk(x, 2, axis=0, largest=False).values,
        lambda x: np.sort(x, 0)[:2],
        [A],
    ),
    "index_add": (
        lambda xp, x, v: xp.index_add(x, [2, 0, 2], v, axis=1, alpha=2.0),
        lambda x, v: (y := x.copy(), np.add.at(y, (slice(None), [2, 0, 2]), 2 * v))[0],
        [A, B[:, :3]],
    ),
    "put_along_axis": (
        lambda xp, x, v: xp.put_along_axis(x, I([[1], [0], [3]]), v, 1),
        lambda x, v: (y := x.copy(), np.put_along_axis(y, I([[1], [0], [3]]), v, 1))[0],
        [A, A[:, :1]],
    ),
}


TABLE = [
    *[(name, "numpy", *case) for name, case in CASES.items()],
    *[(name, "special", *case) for name, case in SPECIAL.items()],
]


@pytest.mark.parametrize(
    ("space", "f", "operands", "order"),
    [pytest.param(*case, id=f"{case[0]}-{name}") for name, *case in TABLE],
)
def test_against_numpy(space, f, operands, order, record_property):
    ours, theirs = (ag, np) if space == "numpy" else (ag.special, scipy)
    with np.errstate(all="ignore"):
        expected = f(theirs, *operands)
    check(lambda *xs: f(ours, *xs), expected, operands, order, record_property)


@pytest.mark.parametrize(
    ("f", "reference", "operands"), [pytest.param(*case, id=name) for name, case in OWN.items()]
)
def test_against_references(f, reference, operands, record_property):
    check(lambda *xs: f(ag, *xs), reference(*operands), operands, 2, record_property)


ANYWHERE = (
    *("diff", "diff edges", "gradient 2", "gradient at", "trapezoid x", "interp", "unwrap"),
    *("convolve full 6 3", "correlate same 4 6", "polyval", "vander", "median axis"),
    *("quantile", "quantile list kept", "partition", "average", "cov", "nanmean 1", "nanstd 0"),
    *("nanmax 0", "nanmedian 1", "diag", "diagonal", "rot90 1", "cross", "block flat"),
    *("array_split", "delete several", "insert several", "insert row", "compress", "fmax finite"),
    *("logaddexp2", "linspace", "polydiv", "polyint 2", "poly", "polyfit several", "roots"),
    *("apply_along_axis", "apply_over_axes", "frexp", "pad reflect {}", "pad wrap {}"),
    *("pad linear_ramp {}", "pad maximum {}", "pad median {'stat_length': (2, 3)}"),
)


WAITS_ON_CUPY = ("compress",)  # for how many elements there are
LISTS = ("quantile list kept", "compress", "index_add")  # which are copied to the device


def counted(backend):
    if backend == "cupy" and cupy_on_cpu.is_started():
        return cupy_on_cpu.counting()
    return nullcontext()


@pytest.mark.parametrize("backend", [b for b in ag.available_backends() if b != "numpy"])
@pytest.mark.parametrize("name", [*ANYWHERE, *OWN])
def test_other_backends_agree(name, backend):
    f, operands = (CASES[name][0], CASES[name][1]) if name in CASES else OWN[name][::2]
    if name == "put_along_axis":
        pytest.skip("its indices are NumPy's here")
    found = []
    for place in ("numpy", backend):
        with ag.use_backend(place):
            xs = [ag.Variable(x).to(place).detach() for x in operands]
            for x in xs:
                x.requires_grad = True
            with counted(place) as c:
                y = f(ag, *xs)
                ag.gradients(y, xs, y.value, retain_graph=True)
            if c is not None:
                assert (c.waits > 0) == (name in WAITS_ON_CUPY), str(c)
                assert (c.to_device > 0) == (name in LISTS), str(c)
            assert type(y.value) is load_backend(place).array_type
            (y * y).sum().backward()
            found.append([y.numpy(), *(load_backend(place).to_host(x.grad) for x in xs)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def check(f, expected, operands, order, record_property):
    found = f(*[ag.Variable(x, requires_grad=True) for x in operands])
    assert type(found) is ag.Variable
    assert found.shape == np.shape(expected)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.value, expected, rtol=1e-10, atol=1e-10)
    if order:
        assert found.requires_grad
    float32 = f(
        *[
            ag.Variable(x.astype("c8" if x.dtype.kind == "c" else "f4"), requires_grad=True)
            for x in operands
        ]
    )
    if float32.dtype != np.float64:
        np.testing.assert_allclose(float32.value, expected, rtol=1e-3, atol=1e-4)

    # Elements that are NaN stay as they are.
    holes = [np.isnan(x) for x in operands]

    def finite(*xs):
        return f(
            *[ag.where(h, np.nan, x) if h.any() else x for h, x in zip(holes, xs, strict=True)]
        )

    filled = [np.where(h, 0.0, x) for h, x in zip(holes, operands, strict=True)]
    for i in range(1, order + 1):
        assert ag.grad_check(finite, filled, order=i)
    record_property("proofs", order)
