"""Hypergeometric functions and elliptic integrals, for real numbers.

They are differentiable in the argument, not in the parameters before it.  CuPy has ellipk and the
incomplete integrals alone, and raises NotImplementedError for the others.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.gammas import refuse
from autograd_gpu.ops.nested import call
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable

# Numbers arrive in the dtype of the argument, and parameters are real beside complex ones too.


def _hyp0f1(xp: Namespace, g: Any, v: Any, z: Any) -> Any:
    v = v.real
    return g * xp.conj(call(xp, hyp0f1_, v + 1, z) / v)


def _hyp1f1(xp: Namespace, g: Any, a: Any, b: Any, x: Any) -> Any:
    a, b = a.real, b.real
    return g * xp.conj(call(xp, hyp1f1_, a + 1, b + 1, x) * (a / b))


@elementwise(z=_hyp0f1)
def hyp0f1_(xp: Namespace, v: Array, z: Array) -> Array:
    """`hyp0f1`."""
    return xp.special.hyp0f1(v, z)


@elementwise(x=_hyp1f1)
def hyp1f1_(xp: Namespace, a: Array, b: Array, x: Array) -> Array:
    """`hyp1f1`."""
    return xp.special.hyp1f1(a, b, x)


def _hyp2f1(xp: Namespace, g: Any, a: Any, b: Any, c: Any, z: Any) -> Any:
    a, b, c = a.real, b.real, c.real
    return g * xp.conj(call(xp, hyp2f1_, a + 1, b + 1, c + 1, z) * (a * b / c))


@elementwise(z=_hyp2f1)
def hyp2f1_(xp: Namespace, a: Array, b: Array, c: Array, z: Array) -> Array:
    """`hyp2f1`."""
    return xp.special.hyp2f1(a, b, c, z)


@elementwise(x=lambda xp, g, a, b, x: g * (call(xp, hyperu_, a + 1, b + 1, x) * -a))
def hyperu_(xp: Namespace, a: Array, b: Array, x: Array) -> Array:
    """`hyperu`."""
    return xp.special.hyperu(a, b, x)


def hyp0f1(v: Any, z: Any, /) -> Variable:
    """The confluent hypergeometric limit function 0F1 at real z."""
    return hyp0f1_(refuse("hyp0f1", "v", v), z)


def hyp1f1(a: Any, b: Any, x: Any, /) -> Variable:
    """The confluent hypergeometric function 1F1, Kummer's M."""
    return hyp1f1_(refuse("hyp1f1", "a", a), refuse("hyp1f1", "b", b), x)


def hyp2f1(a: Any, b: Any, c: Any, z: Any, /) -> Variable:
    """Gauss's hypergeometric function 2F1 at real z < 1.

    >>> ag.special.hyp2f1(1.0, 1.0, 1.0, Variable([0.5])).tolist()
    [2.0]
    """
    parameters = [refuse("hyp2f1", name, p) for name, p in zip("abc", (a, b, c), strict=True)]
    return hyp2f1_(*parameters, z)


def hyperu(a: Any, b: Any, x: Any, /) -> Variable:
    """The confluent hypergeometric function of the second kind, Tricomi's U, at x > 0."""
    return hyperu_(refuse("hyperu", "a", a), refuse("hyperu", "b", b), x)


# Elliptic integrals of the parameter m.  The derivatives of complete ones are hypergeometric, which
# unlike quotients by m have no 0 / 0 at 0.


def _gauss(xp: Namespace, a: float, b: float, c: float, m: Any) -> Any:
    zero = 0 * m
    return call(xp, hyp2f1_, a + zero, b + zero, c + zero, m)


@elementwise(m=lambda xp, g, m: g * (_gauss(xp, 1.5, 1.5, 2, m) * (math.pi / 8)))
def ellipk(xp: Namespace, m: Array) -> Array:
    """The complete elliptic integral of the first kind of m < 1, the square of the modulus."""
    return xp.special.ellipk(m)


@elementwise(m=lambda xp, g, m: g * (_gauss(xp, 0.5, 1.5, 2, m) * (-math.pi / 8)))
def ellipe(xp: Namespace, m: Array) -> Array:
    """The complete elliptic integral of the second kind of m < 1."""
    return xp.special.ellipe(m)


def _root(xp: Namespace, phi: Any, m: Any) -> Any:
    return xp.sqrt(1 - m * xp.square(xp.sin(phi)))


def _ellipkinc_m(xp: Namespace, g: Any, phi: Any, m: Any, y: Any) -> Any:
    corner = xp.sin(2 * phi) / (4 * (1 - m) * _root(xp, phi, m))
    return g * (call(xp, ellipeinc, phi, m) / (2 * m * (1 - m)) - y / (2 * m) - corner)


@elementwise(phi=lambda xp, g, phi, m: g / _root(xp, phi, m), m=_ellipkinc_m)
def ellipkinc(xp: Namespace, phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the first kind up to the angle phi; the derivative for m
    is NaN at m = 0."""
    return xp.special.ellipkinc(phi, m)


@elementwise(
    phi=lambda xp, g, phi, m: g * _root(xp, phi, m),
    m=lambda xp, g, phi, m, y: g * ((y - call(xp, ellipkinc, phi, m)) / (2 * m)),
)
def ellipeinc(xp: Namespace, phi: Array, m: Array) -> Array:
    """The incomplete elliptic integral of the second kind up to the angle phi; the derivative for m
    is NaN at m = 0."""
    return xp.special.ellipeinc(phi, m)


def _ellipj(xp: Namespace, g: Any, m: Any, y: Any) -> Any:
    gsn, gcn, gdn, gph = g
    sn, cn, dn, _ = y
    return gsn * (cn * dn) - gcn * (sn * dn) - gdn * (m * sn * cn) + gph * dn


@primitive(u=_ellipj, outputs=True)
def ellipj_(xp: Namespace, u: Array, m: Array) -> tuple[Array, ...]:
    """`ellipj`."""
    return tuple(xp.special.ellipj(u, m))


def ellipj(u: Any, m: Any, /) -> tuple[Variable, Variable, Variable, Variable]:
    """Jacobi's elliptic functions sn, cn, dn and the amplitude ph; differentiable in u."""
    sn, cn, dn, ph = ellipj_(u, refuse("ellipj", "m", m))
    return sn, cn, dn, ph
