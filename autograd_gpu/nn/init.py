"""Initial values, set in place; drawn on the host, so equal on every backend.

A trailing underscore says that the argument is changed.  Each function returns it.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import backend_of, load_backend
from autograd_gpu.placement import backend_beside
from autograd_gpu.random import Generator, default_generator
from autograd_gpu.variable import Variable


def _set(x: Variable, values: Any) -> Variable:
    """Give `x` the values of a host array, in its own dtype and place."""
    old = x.value
    backend = backend_of(old)
    device = None if backend.name == "numpy" else backend.device(old)
    x.value = backend.from_host(values.astype(old.dtype), device)
    return x


def uniform_(
    x: Variable, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Variable:
    """Uniform in [a, b)."""
    return _set(x, (generator or default_generator()).uniform(x.shape, a, b))


def normal_(
    x: Variable, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Variable:
    """Normal with that mean and standard deviation."""
    return _set(x, (generator or default_generator()).normal(x.shape, mean, std))


def trunc_normal_(
    x: Variable,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Variable:
    """Normal with that mean and standard deviation, drawn again until it is within [a, b].

    >>> x = init.trunc_normal_(Variable(np.zeros(1000)), std=2.0, a=-1.0, b=1.0)
    >>> bool((abs(x.value) <= 1).all())
    True
    """
    low, high = (a - mean) / std, (b - mean) / std
    if not low < high or low > 6 or high < -6:
        raise ValueError(f"trunc_normal_: nothing of mean {mean} and std {std} is in [{a}, {b}]")
    draw = generator or default_generator()
    values = draw.normal(x.shape)
    while True:
        out = (values < low) | (values > high)
        missing = int(out.sum())
        if not missing:
            return _set(x, mean + std * values)
        if high - low < 1:  # too few would be hit: uniform draws, kept by their density
            peak = min(max(low, 0.0), high)
            fresh = draw.uniform((missing,), low, high)
            xp = load_backend("numpy").xp
            density = xp.exp((peak * peak - fresh * fresh) / 2)
            fresh[draw.uniform((missing,)) > density] = math.inf
            values[out] = fresh
        else:
            values[out] = draw.normal((missing,))


def constant_(x: Variable, value: float) -> Variable:
    """`value` everywhere."""
    x.value = backend_beside(x.value).xp.full_like(x.value, value)
    return x


def zeros_(x: Variable) -> Variable:
    """0 everywhere."""
    return constant_(x, 0)


def ones_(x: Variable) -> Variable:
    """1 everywhere."""
    return constant_(x, 1)


def eye_(x: Variable) -> Variable:
    """The identity matrix."""
    if x.ndim != 2:
        raise ValueError(f"eye_: a matrix is needed, not {list(x.shape)}")
    return _set(x, load_backend("numpy").xp.eye(*x.shape))


def fans(x: Variable) -> tuple[int, int]:
    """How many inputs an output of a layer with weight `x` has, and how many outputs an input."""
    if x.ndim < 2:
        raise ValueError(f"a weight with at least two axes is needed, not {list(x.shape)}")
    area = math.prod(x.shape[2:])
    return x.shape[1] * area, x.shape[0] * area


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights have to be larger so that activations keep their variance."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75, "linear": 1.0, "sigmoid": 1.0}
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity.startswith("conv"):
        return 1.0
    raise ValueError(f"no gain is known for {nonlinearity!r}")


def xavier_uniform_(x: Variable, gain: float = 1.0, generator: Generator | None = None) -> Variable:
    """Uniform with standard deviation gain · sqrt(2 / (inputs + outputs)) (Glorot, 2010)."""
    bound = gain * math.sqrt(6 / sum(fans(x)))
    return uniform_(x, -bound, bound, generator)


def xavier_normal_(x: Variable, gain: float = 1.0, generator: Generator | None = None) -> Variable:
    """Normal with standard deviation gain · sqrt(2 / (inputs + outputs)) (Glorot, 2010)."""
    return normal_(x, 0.0, gain * math.sqrt(2 / sum(fans(x))), generator)


def _kaiming_std(x: Variable, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode is 'fan_in' or 'fan_out', not {mode!r}")
    fan = fans(x)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(1, fan))


def kaiming_uniform_(
    x: Variable,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Variable:
    """Uniform with standard deviation gain / sqrt(inputs) (He, 2015).

    `a` is the slope of leaky_relu below 0.
    """
    bound = math.sqrt(3) * _kaiming_std(x, a, mode, nonlinearity)
    return uniform_(x, -bound, bound, generator)


def kaiming_normal_(
    x: Variable,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Variable:
    """Normal with standard deviation gain / sqrt(inputs) (He, 2015); arguments as in
    `kaiming_uniform_`."""
    return normal_(x, 0.0, _kaiming_std(x, a, mode, nonlinearity), generator)


def orthogonal_(x: Variable, gain: float = 1.0, generator: Generator | None = None) -> Variable:
    """Orthonormal rows or columns, whichever are fewer, times `gain` (Saxe, 2013)."""
    if x.ndim < 2:
        raise ValueError(f"orthogonal_: at least two axes are needed, not {list(x.shape)}")
    rows, columns = x.shape[0], math.prod(x.shape[1:])
    long = (max(rows, columns), min(rows, columns))
    draws = (generator or default_generator()).normal(long)
    linalg = load_backend("numpy").xp.linalg
    q, r = linalg.qr(draws)
    q = q * load_backend("numpy").xp.sign(r.diagonal())  # makes the distribution uniform
    return _set(x, gain * (q.T if rows < columns else q).reshape(x.shape))


def dirac_(x: Variable, groups: int = 1) -> Variable:
    """Kernels [O, C / groups, ...] of a convolution that returns its input, as far as there are
    channels.

    >>> init.dirac_(Variable(np.ones((2, 2, 3)))).tolist()
    [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """
    if x.ndim not in (3, 4, 5) or groups < 1 or x.shape[0] % groups:
        raise ValueError(
            f"dirac_: a kernel of 3 to 5 axes is needed, its outputs a multiple of groups={groups},"
            f" not {list(x.shape)}"
        )
    values = load_backend("numpy").xp.zeros(x.shape)
    middle = [n // 2 for n in x.shape[2:]]
    outputs = x.shape[0] // groups
    for group in range(groups):
        for i in range(min(outputs, x.shape[1])):
            values[(group * outputs + i, i, *middle)] = 1
    return _set(x, values)


def sparse_(
    x: Variable, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Variable:
    """A matrix of normal numbers with a part `sparsity` of each column set to 0 (Martens, 2010)."""
    if x.ndim != 2 or not 0 <= sparsity <= 1:
        raise ValueError(
            f"sparse_: a matrix is needed, not {list(x.shape)}, and sparsity={sparsity} in [0, 1]"
        )
    draw = generator or default_generator()
    values = draw.normal(x.shape, 0.0, std)
    zeros = math.ceil(sparsity * x.shape[0])
    for column in range(x.shape[1]):
        values[draw.permutation(x.shape[0])[:zeros], column] = 0
    return _set(x, values)
