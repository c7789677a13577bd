"""Reverse-mode automatic differentiation on CuPy and NumPy arrays."""

from autograd_gpu.backend import BackendError as BackendError
from autograd_gpu.backend import available_backends as available_backends
from autograd_gpu.backend import get_backend as get_backend
from autograd_gpu.backend import set_backend as set_backend
from autograd_gpu.backend import use_backend as use_backend
from autograd_gpu.engine import gradients as gradients
from autograd_gpu.modes import detect_anomaly as detect_anomaly
from autograd_gpu.modes import enable_grad as enable_grad
from autograd_gpu.modes import is_grad_enabled as is_grad_enabled
from autograd_gpu.modes import no_grad as no_grad
from autograd_gpu.modes import set_grad_enabled as set_grad_enabled
from autograd_gpu.ops import *  # noqa: F403
from autograd_gpu.ops import methods as _methods
from autograd_gpu.variable import Variable as Variable
from autograd_gpu.variable import get_default_dtype as get_default_dtype
from autograd_gpu.variable import set_default_dtype as set_default_dtype

del _methods
