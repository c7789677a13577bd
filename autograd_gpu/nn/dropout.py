"""Dropout as Modules: active in training only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.functional.arguments import check_probability
from autograd_gpu.nn.module import Module
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


class Dropout(Module):
    """Sets elements to 0 with probability `p`; see `functional.dropout`."""

    function: ClassVar[Callable[..., Variable]] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, *, generator: Generator | None = None) -> None:
        super().__init__()
        check_probability(type(self).__name__, p)
        self.p, self.generator = p, generator

    def forward(self, x: Any) -> Variable:
        return type(self).function(x, self.p, self.training, generator=self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(Dropout):
    """Dropout of whole channels of [N, C, L]."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels of [N, C, H, W]."""

    function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """Dropout of whole channels of [N, C, D, H, W]."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean and variance, for SELU; see `functional.alpha_dropout`."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels of [N, C, ...]."""

    function = staticmethod(F.feature_alpha_dropout)
