"""Neural networks: functions, Modules that hold parameters, initial values."""

from autograd_gpu.nn import functional as functional, init as init
from autograd_gpu.nn.activations import (
    ELU as ELU,
    GELU as GELU,
    SELU as SELU,
    BCEWithLogitsLoss as BCEWithLogitsLoss,
    CrossEntropyLoss as CrossEntropyLoss,
    HuberLoss as HuberLoss,
    L1Loss as L1Loss,
    LeakyReLU as LeakyReLU,
    LogSoftmax as LogSoftmax,
    Mish as Mish,
    MSELoss as MSELoss,
    NLLLoss as NLLLoss,
    ReLU as ReLU,
    ReLU6 as ReLU6,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
)
from autograd_gpu.nn.containers import (
    ModuleList as ModuleList,
    ParameterList as ParameterList,
    Sequential as Sequential,
)
from autograd_gpu.nn.layers import (
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AvgPool2d as AvgPool2d,
    Conv2d as Conv2d,
    Dropout as Dropout,
    Dropout2d as Dropout2d,
    Embedding as Embedding,
    Flatten as Flatten,
    Identity as Identity,
    Linear as Linear,
    MaxPool2d as MaxPool2d,
)
from autograd_gpu.nn.module import (
    Module as Module,
    Parameter as Parameter,
)
from autograd_gpu.nn.normalization import (
    BatchNorm1d as BatchNorm1d,
    BatchNorm2d as BatchNorm2d,
    GroupNorm as GroupNorm,
    LayerNorm as LayerNorm,
    RMSNorm as RMSNorm,
)
