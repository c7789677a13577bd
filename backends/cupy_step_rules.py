"""What the optimisers' steps do to one element, in CUDA; see `cupy_steps` for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_gpu.backends import step_numbers
from autograd_gpu.backends.step_numbers import Numbers


@dataclass(frozen=True, eq=False)  # each is one of a kind
class Rule:
    """A step on one element of each array.

    `code` changes the elements that `arrays` names, each of a type that has the letter beside the
    name, and computes in C; an array in `scalars` has one element, for all.  Its `numbers` are
    doubles, which it rounds once.  `guard` is what a block looks at first; `flag` is 0-d, or null.
    """

    name: str
    arrays: tuple[tuple[str, str], ...]
    numbers: Numbers
    code: str
    scalars: tuple[str, ...] = ()
    guard: str = "if (flag && *flag) return;  // the step is skipped"


_SGD = """
    C p = C(param), g = C(grad) + C(weight_decay) * p;
    {momentum}
    param = P(p - C(lr) * g);
"""
_SGD_MOMENTUM = """
    const C b = first != 0 ? g : C(momentum) * C(buffer) + C(keep) * g;
    buffer = B(b);
    g = nesterov != 0 ? g + C(momentum) * b : b;
"""
_MOMENTS = """
    C p = C(param), g = C(grad), m1 = C(m), m2 = C(v);
    {decay}
    m1 = C(beta1) * m1 + C(keep1) * g;
    m2 = C(beta2) * m2 + C(keep2) * g * g;
    m = M(m1); v = V(m2);
"""
_MOMENTS_DECAYED = _MOMENTS.format(decay="p = C(shrink) * p; g = g + C(decay) * p;")
_ADAM = _MOMENTS_DECAYED + "param = P(p - C(size) * m1 / (sqrt(m2) + C(small)));"
_AMSGRAD = f"""
    {_MOMENTS_DECAYED}
    const C before = C(largest), now = m2 > before || m2 != m2 ? m2 : before;
    param = P(p - C(size) * m1 / (sqrt(now) + C(small)));
    largest = L(now);
"""
_ADAMAX = """
    C p = C(param), g = C(grad) + C(weight_decay) * p;
    const C m1 = C(beta1) * C(m) + C(keep1) * g;
    const C faded = C(beta2) * C(v), now = C(fabs(g)) + C(eps);
    const C m2 = now > faded || now != now ? now : faded;
    param = P(p - C(size) * m1 / m2);
    m = M(m1); v = V(m2);
"""
_NADAM = f"""
    {_MOMENTS_DECAYED}
    param = P(p - (C(of_grad) * g + C(of_mean) * m1) / (sqrt(m2) / C(root) + C(eps)));
"""
_RADAM = f"""
    {_MOMENTS_DECAYED}
    param = P(p - C(size) * (sure != 0 ? m1 / (sqrt(m2) + C(eps)) : m1));
"""
_LAMB_DIRECTION = f"""
    {_MOMENTS.format(decay="")}
    direction = D(m1 / C(left) / (sqrt(m2) / C(root) + C(eps)) + C(weight_decay) * p);
"""
_LAMB = "param = P(C(param) - C(lr) * C(ratio) * C(grad));"
_RMSPROP = """
    C p = C(param), g = C(grad) + C(weight_decay) * p;
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
    C p = C(param), g = C(grad) + C(weight_decay) * p;
    const C t = C(total) + g * g;
    total = T(t);
    param = P(p - C(size) * g / (sqrt(t) + C(eps)));
"""
_ADADELTA = """
    C p = C(param), g = C(grad) + C(weight_decay) * p;
    const C s = C(rho) * C(square) + C(keep) * g * g;
    const C step = sqrt(C(moved) + C(eps)) / sqrt(s + C(eps)) * g;
    square = S(s);
    moved = M(C(rho) * C(moved) + C(keep) * step * step);
    param = P(p - C(lr) * step);
"""
_RPROP = """
    C g = C(grad), turn = g * C(before);
    C s = C(reach) * (turn > C(0) ? C(more) : turn < C(0) ? C(less) : C(1));
    s = s < C(least) ? C(least) : s > C(most) ? C(most) : s;
    if (turn < C(0)) g = C(0);  // no step where the sign turned
    before = B(g);
    reach = R(s);
    param = P(C(param) - (g != g ? g : C((g > C(0)) - (g < C(0)))) * s);
"""
_LION = """
    C p = C(param), g = C(grad), m1 = C(m);
    const C c = C(beta1) * m1 + C(keep1) * g;
    const C step = c != c ? c : C((c > C(0)) - (c < C(0)));
    param = P(C(shrink) * p - C(lr) * step);
    m = M(C(beta2) * m1 + C(keep2) * g);
"""
_AVERAGE = "const C p = C(param); param = P(p + C(keep) * (C(grad) - p));"
_UNSCALE = """
    const C g = C(param);
    if (g - g != C(0)) *flag = 1;  // infinite, or NaN
    param = P(g * C(inverse));
"""


def _rule(name: str, states: str, numbers: Numbers, code: str, scalars: str = "") -> Rule:
    """A rule whose states have their names' first letters, as param and grad have P and G."""
    arrays = tuple([(x, x[0].upper()) for x in ("param", "grad", *states.split())])
    return Rule(name, arrays, numbers, code, tuple(scalars.split()))


def _rmsprop_rule(buffer: bool, average: bool) -> Rule:
    code = _RMSPROP.format(
        centred=_RMSPROP_CENTRED if average else "", momentum=_RMSPROP_MOMENTUM if buffer else ""
    )
    states = "square" + " buffer" * buffer + " average" * average
    return _rule("rmsprop", states, step_numbers.RMSPROP, code)


# By the name of the step and which of its states are given.
RULES = {
    ("sgd", False): _rule("sgd", "", step_numbers.SGD, _SGD.format(momentum="")),
    ("sgd", True): _rule(
        "momentum", "buffer", step_numbers.SGD, _SGD.format(momentum=_SGD_MOMENTUM)
    ),
    ("adam", True, True): _rule("adam", "m v", step_numbers.ADAM, _ADAM),
    ("amsgrad", True, True, True): _rule("amsgrad", "m v largest", step_numbers.ADAM, _AMSGRAD),
    ("adamax", True, True): _rule("adamax", "m v", step_numbers.ADAMAX, _ADAMAX),
    ("nadam", True, True): _rule("nadam", "m v", step_numbers.NADAM, _NADAM),
    ("radam", True, True): _rule("radam", "m v", step_numbers.RADAM, _RADAM),
    ("lamb", True, True, True): _rule(
        "lamb_direction", "m v direction", step_numbers.LAMB, _LAMB_DIRECTION
    ),
    ("lamb", True): _rule("lamb", "ratio", step_numbers.LAMB, _LAMB, "ratio"),
    ("adagrad", True): _rule("adagrad", "total", step_numbers.ADAGRAD, _ADAGRAD),
    ("adadelta", True, True): _rule("adadelta", "square moved", step_numbers.ADADELTA, _ADADELTA),
    ("rprop", True, True): _rule("rprop", "before reach", step_numbers.RPROP, _RPROP),
    ("lion", True): _rule("lion", "m", step_numbers.LION, _LION),
    # the average is what changes, and the value what it follows
    ("average",): _rule("average", "", step_numbers.AVERAGE, _AVERAGE),
    # what changes is the gradient
    ("unscale",): Rule("unscale", (("param", "P"),), step_numbers.UNSCALE, _UNSCALE, guard=""),
} | {
    ("rmsprop", True, buffer, average): _rmsprop_rule(buffer, average)
    for buffer in (False, True)
    for average in (False, True)
}
