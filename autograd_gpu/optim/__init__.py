"""Optimisers: they change Variables in place by the gradients in `.grad`."""

from autograd_gpu.optim.adam import Adam as Adam, AdamW as AdamW
from autograd_gpu.optim.adaptive import Adagrad as Adagrad, Lion as Lion, RMSprop as RMSprop
from autograd_gpu.optim.averaging import EMA as EMA
from autograd_gpu.optim.clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    get_total_norm as get_total_norm,
)
from autograd_gpu.optim.lbfgs import LBFGS as LBFGS
from autograd_gpu.optim.optimizer import Optimizer as Optimizer
from autograd_gpu.optim.scaling import GradScaler as GradScaler
from autograd_gpu.optim.schedules import (
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiStepLR as MultiStepLR,
    OneCycleLR as OneCycleLR,
    ReduceLROnPlateau as ReduceLROnPlateau,
    Schedule as Schedule,
    SequentialLR as SequentialLR,
    StepLR as StepLR,
)
from autograd_gpu.optim.sgd import SGD as SGD
