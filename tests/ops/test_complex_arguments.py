"""Special functions of complex arguments: the gradient is right, or the call refuses."""

import inspect

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.grad_check import grad_check

# Away from branch cuts, kinks of the real part, and 0.
Z = np.array([0.3 + 0.4j, 1.2 - 0.7j, -0.6 + 0.2j])
OTHER = 1.3
POLYNOMIALS = ("legendre", "laguerre", "chebyt", "chebyu", "hermite", "hermitenorm")
OTHERS = dict.fromkeys(["expn", "polygamma", "multigammaln"], 2)
OTHERS |= {"eval_gegenbauer": 2, "eval_genlaguerre": 2}
OTHERS |= {f"spherical_{kind}n": 2 for kind in "jyik"} | {f"eval_{p}": 2 for p in POLYNOMIALS}


def cases():
    for name in dir(ag.special):
        f = getattr(ag.special, name)
        if name.startswith("_") or inspect.isclass(f) or not inspect.isfunction(inspect.unwrap(f)):
            continue
        if not f.__module__.startswith("autograd_gpu"):
            continue
        parameters = inspect.signature(f).parameters.values()
        needed = [p for p in parameters if p.default is p.empty]
        for i in range(len(needed)):
            yield pytest.param(name, i, len(needed), id=f"{name}-{i}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "position", "count"), list(cases()))
def test_the_gradient_for_a_complex_argument_is_right_or_the_call_refuses(name, position, count):
    f = getattr(ag.special, name)

    def called(z):
        operands = [OTHERS.get(name, OTHER)] * count
        operands[position] = z
        y = f(*operands)
        return y[0] if isinstance(y, tuple) else y

    try:
        y = called(ag.Variable(Z, requires_grad=True))
        if not y.requires_grad or np.isnan(y.value).any():  # SciPy's hyp2f1 has gaps
            return
        y.backward(np.ones(y.shape, y.dtype))
    except (TypeError, NotImplementedError):
        return
    assert grad_check(called, [Z], order=2, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["sinc", "sici", "shichi", "fresnel"])
def test_the_second_result_and_the_top_level_name_too(name):
    f = getattr(ag.special, name)
    if name == "sinc":
        assert grad_check(ag.sinc, [Z], order=2)
    else:
        assert grad_check(lambda z: f(z)[1], [Z], order=2)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "kve"])
def test_bessel_functions_of_a_number_as_order(name):
    assert grad_check(lambda z: getattr(ag.special, name)(1.5, z), [Z + 1], order=2, rtol=1e-3)


def test_hypergeometric_functions_of_numbers_as_parameters():
    z = Z * 0.5
    assert grad_check(lambda z: ag.special.hyp0f1(1.5, z), [z], order=2)
    assert grad_check(lambda z: ag.special.hyp1f1(0.5, 1.5, z), [z], order=2)
    assert grad_check(lambda z: ag.special.hyp2f1(0.5, 1.0, 1.5, z), [z], order=2)


def test_ive_has_no_holomorphic_form():
    with pytest.raises(TypeError, match="ive: z is real"):
        ag.special.ive(1.0, ag.Variable(Z))
