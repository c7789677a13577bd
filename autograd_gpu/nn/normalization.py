"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from autograd_gpu import ops
from autograd_gpu.nn import functional as F, init
from autograd_gpu.nn.function_module import FunctionModule
from autograd_gpu.nn.functional.arguments import as_shape
from autograd_gpu.nn.layers import empty
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.variable import Variable


def _affine(module: Module, shape: tuple[int, ...], weight: bool, bias: bool, dtype: Any) -> None:
    """Weight 1 and bias 0, or None for those that are not wanted."""
    for name, wanted, fill in (("weight", weight, init.ones_), ("bias", bias, init.zeros_)):
        parameter = Parameter(empty(*shape, dtype=dtype)) if wanted else None
        if parameter is not None:
            fill(parameter)
        module.register_parameter(name, parameter)


class LayerNorm(Module):
    """Normalises over the last axes; see `functional.layer_norm`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)

    def forward(self, x: Any) -> Variable:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last axes; see `functional.rms_norm`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        _affine(self, self.normalized_shape, elementwise_affine, False, dtype)

    def forward(self, x: Any) -> Variable:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalises over groups of channels; see `functional.group_norm`."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels in {num_groups} groups")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        _affine(self, (num_channels,), affine, affine and bias, dtype)

    def forward(self, x: Any) -> Variable:
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _Tracking(Module):
    """What batch and instance norm share: weight, bias and running statistics, [C] each."""

    axes: ClassVar[tuple[int, ...]]
    ignored_state = ("num_batches_tracked",)

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float,
        affine: bool,
        bias: bool,
        track_running_stats: bool,
        dtype: Any,
    ) -> None:
        if momentum is None:  # PyTorch's plain average of all batches
            raise ValueError(f"{type(self).__name__}: momentum is a number, not None")
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        _affine(self, (num_features,), affine, affine and bias, dtype)
        mean = init.zeros_(Variable(empty(num_features, dtype=dtype)))
        var = init.ones_(Variable(empty(num_features, dtype=dtype)))
        self.register_buffer("running_mean", mean if track_running_stats else None)
        self.register_buffer("running_var", var if track_running_stats else None)

    def _check(self, x: Any, channels: int) -> None:
        if len(x.shape) not in self.axes or x.shape[channels] != self.num_features:
            axes = " or ".join(map(str, self.axes))
            raise ValueError(
                f"{type(self).__name__}: x must have {axes} axes and {self.num_features} "
                f"channels, not {list(x.shape)}"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Tracking):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        bias: bool = True,
        *,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, dtype)

    def forward(self, x: Any) -> Variable:
        self._check(x, 1)
        return F.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalises the channels of [N, C] or [N, C, L] over a batch; see `functional.batch_norm`."""

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises the channels of [N, C, H, W] over a batch; see `functional.batch_norm`."""

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises the channels of [N, C, D, H, W] over a batch; see `functional.batch_norm`."""

    axes = (5,)


class _InstanceNorm(_Tracking):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        bias: bool = True,
        *,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, bias, track_running_stats, dtype)

    def forward(self, x: Any) -> Variable:
        single = len(x.shape) == self.axes[0]  # no batch
        self._check(x, 0 if single else 1)
        y = F.instance_norm(
            ops.expand_dims(x, axis=0) if single else x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum,
            self.eps,
        )
        return y[0] if single else y


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each of [N, C, L] by itself; see `functional.instance_norm`."""

    axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each of [N, C, H, W] by itself."""

    axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each of [N, C, D, H, W] by itself."""

    axes = (4, 5)


class LocalResponseNorm(FunctionModule):
    """Divides by what neighbouring channels have; see `functional.local_response_norm`."""

    function = staticmethod(F.local_response_norm)
    names = ("size", "alpha", "beta", "k")

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
