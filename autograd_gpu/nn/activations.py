"""Activations as Modules; arguments and values are those of the functions."""

from __future__ import annotations

from typing import Any

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.function_module import FunctionModule
from autograd_gpu.nn.init import constant_
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


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
    """log(1 + exp(beta · x)) / beta."""

    function = staticmethod(F.softplus)
    names = ("beta", "threshold")


class Threshold(FunctionModule):
    """x where it is above a threshold, elsewhere a value."""

    function = staticmethod(F.threshold)
    names = ("threshold", "value")


class Hardshrink(FunctionModule):
    """x, or 0 near 0."""

    function = staticmethod(F.hardshrink)
    names = ("lambd",)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(FunctionModule):
    """x brought nearer to 0."""

    function = staticmethod(F.softshrink)
    names = ("lambd",)

    def extra_repr(self) -> str:
        return str(self.lambd)


class RReLU(Module):
    """x, or below 0 a fraction of it that is random in training; see `functional.rrelu`."""

    def __init__(
        self, lower: float = 1 / 8, upper: float = 1 / 3, *, generator: Generator | None = None
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.generator = lower, upper, generator

    def forward(self, x: Any) -> Variable:
        return F.rrelu(x, self.lower, self.upper, self.training, generator=self.generator)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


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


class Softmax2d(Module):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def forward(self, x: Any) -> Variable:
        if len(x.shape) not in (3, 4):
            raise ValueError(f"Softmax2d: x must be [N, C, H, W], not {list(x.shape)}")
        return F.softmax(x, dim=-3)


class PReLU(Module):
    """x, or a trained fraction of it below 0; see `functional.prelu`."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(empty(num_parameters, dtype=dtype))
        constant_(self.weight, init)

    def forward(self, x: Any) -> Variable:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
