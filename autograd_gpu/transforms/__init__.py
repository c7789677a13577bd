"""Derivatives of functions: what takes a function and returns another, or runs it differently."""

from autograd_gpu.transforms.checkpointing import checkpoint as checkpoint
from autograd_gpu.transforms.derivatives import (
    elementwise_grad as elementwise_grad,
    grad as grad,
    value_and_grad as value_and_grad,
)
from autograd_gpu.transforms.jacobians import (
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
)
from autograd_gpu.transforms.products import jvp as jvp, vjp as vjp
