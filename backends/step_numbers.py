"""The numbers of optimisers' steps: what they make of learning rates, decays and the step's count.

Every formula is written once and means the same in Python and in C: the host computes with it, and
so does the device where only that knows how many steps have been taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any


@lru_cache(maxsize=16)
def momenta(beta: float, decay: float, step: float) -> float:
    """The product of NAdam's momenta up to `step`; below 1e-20, which counts for nothing, it is
    as it is."""
    product, k = 1.0, 1
    while k <= step and product > 1e-20:
        product *= beta * (1 - 0.5 * 0.96 ** (k * decay))
        k += 1
    return product


MOMENTA = """
__device__ double momenta(double beta, double decay, double step) {
    double product = 1;
    for (int k = 1; k <= step && product > 1e-20; ++k)
        product *= beta * (1 - 0.5 * pow(0.96, k * decay));
    return product;
}
"""
"""The same in C; `pow`, `sqrt` and `fmax` are there."""

_IN_PYTHON = {"momenta": momenta, "pow": math.pow, "sqrt": math.sqrt, "fmax": max}


@dataclass(frozen=True, eq=False)  # each is one of a kind
class Numbers:
    """A step's options, which are its first numbers, and formulas for others, one after another."""

    options: tuple[str, ...]
    formulas: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, options: str, formulas: str = "") -> Numbers:
        """`formulas` has a line `name = expression` for each."""
        lines = [line.split(" = ") for line in formulas.splitlines() if line.strip()]
        return cls(tuple(options.split()), tuple([(a.strip(), b.strip()) for a, b in lines]))

    @property
    def names(self) -> tuple[str, ...]:
        """Of all numbers, in their order."""
        return (*self.options, *[name for name, _ in self.formulas])

    @cached_property
    def values(self) -> Callable[..., tuple[float, ...]]:
        """A function from options, by name, to all numbers."""
        body = "".join(f"    {name} = {formula}\n" for name, formula in self.formulas)
        source = f"def values(*, {', '.join(self.options)}):\n{body}    return "
        scope: dict[str, Any] = dict(_IN_PYTHON)
        exec(compile(f"{source}{', '.join(self.names)},", "<numbers of a step>", "exec"), scope)
        values: Callable[..., tuple[float, ...]] = scope["values"]
        return values

    def named(self, **options: Any) -> dict[str, float]:
        """All numbers by their names."""
        return dict(zip(self.names, self.values(**options), strict=True))


_MEANS = """
    keep1 = 1 - beta1
    keep2 = 1 - beta2
"""
_DECAY = """
    shrink = 1 - lr * weight_decay * decoupled
    decay = weight_decay * (1 - decoupled)
"""

SGD = Numbers.of(
    "lr momentum dampening weight_decay nesterov first",
    "keep = 1 - dampening",
)
ADAM = Numbers.of(
    "lr beta1 beta2 eps weight_decay decoupled step",
    f"""{_MEANS}{_DECAY}
    root = sqrt(1 - pow(beta2, step))
    size = lr * root / (1 - pow(beta1, step))
    small = eps * root
    """,
)
RMSPROP = Numbers.of("lr alpha eps weight_decay momentum")
ADAGRAD = Numbers.of(
    "lr lr_decay eps weight_decay step",
    "size = lr / (1 + (step - 1) * lr_decay)",
)
LION = Numbers.of(
    "lr beta1 beta2 weight_decay",
    f"""{_MEANS}
    shrink = 1 - lr * weight_decay
    """,
)
ADAMAX = Numbers.of(
    "lr beta1 beta2 eps weight_decay step",
    f"""{_MEANS}
    size = lr / (1 - pow(beta1, step))
    """,
)
# The momenta of this step and the next, and what they leave of the gradient and its mean.
NADAM = Numbers.of(
    "lr beta1 beta2 eps weight_decay momentum_decay decoupled step",
    f"""{_MEANS}{_DECAY}
    root = sqrt(1 - pow(beta2, step))
    now = beta1 * (1 - 0.5 * pow(0.96, step * momentum_decay))
    following = beta1 * (1 - 0.5 * pow(0.96, (step + 1) * momentum_decay))
    product = momenta(beta1, momentum_decay, step)
    of_grad = lr * (1 - now) / (1 - product)
    of_mean = lr * following / (1 - product * following)
    """,
)
# `most` and `held`: how many gradients the second moment is the mean of, in the end and now.  Up to
# 5 it is not sure, and the formula below is given numbers that it can take.
RADAM = Numbers.of(
    "lr beta1 beta2 eps weight_decay decoupled step",
    f"""{_MEANS}{_DECAY}
    left = 1 - pow(beta2, step)
    most = 2 / (1 - beta2) - 1
    held = most - 2 * step * pow(beta2, step) / left
    sure = held > 5
    a = fmax(held, 5)
    b = fmax(most, 5)
    rectified = sqrt(left * (a - 4) * (a - 2) * b / ((b - 4) * (b - 2) * a))
    size = lr / (1 - pow(beta1, step)) * (sure * rectified + (1 - sure))
    """,
)
LAMB = Numbers.of(
    "lr beta1 beta2 eps weight_decay step",
    f"""{_MEANS}
    left = 1 - pow(beta1, step)
    root = sqrt(1 - pow(beta2, step))
    """,
)
ADADELTA = Numbers.of("lr rho eps weight_decay", "keep = 1 - rho")
RPROP = Numbers.of("less more least most")
AVERAGE = Numbers.of("decay", "keep = 1 - decay")
UNSCALE = Numbers.of("inverse")
