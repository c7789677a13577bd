"""What the optimisers' steps do to one element, in CUDA; see `cupy_steps` for the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A step on one element of each array.

    `code` changes the elements that `arrays` names, each of a type that has the letter beside the
    name, and computes in C.  Its `numbers` are doubles, which it rounds once; `values` makes them
    of the step's options.
    """

    name: str
    arrays: tuple[tuple[str, str], ...]
    numbers: tuple[str, ...]
    values: Callable[..., tuple[float, ...]]
    code: str


_SGD = """
    C p = C(param), g = C(grad) + C(decay) * p;
    {momentum}
    param = P(p - C(lr) * g);
"""
_SGD_MOMENTUM = """
    const C b = first != 0 ? g : C(momentum) * C(buffer) + C(keep) * g;
    buffer = B(b);
    g = nesterov != 0 ? g + C(momentum) * b : b;
"""
_ADAM = """
    C p = C(param), g = C(grad), m1 = C(m), m2 = C(v);
    p = C(shrink) * p; g = g + C(decay) * p;
    m1 = C(beta1) * m1 + C(keep1) * g;
    m2 = C(beta2) * m2 + C(keep2) * g * g;
    param = P(p - C(size) * m1 / (sqrt(m2) + C(eps)));
    m = M(m1); v = V(m2);
"""
_RMSPROP = """
    C p = C(param), g = C(grad) + C(decay) * p;
    const C s = C(alpha) * C(square) + (C(1) - C(alpha)) * g * g;
    square = S(s);
    C spread = s;
    {centred}
    C d = g / (sqrt(spread) + C(eps));
    {momentum}
    param = P(p - C(lr) * d);
"""
_RMSPROP_CENTRED = """
    const C mean = C(average) + (C(1) - C(alpha)) * (g - C(average));
    average = A(mean);
    spread = s - mean * mean;
"""
_RMSPROP_MOMENTUM = "d = C(momentum) * C(buffer) + d; buffer = B(d);"
_ADAGRAD = """
    C p = C(param), g = C(grad) + C(decay) * p;
    const C t = C(total) + g * g;
    total = T(t);
    param = P(p - C(lr) * g / (sqrt(t) + C(eps)));
"""
_LION = """
    C p = C(param), g = C(grad), m1 = C(m);
    const C c = C(beta1) * m1 + C(keep1) * g;
    const C step = c != c ? c : C((c > C(0)) - (c < C(0)));
    param = P(C(shrink) * p - C(lr) * step);
    m = M(C(beta2) * m1 + C(keep2) * g);
"""
_AVERAGE = "const C p = C(param); param = P(p + C(keep) * (C(grad) - p));"


def _sgd(
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    first: bool,
) -> tuple[float, ...]:
    return lr, weight_decay, momentum, 1 - dampening, nesterov, first


def _adam(
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
) -> tuple[float, ...]:
    root = math.sqrt(1 - beta2**step)
    size = lr * root / (1 - beta1**step)
    shrink, decay = (1 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    return size, shrink, decay, beta1, 1 - beta1, beta2, 1 - beta2, eps * root


def _rmsprop(
    *, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float
) -> tuple[float, ...]:
    return lr, alpha, eps, weight_decay, momentum


def _adagrad(*, lr: float, eps: float, weight_decay: float) -> tuple[float, ...]:
    return lr, eps, weight_decay


def _lion(*, lr: float, beta1: float, beta2: float, weight_decay: float) -> tuple[float, ...]:
    return lr, 1 - lr * weight_decay, beta1, 1 - beta1, beta2, 1 - beta2


def _average(*, decay: float) -> tuple[float, ...]:
    return (1 - decay,)


def _rule(
    name: str, states: str, numbers: str, values: Callable[..., tuple[float, ...]], code: str
) -> Rule:
    """A rule whose states have their names' first letters, as param and grad have P and G."""
    arrays = tuple([(x, x[0].upper()) for x in ("param", "grad", *states.split())])
    return Rule(name, arrays, tuple(numbers.split()), values, code)


def _rmsprop_rule(buffer: bool, average: bool) -> Rule:
    code = _RMSPROP.format(
        centred=_RMSPROP_CENTRED if average else "", momentum=_RMSPROP_MOMENTUM if buffer else ""
    )
    states = "square" + " buffer" * buffer + " average" * average
    return _rule("rmsprop", states, "lr alpha eps decay momentum", _rmsprop, code)


_SGD_NUMBERS = "lr decay momentum keep nesterov first"
_ADAM_NUMBERS = "size shrink decay beta1 keep1 beta2 keep2 eps"
_LION_NUMBERS = "lr shrink beta1 keep1 beta2 keep2"

# By the name of the step and which of its states are given.
RULES = {
    ("sgd", False): _rule("sgd", "", _SGD_NUMBERS, _sgd, _SGD.format(momentum="")),
    ("sgd", True): _rule(
        "momentum", "buffer", _SGD_NUMBERS, _sgd, _SGD.format(momentum=_SGD_MOMENTUM)
    ),
    ("adam", True, True): _rule("adam", "m v", _ADAM_NUMBERS, _adam, _ADAM),
    ("adagrad", True): _rule("adagrad", "total", "lr eps decay", _adagrad, _ADAGRAD),
    ("lion", True): _rule("lion", "m", _LION_NUMBERS, _lion, _LION),
    # the average is what changes, and the value what it follows
    ("average",): _rule("average", "", "keep", _average, _AVERAGE),
} | {
    ("rmsprop", True, buffer, average): _rmsprop_rule(buffer, average)
    for buffer in (False, True)
    for average in (False, True)
}
