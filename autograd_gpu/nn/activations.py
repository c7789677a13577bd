"""Activations as Modules, and what they share with losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable


class FunctionModule(Module):
    """Calls a function with options that are fixed at construction, positional ones by `names`."""

    function: ClassVar[Callable[..., Variable]]
    names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__()
        if len(values) > len(self.names):
            raise TypeError(
                f"{type(self).__name__} takes at most {len(self.names)} arguments: {self.names}"
            )
        self.options = dict(zip(self.names, values, strict=False)) | options
        unknown = self.options.keys() - set(self.names)
        if unknown:
            raise TypeError(f"{type(self).__name__}: unknown {sorted(unknown)}")

    def forward(self, *inputs: Any) -> Variable:
        return type(self).function(*inputs, **self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


class ReLU(FunctionModule):
    """max(x, 0)."""

    function = staticmethod(F.relu)


class Hardtanh(FunctionModule):
    """x between two bounds."""

    function = staticmethod(F.hardtanh)
    names = ("min_val", "max_val")


class Hardsigmoid(FunctionModule):
    """x / 6 + 1 / 2 between 0 and 1."""

    function = staticmethod(F.hardsigmoid)


class Hardswish(FunctionModule):
    """x · hardsigmoid(x)."""

    function = staticmethod(F.hardswish)


class CELU(FunctionModule):
    """max(x, 0) + min(0, alpha · (exp(x / alpha) - 1))."""

    function = staticmethod(F.celu)
    names = ("alpha",)


class GLU(FunctionModule):
    """The first half along an axis times the sigmoid of the second."""

    function = staticmethod(F.glu)
    names = ("dim",)


class LogSigmoid(FunctionModule):
    """log(sigmoid(x))."""

    function = staticmethod(F.logsigmoid)


class Softsign(FunctionModule):
    """x / (1 + abs(x))."""

    function = staticmethod(F.softsign)


class Tanhshrink(FunctionModule):
    """x - tanh(x)."""

    function = staticmethod(F.tanhshrink)


class ReLU6(FunctionModule):
    """x between 0 and 6."""

    function = staticmethod(F.relu6)


class LeakyReLU(FunctionModule):
    """x, or a fraction of it below 0."""

    function = staticmethod(F.leaky_relu)
    names = ("negative_slope",)


class ELU(FunctionModule):
    """x, or alpha · (exp(x) - 1) below 0."""

    function = staticmethod(F.elu)
    names = ("alpha",)


class SELU(FunctionModule):
    """The ELU that keeps mean and variance."""

    function = staticmethod(F.selu)


class GELU(FunctionModule):
    """x times the normal distribution function of x."""

    function = staticmethod(F.gelu)
    names = ("approximate",)


class SiLU(FunctionModule):
    """x · sigmoid(x)."""

    function = staticmethod(F.silu)


class Mish(FunctionModule):
    """x · tanh(softplus(x))."""

    function = staticmethod(F.mish)


class Tanh(FunctionModule):
    """The hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Sigmoid(FunctionModule):
    """1 / (1 + exp(-x))."""

    function = staticmethod(F.sigmoid)


class Softplus(FunctionModule):
    """log(1 + exp(x))."""

    function = staticmethod(F.softplus)


class Softmax(FunctionModule):
    """exp(x) / sum(exp(x)) over an axis."""

    function = staticmethod(F.softmax)
    names = ("dim",)


class Softmin(FunctionModule):
    """softmax(-x) over an axis."""

    function = staticmethod(F.softmin)
    names = ("dim",)


class LogSoftmax(FunctionModule):
    """The logarithm of softmax."""

    function = staticmethod(F.log_softmax)
    names = ("dim",)
