"""Bessel functions of any real order, and spherical ones, for real numbers.

The derivatives are made of the neighbouring orders.  There is none for the order itself.  Those of
any order are scipy.special's alone: CuPy has none of them, and raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.gammas import refuse, whole
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable


def _beside(xp: Namespace, op: Any, v: Any, x: Any, before: float, after: float) -> Any:
    """before f[v - 1] + after f[v + 1], conjugated: the functions are holomorphic."""
    v = v.real  # a number arrives in the dtype of x, and orders are real
    return xp.conj(call(xp, op, v - 1, x) * before + call(xp, op, v + 1, x) * after)


@elementwise(x=lambda xp, g, v, x: g * _beside(xp, jv_, v, x, 0.5, -0.5))
def jv_(xp: Namespace, v: Array, x: Array) -> Array:
    """`jv`."""
    return xp.special.jv(v, x)


@elementwise(x=lambda xp, g, v, x: g * _beside(xp, yv_, v, x, 0.5, -0.5))
def yv_(xp: Namespace, v: Array, x: Array) -> Array:
    """`yv`."""
    return xp.special.yv(v, x)


@elementwise(x=lambda xp, g, v, x: g * _beside(xp, iv_, v, x, 0.5, 0.5))
def iv_(xp: Namespace, v: Array, x: Array) -> Array:
    """`iv`."""
    return xp.special.iv(v, x)


@elementwise(x=lambda xp, g, v, x: g * _beside(xp, kv_, v, x, -0.5, -0.5))
def kv_(xp: Namespace, v: Array, x: Array) -> Array:
    """`kv`."""
    return xp.special.kv(v, x)


def _ive(xp: Namespace, g: Any, v: Any, x: Any, y: Any) -> Any:
    both = call(xp, ive_, v - 1, x) + call(xp, ive_, v + 1, x)
    return g * (both * 0.5 - xp.sign(x) * y)


@elementwise(x=_ive)
def ive_(xp: Namespace, v: Array, x: Array) -> Array:
    """`ive`."""
    return xp.special.ive(v, x)


def _kve(xp: Namespace, g: Any, v: Any, x: Any, y: Any) -> Any:
    return g * (xp.conj(y) + _beside(xp, kve_, v, x, -0.5, -0.5))


@elementwise(x=_kve)
def kve_(xp: Namespace, v: Array, x: Array) -> Array:
    """`kve`."""
    return xp.special.kve(v, x)


def jv(v: Any, z: Any, /) -> Variable:
    """The Bessel function of the first kind of order v at real z; differentiable in z.

    >>> ag.special.jv(0.5, Variable([1.0]))
    Variable(array([0.67139673], dtype=float32))
    """
    return jv_(refuse("jv", "v", v), z)


def yv(v: Any, z: Any, /) -> Variable:
    """The Bessel function of the second kind of order v at z > 0; differentiable in z."""
    return yv_(refuse("yv", "v", v), z)


def iv(v: Any, z: Any, /) -> Variable:
    """The modified Bessel function of the first kind of order v at real z; differentiable in z."""
    return iv_(refuse("iv", "v", v), z)


def kv(v: Any, z: Any, /) -> Variable:
    """The modified Bessel function of the second kind of order v at z > 0; differentiable in z."""
    return kv_(refuse("kv", "v", v), z)


def ive(v: Any, z: Any, /) -> Variable:
    """exp(-|z|) * iv(v, z), of real z."""
    if getattr(getattr(z, "dtype", None), "kind", "f") == "c":
        raise TypeError(f"ive: z is real, not {z.dtype}")
    return ive_(refuse("ive", "v", v), z)


def kve(v: Any, z: Any, /) -> Variable:
    """exp(z) * kv(v, z)."""
    return kve_(refuse("kve", "v", v), z)


# Spherical --------------------------------------------------------------------------------------


def _between(xp: Namespace, op: Any, x: Any, n: int, before: float, after: float) -> Any:
    """(before n f[n - 1] + after (n + 1) f[n + 1]) / (2n + 1), which knows no division by x."""
    y = call(xp, op, x, n=n + 1) * (after * (n + 1) / (2 * n + 1))
    return y + call(xp, op, x, n=n - 1) * (before * n / (2 * n + 1)) if n else y


@elementwise(x=lambda xp, g, x, n: g * xp.conj(_between(xp, spherical_jn_, x, n, 1, -1)))
def spherical_jn_(xp: Namespace, x: Array, *, n: int) -> Array:
    """`spherical_jn`."""
    return xp.special.spherical_jn(n, x)


@elementwise(x=lambda xp, g, x, n: g * xp.conj(_between(xp, spherical_in_, x, n, 1, 1)))
def spherical_in_(xp: Namespace, x: Array, *, n: int) -> Array:
    """`spherical_in`."""
    return xp.special.spherical_in(n, x)


@elementwise(x=lambda xp, g, x, n: g * xp.conj(_between(xp, spherical_yn_, x, n, 1, -1)))
def spherical_yn_(xp: Namespace, x: Array, *, n: int) -> Array:
    """`spherical_yn`."""
    return xp.special.spherical_yn(n, x)


@elementwise(x=lambda xp, g, x, n: g * xp.conj(_between(xp, spherical_kn_, x, n, -1, -1)))
def spherical_kn_(xp: Namespace, x: Array, *, n: int) -> Array:
    """`spherical_kn`."""
    return xp.special.spherical_kn(n, x)


def spherical_jn(n: int, z: Any) -> Variable:
    """The spherical Bessel function of the first kind of order n, 0 or more, at real z."""
    return spherical_jn_(z, whole("spherical_jn", "n", n))


def spherical_yn(n: int, z: Any) -> Variable:
    """The spherical Bessel function of the second kind of order n at z > 0."""
    return spherical_yn_(z, whole("spherical_yn", "n", n))


def spherical_in(n: int, z: Any) -> Variable:
    """The modified spherical Bessel function of the first kind of order n at real z."""
    return spherical_in_(z, whole("spherical_in", "n", n))


def spherical_kn(n: int, z: Any) -> Variable:
    """The modified spherical Bessel function of the second kind of order n at z > 0."""
    return spherical_kn_(z, whole("spherical_kn", "n", n))
