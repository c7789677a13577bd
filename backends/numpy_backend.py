"""NumPy behind the Backend protocol: the namespace in which a CPU run computes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import array_api_compat.numpy as compat
import numpy as np

from autograd_gpu.backends import (
    convolution_nd,
    numpy_activations,
    numpy_adaptive_steps,
    numpy_attention,
    numpy_batch_norm,
    numpy_convolution,
    numpy_ctc,
    numpy_fft,
    numpy_functions,
    numpy_fuse,
    numpy_group_norm,
    numpy_lstm,
    numpy_moment_steps,
    numpy_norm_rows,
    numpy_pooling,
    numpy_rows,
    numpy_steps,
    numpy_sums,
)
from autograd_gpu.backends.numpy_scatter import scatter_add
from autograd_gpu.backends.numpy_shortcuts import shortcuts
from autograd_gpu.backends.numpy_special import erf
from autograd_gpu.backends.philox import random_bits, random_unit
from autograd_gpu.backends.scratch import keep_freed_memory
from autograd_gpu.backends.special_functions import SpecialFunctions
from autograd_gpu.backends.windows import window_layout
from autograd_gpu.recorder import Recorder

Array = np.ndarray[Any, Any]

# NumPy 2 has the array API's own spelling of these, so array_api_compat's wrappers, about 0.3 us
# each and 5 us for clip, would only cost time.
_DIRECT = (
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "matrix_transpose",
    "nonzero",
    "ones",
    "ones_like",
    "permute_dims",
    "sign",
    "tensordot",
    "zeros",
    "zeros_like",
)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """`x` between `min` and `max`, with NumPy's promotion; None is no bound."""
    if x.dtype.kind == "V":  # bfloat16, of which NumPy's makes float32
        if min is not None:
            x = np.maximum(x, x.dtype.type(min) if isinstance(min, int | float) else min)
        if max is not None:
            x = np.minimum(x, x.dtype.type(max) if isinstance(max, int | float) else max)
        return x
    return x.clip(min, max)


def windows(
    x: Array, size: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Array:
    """A read-only view [..., *out, *size] of the windows over the last `len(size)` axes of `x`.

    `out[i] = (n[i] - dilation[i] * (size[i] - 1) - 1) // stride[i] + 1`; ValueError where a window
    is larger than its axis.
    """
    shape, strides = window_layout(x.shape, x.strides, size, stride, dilation)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def namespace() -> ModuleType:
    """array_api_compat's, with functions added and replaced."""
    xp = ModuleType("autograd_gpu.backends.numpy_backend.xp", compat.__doc__)
    names = {k: v for k, v in vars(compat).items() if not k.startswith("__")}
    direct = {name: getattr(np, name) for name in _DIRECT}
    # From 2.1 on NumPy leaves integers as they are, as the array API has it.
    if np.floor(np.int64(1)).dtype.kind == "i":
        direct |= {name: getattr(np, name) for name in ("ceil", "floor", "trunc")}
    vars(xp).update(names)
    vars(xp).update(direct)
    vars(xp).update(numpy_pooling.bound())
    vars(xp).update(
        alignment_gradient=numpy_ctc.alignment_gradient,
        alignments=numpy_ctc.alignments,
        assign=operator.setitem,
        attended=numpy_attention.attended,
        attention_gradients=numpy_attention.attention_gradients,
        batch_norm_gradients=numpy_batch_norm.batch_norm_gradients,
        channel_statistics=numpy_batch_norm.channel_statistics,
        channels_normalised=numpy_batch_norm.channels_normalised,
        blockwise=numpy_functions.blockwise,
        broadcast_to=numpy_functions.broadcast_to,
        clip=clip,
        # Real arrays and numbers return themselves from this method, at the cost of one C call.
        check_indices=numpy_rows.check_indices,
        checked_labels=numpy_rows.checked_labels,
        check_range=numpy_rows.check_range,
        conj=operator.methodcaller("conjugate"),
        COSTLY=numpy_fuse.COSTLY,
        OWN_KERNELS=numpy_activations.OWN_KERNELS,
        fused_kernel=lambda *program: numpy_fuse.FusedKernel(*program, xp),
        erf=erf,
        expm1=numpy_functions.expm1,
        fft=numpy_fft.namespace(),
        masked=numpy_functions.masked,
        mean=numpy_sums.mean,
        minimum=numpy_functions.minimum,
        random_bits=random_bits,
        random_unit=random_unit,
        scatter_add=scatter_add,
        sequence=numpy_lstm.sequence,
        sequence_gradients=numpy_lstm.sequence_gradients,
        special=SpecialFunctions("scipy.special", "pip install scipy"),
        std=numpy_sums.std,
        take=numpy_functions.take,
        var=numpy_sums.var,
        where=numpy_functions.where,
        conv2d=numpy_convolution.conv2d,
        conv2d_input=numpy_convolution.conv2d_input,
        conv2d_weight=numpy_convolution.conv2d_weight,
        gelu_tanh_gradient=numpy_activations.gelu_tanh_gradient,
        gelu_tanh_value=numpy_activations.gelu_tanh_value,
        group_norm_gradients=numpy_group_norm.group_norm_gradients,
        groups_normalised=numpy_group_norm.groups_normalised,
        layer_norm_gradients=numpy_norm_rows.layer_norm_gradients,
        normalised=numpy_norm_rows.layer_norm,
        rms_norm_gradients=numpy_norm_rows.rms_norm_gradients,
        rms_normalised=numpy_norm_rows.rms_normalised,
        softmax_cross_entropy=numpy_rows.softmax_cross_entropy,
        softmax_less_picked=numpy_rows.softmax_less_picked,
        weighted_mean=numpy_rows.weighted_mean,
        windows=windows,
    )
    vars(xp).update(shortcuts())
    vars(xp).update(convolution_nd.bound(xp))
    return xp


class HostUploader:
    """The Uploader of a backend that shares the host's memory."""

    def working(self) -> AbstractContextManager[None]:
        """Nothing to prepare."""
        return nullcontext()

    def send(self, x: Array) -> Array:
        """`x` itself."""
        return x

    def receive(self, sent: Array) -> Array:
        """`sent` itself."""
        return sent


class NumpyBackend:
    """NumPy; see `autograd_gpu.backend.Backend` for what the members mean."""

    name = "numpy"
    array_type: type = np.ndarray

    def __init__(self) -> None:
        keep_freed_memory()
        self.xp: Any = namespace()

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        """An array from a number, a list, or NumPy's own; other libraries' arrays: TypeError."""
        if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray):
            raise TypeError(
                f"expected a NumPy array, a number or a list, got {type(data).__name__}; "
                "arrays of other libraries are not moved silently"
            )
        if isinstance(data, np.ma.MaskedArray):
            raise TypeError(
                "a masked array would lose its mask; use .filled(...), or its .data and "
                "where(mask, ...)"
            )
        return np.asarray(data, dtype)

    def constant(self, data: Any, dtype: Any = None) -> Array:
        """As `asarray`: what the host knows is here already."""
        return self.asarray(data, dtype)

    def to_host(self, x: Array) -> Array:
        """A copy of `x`."""
        return np.array(x)

    def from_host(self, x: Any, device: Any = None) -> Array:
        """A copy of the NumPy array `x`; `device` can only be 'cpu' or None."""
        if device not in (None, "cpu"):
            raise ValueError(f"NumPy arrays live on 'cpu', not on {device!r}")
        return np.array(x)

    def uploader(self) -> HostUploader:
        """Hands on what it is given: it is here already."""
        return HostUploader()

    def recorder(self) -> Recorder:
        """Writes down the calls of NumPy."""
        from autograd_gpu.backends.numpy_recorder import NumpyRecorder

        return NumpyRecorder()

    def device(self, x: Array) -> str:
        """'cpu'."""
        return "cpu"

    def device_count(self) -> int:
        """There is one: the host."""
        return 1

    def device_number(self, x: Array) -> int:
        """Always 0."""
        return 0

    def current_device(self) -> int:
        """Always 0."""
        return 0

    def use_device(self, number: int) -> int:
        """Nothing to change."""
        return 0

    def to_device(self, x: Array, device: Any) -> Array:
        """A copy; `device` can only be 'cpu'."""
        return self.from_host(x, device)

    def synchronize(self) -> None:
        """NumPy is done when a call returns."""

    def memory(self) -> Mapping[str, int]:
        """Empty: NumPy has no pool."""
        return {}

    def advice(self, error: BaseException) -> str | None:
        """NumPy has neither a device nor a compiler."""
        return None

    def index_report(self) -> None:
        """NumPy raises IndexError by itself."""

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """NumPy always raises LinAlgError."""
        return nullcontext()

    def is_shared(self, x: Array) -> bool:
        """Whether `x` is a view of another buffer, or read-only."""
        return x.base is not None or not x.flags.writeable

    def host_generator(self, seed: int) -> np.random.Generator:
        """A generator of random numbers."""
        return np.random.Generator(np.random.PCG64(seed))

    def steps(
        self,
        name: str,
        arrays: Sequence[Sequence[Array | None]],
        options: Callable[[], Mapping[str, Any]],
        copies: Sequence[Array | None] | None = None,
        skip: tuple[Array | None, Array] | None = None,
    ) -> None:
        """`{name}_step` for each of `arrays`; see `autograd_gpu.backend.Backend.steps`."""
        given = options()
        together = _TOGETHER.get(name)
        if together is not None:
            together(arrays, **given)
        else:
            step = getattr(self, f"{name}_step")
            for row in arrays:
                step(*row, **given)
        for row, copy in zip(arrays, copies or (), strict=False):
            if copy is not None:
                copy[...] = row[0]

    def unscale(self, grads: Sequence[Array], inverse: float) -> Array:
        """Multiply `grads` by `inverse` in place; whether any of them was not finite."""
        found = np.zeros((), bool)
        for g in grads:
            found = found | _not_finite(g)
            with np.errstate(invalid="ignore"):  # which has been noticed
                g *= inverse
        return found

    sgd_step = staticmethod(numpy_steps.sgd_step)
    adam_step = staticmethod(numpy_steps.adam_step)
    rmsprop_step = staticmethod(numpy_adaptive_steps.rmsprop_step)
    adagrad_step = staticmethod(numpy_adaptive_steps.adagrad_step)
    lion_step = staticmethod(numpy_adaptive_steps.lion_step)
    average_step = staticmethod(numpy_adaptive_steps.average_step)
    amsgrad_step = staticmethod(numpy_moment_steps.amsgrad_step)
    adamax_step = staticmethod(numpy_moment_steps.adamax_step)
    nadam_step = staticmethod(numpy_moment_steps.nadam_step)
    radam_step = staticmethod(numpy_moment_steps.radam_step)
    lamb_step = staticmethod(numpy_moment_steps.lamb_step)
    adadelta_step = staticmethod(numpy_moment_steps.adadelta_step)
    rprop_step = staticmethod(numpy_moment_steps.rprop_step)


_TOGETHER = {"adam": numpy_steps.adam_steps, "sgd": numpy_steps.sgd_steps}


def _not_finite(x: Array) -> Any:
    """A 0-d bool: extremes are not finite where any element is not, and need no array."""
    if x.dtype.kind != "f":  # complex, or a half type whose extremes NumPy does not know
        return ~np.all(np.isfinite(x))
    return ~(np.isfinite(np.max(x)) & np.isfinite(np.min(x)))


def create() -> NumpyBackend:
    """The backend; NumPy is a dependency, so this always works."""
    return NumpyBackend()
