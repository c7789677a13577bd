"""Special functions of complex numbers: holomorphic ones, and what is made of them.

The values are scipy.special's.  Of these CuPy has lambertw alone, and raises NotImplementedError
for the others.
"""

from __future__ import annotations

import math
from typing import Any

from autograd_gpu.backend import Array, Namespace
from autograd_gpu.ops.arguments import variable
from autograd_gpu.ops.complexes import real
from autograd_gpu.primitive import elementwise, primitive
from autograd_gpu.variable import Variable


@elementwise(z=lambda xp, g, y: g * xp.conj(xp.exp(-y) / (1 + y)))
def lambertw_(xp: Namespace, z: Array, *, k: int = 0) -> Array:
    """`lambertw`."""
    return xp.special.lambertw(z, k)


def lambertw(z: Any, k: int = 0) -> Variable:
    """The w on branch k with w * exp(w) = z; complex, also of real z.

    >>> ag.special.lambertw(Variable([1.0])).real
    Variable(array([0.56714326], dtype=float32))
    """
    return lambertw_(z, k)


@elementwise(z=lambda xp, g, y: g * xp.conj(y / (1 + y)))
def wrightomega(xp: Namespace, z: Array) -> Array:
    """The w with w + log(w) = z."""
    return xp.special.wrightomega(z)


@elementwise(z=lambda xp, g, z, y: g * xp.conj(2j / math.sqrt(math.pi) - 2 * z * y))
def wofz(xp: Namespace, z: Array) -> Array:
    """The Faddeeva function exp(-z²) * erfc(-1j * z); complex, also of real z."""
    return xp.special.wofz(z)


def voigt_profile(x: Any, sigma: Any, gamma: Any, /) -> Variable:
    """The density of the sum of a normal and a Cauchy variable, of widths `sigma` > 0 and `gamma`.

    >>> ag.special.voigt_profile(Variable([0.0]), 1.0, 1.0)
    Variable(array([0.20870928], dtype=float32))
    """
    width = sigma * math.sqrt(2)
    return variable(real(wofz((x + 1j * gamma) / width)) / (width * math.sqrt(math.pi)))


def _airy(xp: Namespace, g: Any, z: Any, y: Any) -> Any:
    gai, gaip, gbi, gbip = g
    ai, aip, bi, bip = [xp.conj(f) for f in y]
    return gai * aip + gbi * bip + xp.conj(z) * (gaip * ai + gbip * bi)


@primitive(z=_airy, outputs=True)
def airy(xp: Namespace, z: Array) -> tuple[Array, Array, Array, Array]:
    """Airy's functions Ai and Bi with their derivatives, as (Ai, Ai', Bi, Bi')."""
    return tuple(xp.special.airy(z))
