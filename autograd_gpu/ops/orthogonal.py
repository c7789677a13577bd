"""Orthogonal polynomials of a whole degree, by their recurrences, and so on any backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.ops.arguments import variable
from autograd_gpu.ops.gammas import whole
from autograd_gpu.variable import Variable

Step = Callable[[int, Any, Any, Any], Any]


def _recurrence(op: str, n: Any, x: Any, first: Callable[[Any], Any], step: Step) -> Variable:
    """The n-th of p[0] = 1, p[1] = first(x), p[k + 1] = step(k, x, p[k], p[k - 1])."""
    degree = whole(op, "n", n)
    x = variable(x)
    before, now = x * 0 + 1, first(x)
    if not degree:
        return variable(before)
    for k in range(1, degree):
        before, now = now, step(k, x, now, before)
    return variable(now)


def eval_legendre(n: int, x: Any, /) -> Variable:
    """Legendre's polynomial of degree n at x.

    >>> ag.special.eval_legendre(2, Variable([0.5])).tolist()
    [-0.125]
    """
    return _recurrence(
        "eval_legendre", n, x, lambda x: x,
        lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
    )  # fmt: skip


def eval_chebyt(n: int, x: Any, /) -> Variable:
    """Chebyshev's polynomial of the first kind, cos(n t) at x = cos(t)."""
    return _recurrence("eval_chebyt", n, x, lambda x: x, lambda k, x, p, q: 2 * x * p - q)


def eval_chebyu(n: int, x: Any, /) -> Variable:
    """Chebyshev's polynomial of the second kind, sin((n + 1) t) / sin(t) at x = cos(t)."""
    return _recurrence("eval_chebyu", n, x, lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q)


def eval_hermite(n: int, x: Any, /) -> Variable:
    """Hermite's polynomial with the weight exp(-x²), the physicists'."""
    return _recurrence(
        "eval_hermite", n, x, lambda x: 2 * x, lambda k, x, p, q: 2 * (x * p - k * q)
    )


def eval_hermitenorm(n: int, x: Any, /) -> Variable:
    """Hermite's polynomial with the weight exp(-x² / 2), the probabilists'."""
    return _recurrence("eval_hermitenorm", n, x, lambda x: x, lambda k, x, p, q: x * p - k * q)


def eval_laguerre(n: int, x: Any, /) -> Variable:
    """Laguerre's polynomial of degree n at x."""
    return eval_genlaguerre(n, 0, x)


def eval_genlaguerre(n: int, alpha: Any, x: Any, /) -> Variable:
    """The generalised polynomial of Laguerre; differentiable in alpha too."""
    return _recurrence(
        "eval_genlaguerre", n, x, lambda x: alpha + 1 - x,
        lambda k, x, p, q: ((2 * k + 1 + alpha - x) * p - (k + alpha) * q) / (k + 1),
    )  # fmt: skip


def eval_gegenbauer(n: int, alpha: Any, x: Any, /) -> Variable:
    """Gegenbauer's polynomial of degree n at x; differentiable in alpha too."""
    return _recurrence(
        "eval_gegenbauer", n, x, lambda x: 2 * alpha * x,
        lambda k, x, p, q: (2 * (k + alpha) * x * p - (k + 2 * alpha - 1) * q) / (k + 1),
    )  # fmt: skip
