"""Activations and losses as Modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable


class _Function(Module):
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


class ReLU(_Function):
    """max(x, 0)."""

    function = staticmethod(F.relu)


class ReLU6(_Function):
    """x between 0 and 6."""

    function = staticmethod(F.relu6)


class LeakyReLU(_Function):
    """x, or a fraction of it below 0."""

    function = staticmethod(F.leaky_relu)
    names = ("negative_slope",)


class ELU(_Function):
    """x, or alpha · (exp(x) - 1) below 0."""

    function = staticmethod(F.elu)
    names = ("alpha",)


class SELU(_Function):
    """The ELU that keeps mean and variance."""

    function = staticmethod(F.selu)


class GELU(_Function):
    """x times the normal distribution function of x."""

    function = staticmethod(F.gelu)
    names = ("approximate",)


class SiLU(_Function):
    """x · sigmoid(x)."""

    function = staticmethod(F.silu)


class Mish(_Function):
    """x · tanh(softplus(x))."""

    function = staticmethod(F.mish)


class Tanh(_Function):
    """The hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Sigmoid(_Function):
    """1 / (1 + exp(-x))."""

    function = staticmethod(F.sigmoid)


class Softplus(_Function):
    """log(1 + exp(x))."""

    function = staticmethod(F.softplus)


class Softmax(_Function):
    """exp(x) / sum(exp(x)) over an axis."""

    function = staticmethod(F.softmax)
    names = ("dim",)


class LogSoftmax(_Function):
    """The logarithm of softmax."""

    function = staticmethod(F.log_softmax)
    names = ("dim",)


class CrossEntropyLoss(_Function):
    """See `functional.cross_entropy`."""

    function = staticmethod(F.cross_entropy)
    names = ("weight", "ignore_index", "reduction", "label_smoothing")


class NLLLoss(_Function):
    """See `functional.nll_loss`."""

    function = staticmethod(F.nll_loss)
    names = ("weight", "ignore_index", "reduction")


class MSELoss(_Function):
    """See `functional.mse_loss`."""

    function = staticmethod(F.mse_loss)
    names = ("reduction",)


class L1Loss(_Function):
    """See `functional.l1_loss`."""

    function = staticmethod(F.l1_loss)
    names = ("reduction",)


class HuberLoss(_Function):
    """See `functional.huber_loss`."""

    function = staticmethod(F.huber_loss)
    names = ("reduction", "delta")


class BCEWithLogitsLoss(_Function):
    """See `functional.binary_cross_entropy_with_logits`."""

    function = staticmethod(F.binary_cross_entropy_with_logits)
    names = ("weight", "pos_weight", "reduction")
