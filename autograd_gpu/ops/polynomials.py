"""Polynomials, as vectors of coefficients with that of the highest power first.

Zeros at the front are kept, since what is a zero is known on the device only.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.ops import linalg
from autograd_gpu.ops.arguments import beside, namespace_of, variable, variables
from autograd_gpu.ops.arithmetic import floating
from autograd_gpu.ops.casts import astype
from autograd_gpu.ops.creation import zeros_like
from autograd_gpu.ops.elementwise import multiply
from autograd_gpu.ops.joining import concat
from autograd_gpu.ops.padding import pad
from autograd_gpu.ops.powers import sqrt
from autograd_gpu.ops.reductions import sum_
from autograd_gpu.ops.shape import reshape
from autograd_gpu.ops.vector_convolution import convolve
from autograd_gpu.variable import Variable


def polyval(p: Any, x: Any) -> Variable:
    """The polynomial with coefficients `p` at `x`.

    >>> polyval([1.0, 0.0, 2.0], Variable([3.0])).tolist()
    [11.0]
    """
    coefficients: Any = p if isinstance(p, (list, tuple)) else variable(p)
    x = variable(x)
    y: Any = multiply(x, 0)
    for i in range(len(coefficients)):
        y = y * x + coefficients[i]
    return variable(y)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Variable:
    """The powers of each element of a vector, as rows; the highest first unless `increasing`."""
    x = variable(x)
    if x.ndim != 1:
        raise ValueError(f"vander: a 1-d array is needed, the shape is {x.shape}")
    if x.dtype.kind in "biu":  # the powers of small integers are large
        x = astype(x, namespace_of(x).result_type(x.dtype, "int64"))
    n = x.shape[0] if N is None else N
    if not n:
        return variable(x[:, None][:, :0])
    ones = Variable(namespace_of(x).ones_like(x.value))
    columns = [ones]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns if increasing else columns[::-1]
    return concat([c[:, None] for c in columns], axis=1)


def _vector(op: str, p: Any) -> Variable:
    p = variable(p)
    p = reshape(p, (1,)) if not p.ndim else p
    if p.ndim != 1 or not p.shape[0]:
        raise ValueError(f"{op}: a vector of coefficients is needed, the shape is {p.shape}")
    return variable(p if p.dtype.kind in "fcV" else astype(p, "float64"))


def _pair(op: str, a: Any, b: Any) -> tuple[Variable, Variable]:
    if not hasattr(a, "dtype") and hasattr(b, "dtype"):
        b = _vector(op, b)
        return _vector(op, beside(b, a)), b
    a = _vector(op, a)
    return a, _vector(op, beside(a, b))


def _of_one_length(op: str, a: Any, b: Any) -> tuple[Variable, Variable]:
    a, b = _pair(op, a, b)
    n = max(a.shape[0], b.shape[0])
    return pad(a, (n - a.shape[0], 0)), pad(b, (n - b.shape[0], 0))


def polyadd(a1: Any, a2: Any) -> Variable:
    """The sum of two polynomials.

    >>> polyadd(Variable([1.0, 2.0]), [9.0, 5.0, 4.0]).tolist()
    [9.0, 6.0, 6.0]
    """
    a, b = _of_one_length("polyadd", a1, a2)
    return variable(a + b)


def polysub(a1: Any, a2: Any) -> Variable:
    """The difference of two polynomials."""
    a, b = _of_one_length("polysub", a1, a2)
    return variable(a - b)


def polymul(a1: Any, a2: Any) -> Variable:
    """The product of two polynomials."""
    return convolve(*_pair("polymul", a1, a2))


def polydiv(u: Any, v: Any) -> tuple[Variable, Variable]:
    """The quotient and the remainder, which has one coefficient less than `v`, or one.

    >>> [p.tolist() for p in polydiv(Variable([3.0, 5.0, 2.0]), [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    u, v = _pair("polydiv", u, v)
    n, m = u.shape[0], v.shape[0]
    if m > n:
        return variable(u[:1] * 0 / v[:1]), u
    quotient, rest = [], u
    for i in range(n - m + 1):
        factor = rest[:1] / v[:1]
        quotient.append(factor)
        rest = rest[1:] - pad(factor * v[1:], (0, n - m - i))
    return concat(quotient), rest if m > 1 else u[:1] * 0


def _order(op: str, m: int) -> int:
    if m < 0:
        raise ValueError(f"{op}: m is 0 or more, not {m}")
    return m


def polyder(p: Any, m: int = 1) -> Variable:
    """The m-th derivative of a polynomial.

    >>> polyder(Variable([1.0, 1.0, 1.0, 1.0])).tolist()
    [3.0, 2.0, 1.0]
    """
    p = _vector("polyder", p)
    for _ in range(_order("polyder", m)):
        powers = namespace_of(p).arange(p.shape[0] - 1, 0, -1, dtype=p.dtype)
        p = variable(p[:-1] * powers if p.shape[0] > 1 else p * 0)
    return variable(p)


def polyint(p: Any, m: int = 1, k: Any = None) -> Variable:
    """The m-th antiderivative of a polynomial, with the constants `k`, one or m of them, or 0.

    >>> polyint(Variable([6.0, 2.0])).tolist()
    [3.0, 2.0, 0.0]
    """
    p = _vector("polyint", p)
    constants = zeros_like(p[:1]) if k is None else _vector("polyint", beside(p, k))
    if constants.shape[0] not in (1, m):
        raise ValueError(f"polyint: k has {constants.shape[0]} constants for m={m}")
    for i in range(_order("polyint", m)):
        powers = namespace_of(p).arange(p.shape[0], 0, -1, dtype=p.dtype)
        last = constants[i : i + 1] if constants.shape[0] > 1 else constants
        p = variable(concat([p / powers, last]))
    return variable(p)


def poly(seq_of_zeros: Any) -> Variable:
    """The polynomial with these zeros, or the characteristic polynomial of a square matrix.

    >>> poly(Variable([1.0, -2.0])).tolist()
    [1.0, 1.0, -2.0]
    """
    z = floating(seq_of_zeros)
    if z.ndim == 2:
        p = poly(linalg.eigvals(z))
        return p if z.dtype.kind == "c" else p.real
    if z.ndim != 1:
        raise ValueError(f"poly: a vector or a square matrix is needed, the shape is {z.shape}")
    one = Variable(namespace_of(z).ones(1, dtype=z.dtype))
    p = one
    for i in range(z.shape[0]):
        p = convolve(p, concat([one, -z[i : i + 1]]))
    return variable(p)


def roots(p: Any) -> Variable:
    """The zeros of a polynomial, complex and in no particular order.

    They are the eigenvalues of its companion matrix.  Zeros that coincide have no gradient.  The
    first coefficient must not be 0.

    >>> roots(Variable([1.0, -3.0, 2.0])).real.tolist()
    [2.0, 1.0]
    """
    p = _vector("roots", p)
    n = p.shape[0] - 1
    first = reshape(-p[1:] / p[0], (1, n))
    if not n:
        return astype(first[0], "complex128")
    below = namespace_of(p).eye(n, dtype=p.dtype)[:-1]
    return linalg.eigvals(concat([first, Variable(below)], axis=0))


def polyfit(x: Any, y: Any, deg: int, *, w: Any = None) -> Variable:
    """The coefficients [deg + 1] of the polynomial that fits the points (x, y) best.

    `x` is [M] and `y` [M], or [M, K] for K polynomials, [deg + 1, K]; the differences count by the
    weights `w` [M].  Differentiable in all three.  There have to be deg + 1 distinct `x`, without
    which LinAlgError is raised (CuPy, which does not look, computes inf or nan).

    >>> polyfit(Variable([0.0, 1.0, 2.0]), [1.0, 3.0, 5.0], 1).round(4).tolist()
    [2.0, 1.0]
    """
    x, y = variables(x, y)
    x = _vector("polyfit", x)
    if deg < 0 or y.ndim not in (1, 2) or y.shape[:1] != x.shape:
        raise ValueError(f"polyfit: x of shape {x.shape}, y of shape {y.shape} and deg={deg}")
    powers = vander(x, deg + 1)
    if w is not None:
        w = _vector("polyfit", beside(x, w))
        powers = powers * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    # As in NumPy, columns of one length are easier to tell apart.
    scale = sqrt(sum_(powers * powers, 0))
    q, r = linalg.qr(powers / scale)
    found = linalg.solve_triangular(r, q.mT @ y)
    return variable(found / (scale[:, None] if y.ndim == 2 else scale))
