"""Optimisers: they change Variables in place by the gradients in `.grad`."""

from autograd_gpu.optim.adam import Adam as Adam, AdamW as AdamW
from autograd_gpu.optim.clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
)
from autograd_gpu.optim.optimizer import Optimizer as Optimizer
from autograd_gpu.optim.schedules import (
    CosineAnnealingLR as CosineAnnealingLR,
    LambdaLR as LambdaLR,
    StepLR as StepLR,
)
from autograd_gpu.optim.sgd import SGD as SGD
