"""Layers and losses as functions, with PyTorch's names, argument order and keywords.

Labels, masks and statistics may be arrays, Variables or lists.
"""

from autograd_gpu.nn.functional.activations import (
    celu as celu,
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    log_softmax as log_softmax,
    prelu as prelu,
    rrelu as rrelu,
    softmax as softmax,
    softmin as softmin,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    tanhshrink as tanhshrink,
    threshold as threshold,
)
from autograd_gpu.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from autograd_gpu.nn.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from autograd_gpu.nn.functional.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from autograd_gpu.nn.functional.ctc import (
    ctc_loss as ctc_loss,
)
from autograd_gpu.nn.functional.distances import (
    cdist as cdist,
    cosine_similarity as cosine_similarity,
    normalize as normalize,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
)
from autograd_gpu.nn.functional.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from autograd_gpu.nn.functional.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
    one_hot as one_hot,
)
from autograd_gpu.nn.functional.likelihoods import (
    gaussian_nll_loss as gaussian_nll_loss,
    poisson_nll_loss as poisson_nll_loss,
)
from autograd_gpu.nn.functional.linear import (
    bilinear as bilinear,
    linear as linear,
)
from autograd_gpu.nn.functional.losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cross_entropy as cross_entropy,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    nll_loss as nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from autograd_gpu.nn.functional.margins import (
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from autograd_gpu.nn.functional.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    rms_norm as rms_norm,
)
from autograd_gpu.nn.functional.padding import (
    pad as pad,
)
from autograd_gpu.nn.functional.pooling import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from autograd_gpu.nn.functional.rearranging import (
    channel_shuffle as channel_shuffle,
    fold as fold,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    unfold as unfold,
)
from autograd_gpu.nn.functional.resizing import (
    interpolate as interpolate,
)
from autograd_gpu.nn.functional.sampling import (
    affine_grid as affine_grid,
    grid_sample as grid_sample,
)
from autograd_gpu.nn.functional.unpooling import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from autograd_gpu.ops import (
    elu as elu,
    flatten as flatten,
    gelu as gelu,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    logsigmoid as logsigmoid,
    mish as mish,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    tanh as tanh,
)
