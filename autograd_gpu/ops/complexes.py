"""Parts of complex numbers.

The gradient of a real loss with respect to z is dL/dRe + i dL/dIm.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import BACKENDS, Array, Namespace, find_backend
from autograd_gpu.graph import gradient_edge, make_result, reconnected
from autograd_gpu.modes import recording
from autograd_gpu.ops.trigonometry import atan2
from autograd_gpu.primitive import elementwise
from autograd_gpu.variable import Variable


@elementwise(x=lambda g: g)
def real(xp: Namespace, x: Array) -> Array:
    """The real part.

    >>> z = Variable([1.0 + 2.0j], requires_grad=True)
    >>> real(z).backward(Variable([1.0]))
    >>> z.grad
    array([1.+0.j], dtype=complex64)
    """
    return xp.real(x)


@elementwise(x=lambda g: g * 1j)
def imag(xp: Namespace, x: Array) -> Array:
    """The imaginary part."""
    return xp.imag(x)


@elementwise(x=lambda xp, g: xp.conj(g))
def conj_(xp: Namespace, x: Array) -> Array:
    """The complex conjugate."""
    return xp.conj(x)


def conj(x: Any, /) -> Any:
    """The complex conjugate.

    Real Variables come back as another Variable with the same value and the same place in the
    graph.  A number that a derivative kept comes back as a number, which belongs to no backend.

    >>> conj(Variable(1.0 + 2.0j))
    Variable(array(1.-2.j, dtype=complex64))
    """
    if isinstance(x, Variable):
        if x.value.dtype.kind == "c":
            return conj_(x)
        edge = gradient_edge(x) if recording.get() else None
        return make_result(x.value) if edge is None else reconnected(x.value, edge)
    if type(x) not in BACKENDS and find_backend(x) is not None:
        return x.conjugate()
    return conj_(x)


def angle(x: Any, /) -> Variable:
    """The angle of x in the complex plane, in radians; the gradient at 0 is 0."""
    return atan2(imag(x), real(x))
