"""Special functions under scipy.special's names, differentiable to any order.

`scipy.special.erf(v)` of a Variable ends here too.  Values come from SciPy, on a GPU from
`cupyx.scipy.special`; where SciPy is missing, what needs it raises ImportError.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu import ops as _ops
from autograd_gpu.ops.arguments import variable as _variable
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
    k1 as k1,
    y0 as y0,
    y1 as y1,
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
    betainc as betainc,
    betaln as betaln,
    digamma as digamma,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    lgamma as lgamma,
    polygamma as polygamma,
    refuse as _refuse,
    rgamma as rgamma,
    stdtr as stdtr,
    zeta as zeta,
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

_LN10 = math.log(10)


def exp10(x: Any, /) -> _Variable:
    """10 to the power x."""
    return _ops.exp(_variable(x) * _LN10)


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
    d = int(_refuse("multigammaln", "d", d))
    a = _variable(a)
    y = a * 0 + d * (d - 1) / 4 * math.log(math.pi)
    for j in range(d):
        y = y + gammaln(a - j / 2)
    return _variable(y)


def poch(x: Any, m: Any, /) -> _Variable:
    """gamma(x + m) / gamma(x), for positive arguments."""
    x = _variable(x)
    return _ops.exp(gammaln(x + m) - gammaln(x))


def huber(delta: Any, r: Any, /) -> _Variable:
    """r ** 2 / 2 for |r| <= delta, delta * (|r| - delta / 2) beyond."""
    r = _variable(r)
    size = _ops.abs(r)
    return _ops.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))


def pseudo_huber(delta: Any, r: Any, /) -> _Variable:
    """delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1), and 0 for a delta of 0."""
    r, delta = _variable(r), _variable(delta)
    none = delta == 0
    ratio = r / _ops.where(none, 1.0, delta)
    # The same without the difference of numbers near 1, and without the square of large ones.
    y = r * (r / (1 + _ops.hypot(ratio, 1.0)))
    return _ops.where(none, 0.0, y)


def chdtr(v: Any, x: Any, /) -> _Variable:
    """The share of the chi-squared distribution with v degrees of freedom below x."""
    return gammainc(_half(_refuse("chdtr", "v", v)), _half(x))


def chdtrc(v: Any, x: Any, /) -> _Variable:
    """1 - chdtr(v, x)."""
    return gammaincc(_half(_refuse("chdtrc", "v", v)), _half(x))


def _half(x: Any) -> Any:
    return x / 2
