"""Reverse-mode automatic differentiation on CuPy and NumPy arrays."""

from autograd_gpu.backend import (
    BackendError as BackendError,
    available_backends as available_backends,
    get_backend as get_backend,
    set_backend as set_backend,
    use_backend as use_backend,
)
from autograd_gpu.engine import gradients as gradients
from autograd_gpu.modes import (
    detect_anomaly as detect_anomaly,
    enable_grad as enable_grad,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from autograd_gpu.ops import *  # noqa: F403
from autograd_gpu.ops import methods as _methods
from autograd_gpu.variable import (
    Variable as Variable,
    get_default_dtype as get_default_dtype,
    set_default_dtype as set_default_dtype,
)

del _methods
