"""autograd_gpu.special: dispatch from SciPy, dtypes, refusals, and what happens without SciPy."""

import numpy as np
import pytest
import scipy.special as scipy

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.backends.special_functions import SpecialFunctions

x = np.array([0.3, 0.7, 0.9])
UFUNCS = (
    *("beta", "betaln", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1"),
    *("exp10", "exp2", "expi", "expit", "expm1", "gamma", "gammaln", "i0", "i0e", "i1", "i1e"),
    *("j0", "j1", "k0", "k1", "kl_div", "log1p", "log_expit", "log_ndtr", "logit", "ndtr"),
    *("ndtri", "poch", "psi", "rel_entr", "rgamma", "xlog1py", "xlogy", "y0", "y1", "cbrt"),
    *("huber", "pseudo_huber"),
)


@pytest.mark.parametrize("name", UFUNCS)
def test_scipys_ufuncs_dispatch(name):
    f = getattr(scipy, name)
    operands = [x, x[::-1].copy()][: f.nin]
    vs = [ag.Variable(v, requires_grad=True) for v in operands]
    y = f(*vs) if name not in ("huber", "pseudo_huber") else f(0.5, vs[0])
    expected = f(*operands) if name not in ("huber", "pseudo_huber") else f(0.5, x)
    assert type(y) is ag.Variable
    assert y.requires_grad
    np.testing.assert_allclose(y.value, expected, rtol=1e-12)
    if hasattr(ag.special, name):
        np.testing.assert_array_equal(y.value, getattr(ag.special, name)(*(
            operands if name not in ("huber", "pseudo_huber") else (0.5, x)
        )).value)  # fmt: skip


def test_what_has_no_derivative_is_refused_by_name():
    with pytest.raises(TypeError, match="kolmogorov has no derivative"):
        scipy.kolmogorov(ag.Variable(x, requires_grad=True))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("a", lambda v: ag.special.gammainc(v, x)),
        ("a", lambda v: ag.special.gammaincc(v, x)),
        ("b", lambda v: ag.special.betainc(1.0, v, x)),
        ("x", lambda v: ag.special.zeta(v, x)),
        ("n", lambda v: ag.special.polygamma(v, x)),
        ("df", lambda v: ag.special.stdtr(v, x)),
        ("v", lambda v: ag.special.jv(v, x)),
        ("b", lambda v: ag.special.hyp1f1(1.0, v, x)),
        ("m", lambda v: ag.special.ellipj(x, v)),
    ],
)
def test_a_gradient_that_there_is_no_derivative_for_is_no_silent_loss(name, call):
    with pytest.raises(TypeError, match=f"no derivative for {name}"):
        call(ag.Variable(2.0, requires_grad=True))


@pytest.mark.parametrize("name", ["erfc", "gamma", "j0", "ndtri", "xlogy"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtypes_are_kept(name, dtype):
    f = getattr(ag.special, name)
    operands = [x.astype(dtype), x.astype(dtype)][: 2 if name == "xlogy" else 1]
    y = f(*operands)
    assert y.dtype == dtype
    expected = getattr(scipy, name)(*[v.astype("f8") for v in operands])
    np.testing.assert_allclose(y.value, expected, rtol=2e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("name", ["gamma", "digamma", "loggamma"])
def test_complex_gammas(name, backend):
    if backend not in ag.available_backends():
        pytest.skip("no GPU and not run with --cupy-on-cpu")
    z = np.array([0.4 + 0.3j, 1.7 - 1j, -2.3 + 0.6j])
    f = getattr(ag.special, name)
    on_device = load_backend(backend).from_host(z)
    np.testing.assert_allclose(f(on_device).numpy(), getattr(scipy, name)(z), rtol=1e-13)
    for order in (1, 2):
        assert ag.grad_check(f, [on_device], order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("f", "operands"),
    [
        (lambda x, s, c: ag.special.voigt_profile(x, s, c), [x - 0.5, x + 0.5, x]),
        (lambda x: ag.special.betaincc(1.5, 2.5, x), [x]),
        (lambda x: ag.special.chdtri(3.0, x), [x]),
        (lambda x: ag.special.fdtr(3.0, 5.0, x), [x]),
        (lambda x: ag.special.fdtrc(3.0, 5.0, x), [x]),
        (lambda a, x: ag.special.gdtr(a, 2.5, x), [x, x + 1]),
        (lambda a, x: ag.special.gdtrc(a, 2.5, x), [x, x + 1]),
        (lambda x: ag.special.pdtr(2, x), [x]),
        (lambda x: ag.special.pdtrc(2, x), [x]),
        (lambda x: ag.special.bdtr(2, 5, x), [x]),
        (lambda x: ag.special.bdtrc(2, 5, x), [x]),
        (lambda x: ag.special.nbdtr(2, 5, x), [x]),
        (lambda x: ag.special.nbdtrc(2, 5, x), [x]),
        (ag.special.cosm1, [x]),
        (ag.special.powm1, [x, x - 0.5]),
        (ag.special.boxcox, [x, x - 0.6]),
        (ag.special.boxcox1p, [x, x - 0.6]),
        (ag.special.inv_boxcox, [x, x - 0.6]),
        (ag.special.inv_boxcox1p, [x, x - 0.6]),
        (ag.special.factorial, [x]),
        *[
            (lambda x, name=name: getattr(ag.special, f"eval_{name}")(4, x), [x])
            for name in ("chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre")
        ],
        (lambda a, x: ag.special.eval_gegenbauer(3, a, x), [x, x - 0.2]),
        (lambda a, x: ag.special.eval_genlaguerre(3, a, x), [x, x - 0.2]),
    ],
)
def test_functions_made_of_others(f, operands, order):
    assert ag.grad_check(f, operands, order=order)


def test_their_values():
    for name, arguments in {
        "voigt_profile": (x - 0.5, 0.7, x),
        "betaincc": (1.5, 2.5, x),
        "chdtri": (3.0, x),
        "fdtr": (3.0, 5.0, x),
        "fdtrc": (3.0, 5.0, x),
        "gdtr": (1.5, 2.5, x),
        "gdtrc": (1.5, 2.5, x),
        "pdtr": (2.0, x),
        "pdtrc": (2.0, x),
        "bdtr": (2.0, 5, x),
        "bdtrc": (2.0, 5, x),
        "nbdtr": (2, 5, x),
        "nbdtrc": (2, 5, x),
        "cosm1": (x,),
        "powm1": (x, x - 0.5),
        "boxcox": (x, x - 0.7),
        "boxcox1p": (x, x - 0.7),
        "inv_boxcox": (x, x - 0.7),
        "inv_boxcox1p": (x, x - 0.7),
        "factorial": (x,),
        "jn": (2, x),
        "kn": (2, x),
        "yn": (2, x),
        "expn": (3, x),
        "exprel": (x - 0.7,),
        "sici": (x,),
        "shichi": (x,),
        "eval_gegenbauer": (3, 0.7, x),
        "eval_genlaguerre": (3, 0.7, x),
        **{
            f"eval_{name}": (n, x)
            for name in ("chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre")
            for n in (0, 1, 5)
        },
    }.items():
        found, expected = getattr(ag.special, name)(*arguments), getattr(scipy, name)(*arguments)
        np.testing.assert_allclose(
            [y.value for y in found] if isinstance(found, tuple) else found.value,
            expected, rtol=1e-11, atol=1e-13, err_msg=name,
        )  # fmt: skip


def test_boxcox_at_0():
    v = ag.Variable(np.zeros(3), requires_grad=True)
    (slope,) = ag.gradients(ag.special.boxcox(x, v).sum(), [v], create_graph=True)
    np.testing.assert_allclose(slope.value, np.log(x) ** 2 / 2, rtol=1e-12)
    (bend,) = ag.gradients(slope.sum(), [v])
    np.testing.assert_allclose(bend.value, np.log(x) ** 3 / 3, rtol=1e-12)


@pytest.mark.parametrize("name", ["jv", "expn", "fresnel", "sici", "airy", "ellipk", "owens_t"])
def test_more_of_scipys_ufuncs_dispatch(name):
    f = getattr(scipy, name)
    v = ag.Variable(x, requires_grad=True)
    before = (2,) if name in ("jv", "expn") else (0.5,) if name == "owens_t" else ()
    y, expected = f(*before, v), f(*before, x)
    for ours, theirs in zip(*((y, expected) if f.nout > 1 else ((y,), (expected,))), strict=True):
        assert ours.requires_grad
        np.testing.assert_allclose(ours.value, theirs, rtol=1e-12)


def test_integers_become_floats():
    assert ag.special.gamma(np.array([3, 4])).tolist() == [2.0, 6.0]


def test_sinc_at_0_to_the_fourth_order():
    v = ag.Variable(np.array([0.0, 0.5]), requires_grad=True)
    y = ag.sinc(v)
    found = []
    for _ in range(4):
        y = ag.gradients(y.sum(), v, create_graph=True)
        found.append(y.numpy()[0])
    np.testing.assert_allclose(found, [0, -(np.pi**2) / 3, 0, np.pi**4 / 5], atol=1e-12)


def test_without_scipy_the_error_says_what_to_install():
    functions = SpecialFunctions("no_such_module.special", "pip install scipy")
    with pytest.raises(ImportError, match=r"erfc needs no_such_module.*pip install scipy"):
        functions.erfc(x)


def test_a_function_that_the_module_lacks():
    with pytest.raises(NotImplementedError, match=r"scipy\.special has no such"):
        SpecialFunctions("scipy.special", "").such(x)


def test_reductions_take_scipys_defaults():
    v = ag.Variable(np.array([[0.0, 1.0], [2.0, 3.0]]), requires_grad=True)
    np.testing.assert_allclose(ag.special.softmax(v).numpy().sum(), 1)
    assert ag.special.logsumexp(v, b=np.array([[0.0, 1], [1, 0]])).shape == ()
    assert ag.special.logsumexp(v, axis=1, keepdims=True, b=2.0).shape == (2, 1)


@pytest.mark.parametrize(
    ("call", "at", "slope"),
    [
        (lambda x: ag.special.gammainc(1.0, x), 0.0, 1.0),
        (lambda x: ag.special.gammaincc(1.0, x), 0.0, -1.0),
        (lambda x: ag.special.chdtr(2.0, x), 0.0, 0.5),
        (lambda x: ag.special.betainc(1.0, 1.0, x), 0.0, 1.0),
        (lambda x: ag.special.betainc(2.0, 1.0, x), 1.0, 2.0),
        (lambda x: ag.special.stdtr(3.0, x), 0.0, 2 / (np.pi * np.sqrt(3))),
        (lambda x: ag.special.stdtr(3.0, x), 1e-10, 2 / (np.pi * np.sqrt(3))),
    ],
)
def test_densities_at_the_ends_and_in_the_middle(call, at, slope):
    np.testing.assert_allclose(ag.grad(call)(np.array(at)), slope)


@pytest.mark.parametrize("at", [0.0, 1e-12, 1e-6, 1.0, 3.9, 4.1, 7.0, 15.0])
@pytest.mark.parametrize(
    ("name", "reference"),
    [("j0", scipy.jvp), ("j1", scipy.jvp), ("i0", scipy.ivp), ("i1", scipy.ivp)],
)
def test_derivatives_of_bessel_functions_to_the_fourth_order(name, reference, at):
    f = getattr(ag.special, name)
    for n in range(1, 5):
        f = ag.grad(f)
        expected = reference(int(name[1]), at, n)
        np.testing.assert_allclose(f(np.array(at)), expected, rtol=1e-9, atol=1e-12)


def test_logsumexp_of_a_large_element_that_counts_for_nothing():
    v = ag.Variable(np.array([1e3, 0.0]), requires_grad=True)
    y = ag.special.logsumexp(v, b=np.array([0.0, 2.0]))
    y.backward()
    np.testing.assert_allclose(y.numpy(), np.log(2))
    assert v.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("at", [1e-12, 1e-6, 0.1, 2.9, 3.1, 40.0])
def test_second_derivative_of_i1e(at):
    # (exp(-x) i1)'' = exp(-x) (i1'' - 2 i1' + i1)
    found = ag.grad(ag.grad(ag.special.i1e))(np.array(at))
    expected = scipy.ivp(1, at, 2) - 2 * scipy.ivp(1, at, 1) + scipy.iv(1, at)
    np.testing.assert_allclose(found, np.exp(-at) * expected, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("at", [-40.0, -2.0, -1.0, -1e-10, 0.0, 1e-10, 0.3, 1.0, 2.0, 40.0])
def test_students_t_keeps_its_digits_in_the_middle(at):
    slope = at / np.sqrt(3)
    expected = (slope / (1 + slope**2) + np.arctan(slope)) / np.pi
    found = ag.special.stdtr(np.array(3.0), np.array(at)).item() - 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-16)
