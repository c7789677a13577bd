"""Special functions under scipy.special's names, differentiable to any order.

`scipy.special.erf(v)` of a Variable ends here too.  Values come from SciPy, on a GPU from
`cupyx.scipy.special`; where SciPy is missing, what needs it raises ImportError.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops as _ops
from autograd_gpu.ops.arguments import variable as _variable
from autograd_gpu.ops.arithmetic import pair as _pair
from autograd_gpu.ops.bessel import (
    exp1 as exp1,
    expi as expi,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    j0 as j0,
    j1 as j1,
    k0 as k0,
    k0e as k0e,
    k1 as k1,
    k1e as k1e,
    y0 as y0,
    y1 as y1,
)
from autograd_gpu.ops.bessel_orders import (
    iv as iv,
    ive as ive,
    jv as jv,
    kv as kv,
    kve as kve,
    spherical_in as spherical_in,
    spherical_jn as spherical_jn,
    spherical_kn as spherical_kn,
    spherical_yn as spherical_yn,
    yv as yv,
)
from autograd_gpu.ops.complex_functions import (
    airy as airy,
    lambertw as lambertw,
    voigt_profile as voigt_profile,
    wofz as wofz,
    wrightomega as wrightomega,
)
from autograd_gpu.ops.distributions import (
    bdtr as bdtr,
    bdtrc as bdtrc,
    betainc as betainc,
    betaincc as betaincc,
    betaincinv as betaincinv,
    chdtr as chdtr,
    chdtrc as chdtrc,
    chdtri as chdtri,
    fdtr as fdtr,
    fdtrc as fdtrc,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammainccinv as gammainccinv,
    gammaincinv as gammaincinv,
    gdtr as gdtr,
    gdtrc as gdtrc,
    nbdtr as nbdtr,
    nbdtrc as nbdtrc,
    ndtri_exp as ndtri_exp,
    owens_t as owens_t,
    pdtr as pdtr,
    pdtrc as pdtrc,
    stdtr as stdtr,
    stdtrit as stdtrit,
)
from autograd_gpu.ops.exponentials import (
    exp2 as exp2,
    expm1 as expm1,
    log1p as log1p,
    logsigmoid as _logsigmoid,
    sigmoid as _sigmoid,
)
from autograd_gpu.ops.gammas import (
    beta as beta,
    betaln as betaln,
    binom as binom,
    digamma as digamma,
    gamma as gamma,
    lgamma as lgamma,
    loggamma as loggamma,
    polygamma as polygamma,
    rgamma as rgamma,
    whole as _whole,
    zeta as zeta,
)
from autograd_gpu.ops.hypergeometric import (
    ellipe as ellipe,
    ellipeinc as ellipeinc,
    ellipj as ellipj,
    ellipk as ellipk,
    ellipkinc as ellipkinc,
    hyp0f1 as hyp0f1,
    hyp1f1 as hyp1f1,
    hyp2f1 as hyp2f1,
    hyperu as hyperu,
)
from autograd_gpu.ops.integrals import (
    dawsn as dawsn,
    erfi as erfi,
    expn as expn,
    exprel as exprel,
    fresnel as fresnel,
    log_ratio as _log_ratio,
    shichi as shichi,
    sici as sici,
    spence as spence,
)
from autograd_gpu.ops.orthogonal import (
    eval_chebyt as eval_chebyt,
    eval_chebyu as eval_chebyu,
    eval_gegenbauer as eval_gegenbauer,
    eval_genlaguerre as eval_genlaguerre,
    eval_hermite as eval_hermite,
    eval_hermitenorm as eval_hermitenorm,
    eval_laguerre as eval_laguerre,
    eval_legendre as eval_legendre,
)
from autograd_gpu.ops.powers import cbrt as cbrt
from autograd_gpu.ops.reductions import Axis as _Axis
from autograd_gpu.ops.special import (
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfcinv as erfcinv,
    erfcx as erfcx,
    erfinv as erfinv,
    kl_div as kl_div,
    log_ndtr as log_ndtr,
    logit as logit,
    ndtr as ndtr,
    ndtri as ndtri,
    rel_entr as rel_entr,
    sinc as sinc,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from autograd_gpu.variable import Variable as _Variable

log_expit = _logsigmoid
expit = _sigmoid
gammaln = lgamma
psi = digamma
jn = jv
kn = kv
yn = yv

_LN10 = math.log(10)


def exp10(x: Any, /) -> _Variable:
    """10 to the power x."""
    return _ops.exp(_variable(x) * _LN10)


def cosm1(x: Any, /) -> _Variable:
    """cos(x) - 1, accurate near 0."""
    return _variable(-2 * _ops.square(_ops.sin(_variable(x) / 2)))


def powm1(x: Any, y: Any, /) -> _Variable:
    """x ** y - 1 for x > 0, accurate near x = 1 and y = 0."""
    x, y = _pair(x, y)
    return _ops.expm1(y * _ops.log(x))


def boxcox(x: Any, lmbda: Any, /) -> _Variable:
    """(x ** lmbda - 1) / lmbda, and log(x) for an lmbda of 0; smooth there, and true at x = 0.

    >>> ag.special.boxcox(Variable([4.0]), 0.5).tolist()
    [2.0]
    """
    x, lmbda = _pair(x, lmbda)
    zero = x == 0
    return _boxcox(_ops.log(_ops.where(zero, 1, x)), _ops.where(zero, x, 1), zero, lmbda)


def _boxcox(log: _Variable, base: _Variable, zero: _Variable, lmbda: Any) -> _Variable:
    """`boxcox` by the logarithm, where `zero` holds by the `base` itself."""
    power = zero & (lmbda > 0)
    exponent = _ops.where(power, lmbda, _ops.ones_like(base))
    edge = _ops.where(power, (base**exponent - 1) / exponent, -math.inf)
    return _ops.where(zero, edge, log * exprel(lmbda * log))


def boxcox1p(x: Any, lmbda: Any, /) -> _Variable:
    """boxcox(1 + x, lmbda)."""
    x, lmbda = _pair(x, lmbda)
    zero = x == -1
    return _boxcox(log1p(_ops.where(zero, 0, x)), _ops.where(zero, 1 + x, 1), zero, lmbda)


def inv_boxcox(y: Any, lmbda: Any, /) -> _Variable:
    """The x with boxcox(x, lmbda) = y."""
    y, lmbda = _pair(y, lmbda)
    return _ops.exp(y * _log_ratio(_ops, lmbda * y))


def inv_boxcox1p(y: Any, lmbda: Any, /) -> _Variable:
    """The x with boxcox1p(x, lmbda) = y."""
    y, lmbda = _pair(y, lmbda)
    return expm1(y * _log_ratio(_ops, lmbda * y))


def factorial(n: Any) -> _Variable:
    """gamma(n + 1)."""
    return gamma(_variable(n) + 1)


def softmax(x: Any, /, axis: _Axis = None) -> _Variable:
    """exp(x) / sum(exp(x)) over `axis`, by default over all axes.

    >>> ag.special.softmax(Variable([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    x = _variable(x)
    return _ops.softmax(x, tuple(range(x.ndim)) if axis is None else axis)


def log_softmax(x: Any, /, axis: _Axis = None) -> _Variable:
    """log(softmax(x)) over `axis`, by default over all axes."""
    x = _variable(x)
    return _ops.log_softmax(x, tuple(range(x.ndim)) if axis is None else axis)


def logsumexp(a: Any, /, axis: _Axis = None, b: Any = None, *, keepdims: bool = False) -> _Variable:
    """log(sum(b * exp(a))) over `axis`; b is 1 by default, and not negative."""
    if b is None:
        return _ops.logsumexp(a, axis, keepdims)
    a = _variable(a)
    b = _variable(b)
    if not b.requires_grad:  # what counts for nothing must not overflow
        a = _ops.where(b == 0, -math.inf, a)
    largest = a.detach().max(axis=axis, keepdims=True)
    largest = _ops.where(_ops.isfinite(largest), largest, 0)
    total = (b * _ops.exp(a - largest)).sum(axis=axis, keepdims=True)
    y = _ops.log(total) + largest
    return y if keepdims else _ops.squeeze(y, axis=tuple(range(y.ndim)) if axis is None else axis)


def multigammaln(a: Any, d: int, /) -> _Variable:
    """log of the multivariate gamma function of dimension d."""
    d = _whole("multigammaln", "d", d, 1)
    a = _variable(a)
    y = a * 0 + d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        y = y + gammaln(a - j / 2)
    return _variable(y)


def poch(x: Any, m: Any, /) -> _Variable:
    """gamma(x + m) / gamma(x); NaN where both are infinite."""
    x, m = _pair(x, m)
    size = _ops.exp(gammaln(x + m) - gammaln(x))
    return _variable(size * (_gamma_sign(x + m) * _gamma_sign(x)))


def _gamma_sign(x: Any) -> _Variable:
    """The sign of gamma(x), which below 0 changes from one whole number to the next."""
    x = x.detach()
    return _ops.where(x > 0, 1, 1 - 2 * (_ops.floor(x) % 2))


def huber(delta: Any, r: Any, /) -> _Variable:
    """r ** 2 / 2 for |r| <= delta, delta * (|r| - delta / 2) beyond."""
    r, delta = _pair(r, delta)
    size = _ops.abs(r)
    return _ops.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))


def pseudo_huber(delta: Any, r: Any, /) -> _Variable:
    """delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1), and 0 for a delta of 0."""
    r, delta = _pair(r, delta)
    none = delta == 0
    ratio = r / _ops.where(none, 1.0, delta)
    # The same without the difference of numbers near 1, and without the square of large ones.
    y = r * (r / (1 + _ops.hypot(ratio, 1.0)))
    return _ops.where(none, 0.0, y)
