"""RMSprop, Adagrad and Lion steps and moving averages, one kernel launch each."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy as cp

from autograd_gpu.backends.cupy_kernels import real_parts, write_back

Array = Any

_RMSPROP = """
    C p = C(param), g = C(grad) + C(decay) * p;
    const C v = C(alpha) * C(square) + (C(1) - C(alpha)) * g * g;
    square = V(v);
    C spread = v;
    {centred}
    C d = g / (sqrt(spread) + C(eps));
    {momentum}
    param = P(p - C(lr) * d);
"""
_CENTRED = """
    const C mean = C(average) + (C(1) - C(alpha)) * (g - C(average));
    average = A(mean);
    spread = v - mean * mean;
"""
_MOMENTUM = "d = C(momentum) * C(buffer) + d; buffer = B(d);"
_ADAGRAD = """
    C p = C(param), g = C(grad) + C(decay) * p;
    const C v = C(total) + g * g;
    total = V(v);
    param = P(p - C(lr) * g / (sqrt(v) + C(eps)));
"""
_LION = """
    C p = C(param), g = C(grad), m1 = C(m);
    const C c = C(beta1) * m1 + C(keep1) * g;
    const C step = c != c ? c : C((c > C(0)) - (c < C(0)));
    param = P(C(shrink) * p - C(lr) * step);
    m = M(C(beta2) * m1 + C(keep2) * g);
"""
_AVERAGE = "const C a = C(average); average = A(a + C(keep) * (C(x) - a));"


@cache
def _kernel(which: str, compute: str, momentum: bool = False, centred: bool = False) -> Any:
    states = ", B buffer" * momentum + ", A average" * centred
    arguments = {
        "rmsprop": (
            "G grad, float64 lr, float64 alpha, float64 eps, float64 decay, float64 momentum",
            f"P param, V square{states}",
            _RMSPROP.format(
                centred=_CENTRED if centred else "", momentum=_MOMENTUM if momentum else ""
            ),
        ),
        "adagrad": (
            "G grad, float64 lr, float64 eps, float64 decay", "P param, V total", _ADAGRAD
        ),
        "lion": (
            "G grad, float64 lr, float64 shrink, float64 beta1, float64 keep1, float64 beta2, "
            "float64 keep2",
            "P param, M m",
            _LION,
        ),
        "average": ("X x, float64 keep", "A average", _AVERAGE),
    }  # fmt: skip
    inputs, outputs, operation = arguments[which]
    return cp.ElementwiseKernel(
        inputs,
        outputs,
        operation,
        f"autograd_gpu_{which}_step",
        preamble=f"typedef {compute} C;",
    )


def rmsprop_step(
    param: Array,
    grad: Array,
    square: Array,
    buffer: Array | None,
    average: Array | None,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
) -> None:
    """One RMSprop step in place on `param` and the states [same shape], as PyTorch does it.

    `buffer` is None where there is no momentum, `average` where the moments are not centred.
    """
    states = [x for x in (square, buffer, average) if x is not None]
    compute, (p, g, *rest), back = real_parts(param, grad, *states)
    kernel = _kernel("rmsprop", compute, buffer is not None, average is not None)
    kernel(g, lr, alpha, eps, weight_decay, momentum, p, *rest)
    write_back(back, grad)


def adagrad_step(
    param: Array, grad: Array, total: Array, *, lr: float, eps: float, weight_decay: float
) -> None:
    """One Adagrad step in place on `param` and the sum of squares `total` [same shape]."""
    compute, (p, g, v), back = real_parts(param, grad, total)
    _kernel("adagrad", compute)(g, lr, eps, weight_decay, p, v)
    write_back(back, grad)


def lion_step(
    param: Array,
    grad: Array,
    m: Array,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
) -> None:
    """One Lion step in place on `param` and the moment `m` [same shape]."""
    compute, (p, g, m1), back = real_parts(param, grad, m)
    shrink = 1 - lr * weight_decay
    _kernel("lion", compute)(g, lr, shrink, beta1, 1 - beta1, beta2, 1 - beta2, p, m1)
    write_back(back, grad)


def average_step(average: Array, x: Array, *, decay: float) -> None:
    """`average` moved by 1 - `decay` of its distance to `x` [same shape], in place."""
    compute, (a, y), back = real_parts(average, x)
    _kernel("average", compute)(y, 1 - decay, a)
    write_back(back, x)
