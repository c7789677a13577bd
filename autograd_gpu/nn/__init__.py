"""Neural networks: functions, Modules that hold parameters, initial values."""

from autograd_gpu.nn import functional as functional, init as init
from autograd_gpu.nn.activations import (
    CELU as CELU,
    ELU as ELU,
    GELU as GELU,
    GLU as GLU,
    SELU as SELU,
    Hardsigmoid as Hardsigmoid,
    Hardswish as Hardswish,
    Hardtanh as Hardtanh,
    LeakyReLU as LeakyReLU,
    LogSigmoid as LogSigmoid,
    LogSoftmax as LogSoftmax,
    Mish as Mish,
    ReLU as ReLU,
    ReLU6 as ReLU6,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softmin as Softmin,
    Softplus as Softplus,
    Softsign as Softsign,
    Tanh as Tanh,
    Tanhshrink as Tanhshrink,
)
from autograd_gpu.nn.attention import (
    MultiheadAttention as MultiheadAttention,
    TransformerEncoder as TransformerEncoder,
    TransformerEncoderLayer as TransformerEncoderLayer,
)
from autograd_gpu.nn.containers import (
    ModuleList as ModuleList,
    ParameterList as ParameterList,
    Sequential as Sequential,
)
from autograd_gpu.nn.convolution import (
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    Conv3d as Conv3d,
    ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d,
    ConvTranspose3d as ConvTranspose3d,
)
from autograd_gpu.nn.layers import (
    Dropout as Dropout,
    Dropout1d as Dropout1d,
    Dropout2d as Dropout2d,
    Dropout3d as Dropout3d,
    Embedding as Embedding,
    Flatten as Flatten,
    Identity as Identity,
    Linear as Linear,
    Pad as Pad,
    PReLU as PReLU,
    Unflatten as Unflatten,
    Upsample as Upsample,
)
from autograd_gpu.nn.losses import (
    BCELoss as BCELoss,
    BCEWithLogitsLoss as BCEWithLogitsLoss,
    CosineEmbeddingLoss as CosineEmbeddingLoss,
    CosineSimilarity as CosineSimilarity,
    CrossEntropyLoss as CrossEntropyLoss,
    CTCLoss as CTCLoss,
    GaussianNLLLoss as GaussianNLLLoss,
    HingeEmbeddingLoss as HingeEmbeddingLoss,
    HuberLoss as HuberLoss,
    KLDivLoss as KLDivLoss,
    L1Loss as L1Loss,
    MarginRankingLoss as MarginRankingLoss,
    MSELoss as MSELoss,
    MultiMarginLoss as MultiMarginLoss,
    NLLLoss as NLLLoss,
    PoissonNLLLoss as PoissonNLLLoss,
    SmoothL1Loss as SmoothL1Loss,
    SoftMarginLoss as SoftMarginLoss,
    TripletMarginLoss as TripletMarginLoss,
)
from autograd_gpu.nn.module import (
    Module as Module,
    Parameter as Parameter,
)
from autograd_gpu.nn.normalization import (
    BatchNorm1d as BatchNorm1d,
    BatchNorm2d as BatchNorm2d,
    BatchNorm3d as BatchNorm3d,
    GroupNorm as GroupNorm,
    InstanceNorm1d as InstanceNorm1d,
    InstanceNorm2d as InstanceNorm2d,
    InstanceNorm3d as InstanceNorm3d,
    LayerNorm as LayerNorm,
    RMSNorm as RMSNorm,
)
from autograd_gpu.nn.pooling import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d,
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d,
    AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    AdaptiveMaxPool2d as AdaptiveMaxPool2d,
    AdaptiveMaxPool3d as AdaptiveMaxPool3d,
    AvgPool1d as AvgPool1d,
    AvgPool2d as AvgPool2d,
    AvgPool3d as AvgPool3d,
    MaxPool1d as MaxPool1d,
    MaxPool2d as MaxPool2d,
    MaxPool3d as MaxPool3d,
)
from autograd_gpu.nn.recurrent import (
    GRU as GRU,
    LSTM as LSTM,
    RNN as RNN,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
)
from autograd_gpu.nn.summary import summary as summary
