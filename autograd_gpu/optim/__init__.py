"""Optimisers: they change Variables in place by the gradients in `.grad`."""

from autograd_gpu.optim.adam import (
    Adam as Adam,
    AdamW as AdamW,
)
from autograd_gpu.optim.adaptive import (
    Adagrad as Adagrad,
    Lion as Lion,
    RMSprop as RMSprop,
)
from autograd_gpu.optim.averaging import (
    EMA as EMA,
    SWA as SWA,
    update_bn as update_bn,
)
from autograd_gpu.optim.classic import (
    Adadelta as Adadelta,
    Rprop as Rprop,
)
from autograd_gpu.optim.clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    get_total_norm as get_total_norm,
)
from autograd_gpu.optim.combined import (
    SWALR as SWALR,
    ChainedScheduler as ChainedScheduler,
    SequentialLR as SequentialLR,
)
from autograd_gpu.optim.cycles import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    CyclicLR as CyclicLR,
    OneCycleLR as OneCycleLR,
)
from autograd_gpu.optim.lbfgs import (
    LBFGS as LBFGS,
)
from autograd_gpu.optim.moments import (
    LAMB as LAMB,
    Adamax as Adamax,
    NAdam as NAdam,
    RAdam as RAdam,
)
from autograd_gpu.optim.optimizer import (
    Optimizer as Optimizer,
)
from autograd_gpu.optim.plateau import (
    ReduceLROnPlateau as ReduceLROnPlateau,
)
from autograd_gpu.optim.scaling import (
    GradScaler as GradScaler,
)
from autograd_gpu.optim.schedules import (
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    Schedule as Schedule,
    StepLR as StepLR,
)
from autograd_gpu.optim.sgd import (
    SGD as SGD,
)
