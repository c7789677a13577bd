"""The differentiable functions, under the array API's names.

This module is the namespace in which derivatives run under create_graph: what a derivative calls as
`xp.name` is looked up here for Variables.
"""

from __future__ import annotations

import sys

from autograd_gpu.backend import NAMESPACES
from autograd_gpu.ops import fft as fft, linalg as linalg
from autograd_gpu.ops.activations import (
    elu as elu,
    gelu as gelu,
    gelu_erf as gelu_erf,
    gelu_tanh as gelu_tanh,
    gelu_tanh_slope as gelu_tanh_slope,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    mish as mish,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    silu as silu,
)
from autograd_gpu.ops.applied import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
)
from autograd_gpu.ops.arithmetic import (
    binary_exponent as binary_exponent,
    float_power as float_power,
    fmax as fmax,
    fmin as fmin,
    fmod as fmod,
    frexp as frexp,
    gcd as gcd,
    heaviside as heaviside,
    lcm as lcm,
    ldexp as ldexp,
    logaddexp2 as logaddexp2,
    modf as modf,
    real_if_close as real_if_close,
    spacing as spacing,
)
from autograd_gpu.ops.attention import attention as attention
from autograd_gpu.ops.averages import (
    average as average,
    corrcoef as corrcoef,
    cov as cov,
    ptp as ptp,
)
from autograd_gpu.ops.bessel import (
    exp1 as exp1,
    expi as expi,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    j0 as j0,
    j1 as j1,
    k0 as k0,
    k1 as k1,
    y0 as y0,
    y1 as y1,
)
from autograd_gpu.ops.calculus import (
    cumulative_trapezoid as cumulative_trapezoid,
    diff as diff,
    ediff1d as ediff1d,
    gradient as gradient,
    trapezoid as trapezoid,
)
from autograd_gpu.ops.casts import (
    astype as astype,
    cpu as cpu,
    cuda as cuda,
    recast as recast,
    to as to,
    to_device as to_device,
)
from autograd_gpu.ops.choices import (
    allclose as allclose,
    argwhere as argwhere,
    choose as choose,
    compress as compress,
    extract as extract,
    flatnonzero as flatnonzero,
    index_add as index_add,
    isin as isin,
    nan_to_num as nan_to_num,
    piecewise as piecewise,
    select as select,
)
from autograd_gpu.ops.classification import (
    cross_entropy as cross_entropy,
    masked_softmax as masked_softmax,
)
from autograd_gpu.ops.comparisons import (
    bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    not_equal as not_equal,
    signbit as signbit,
)
from autograd_gpu.ops.complexes import angle as angle, conj as conj, imag as imag, real as real
from autograd_gpu.ops.convolution import (
    conv as conv,
    conv_input as conv_input,
    conv_weight as conv_weight,
)
from autograd_gpu.ops.creation import (
    arange as arange,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    linspace as linspace,
    meshgrid as meshgrid,
    ones as ones,
    ones_like as ones_like,
    tril as tril,
    triu as triu,
    zeros as zeros,
    zeros_like as zeros_like,
)
from autograd_gpu.ops.ctc import ctc as ctc
from autograd_gpu.ops.cumulative import (
    best_before as best_before,
    cumulative_max as cumulative_max,
    cumulative_min as cumulative_min,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    logcumsumexp as logcumsumexp,
)
from autograd_gpu.ops.dropout import dropout as dropout
from autograd_gpu.ops.einsum import einsum as einsum
from autograd_gpu.ops.elementwise import (
    abs_ as abs_,
    add as add,
    ceil as ceil,
    copysign as copysign,
    divide as divide,
    floor as floor,
    floor_divide as floor_divide,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    positive as positive,
    remainder as remainder,
    round_ as round_,
    sign as sign,
    subtract as subtract,
    trunc as trunc,
)
from autograd_gpu.ops.exponentials import (
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logsigmoid as logsigmoid,
    sigmoid as sigmoid,
    softplus as softplus,
)
from autograd_gpu.ops.gammas import (
    beta as beta,
    betaln as betaln,
    digamma as digamma,
    gamma as gamma,
    lgamma as lgamma,
    polygamma as polygamma,
    rgamma as rgamma,
    zeta as zeta,
)
from autograd_gpu.ops.histograms import (
    bincount as bincount,
    digitize as digitize,
    histogram as histogram,
)
from autograd_gpu.ops.indexing import (
    getitem as getitem,
    scatter_add as scatter_add,
    set_at as set_at,
)
from autograd_gpu.ops.inplace import inplace as inplace, setitem as setitem
from autograd_gpu.ops.interpolation import (
    interp as interp,
    unwrap as unwrap,
)
from autograd_gpu.ops.joining import (
    concat as concat,
    split as split,
    stack as stack,
    unstack as unstack,
)
from autograd_gpu.ops.layers import (
    embedding as embedding,
    layer_norm as layer_norm,
    linear as linear,
)
from autograd_gpu.ops.losses import squared_error as squared_error
from autograd_gpu.ops.matmul import (
    dot as dot,
    inner as inner,
    kron as kron,
    matmul as matmul,
    outer as outer,
    tensordot as tensordot,
    vecdot as vecdot,
)
from autograd_gpu.ops.matrices import (
    cross as cross,
    diag as diag,
    diagflat as diagflat,
    diagonal as diagonal,
    fliplr as fliplr,
    flipud as flipud,
    rot90 as rot90,
    trace as trace,
    vdot as vdot,
)
from autograd_gpu.ops.nan_reductions import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from autograd_gpu.ops.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    rms_norm as rms_norm,
)
from autograd_gpu.ops.padding import pad as pad
from autograd_gpu.ops.partial_order import (
    argpartition as argpartition,
    partition as partition,
    topk as topk,
)
from autograd_gpu.ops.polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
    vander as vander,
)
from autograd_gpu.ops.pooling import (
    max_pool as max_pool,
    max_pool_gather as max_pool_gather,
    max_pool_spread as max_pool_spread,
    sum_pool as sum_pool,
    sum_pool_spread as sum_pool_spread,
)
from autograd_gpu.ops.powers import (
    cbrt as cbrt,
    hypot as hypot,
    power as power,
    power_operator as power_operator,
    reciprocal as reciprocal,
    sqrt as sqrt,
    square as square,
)
from autograd_gpu.ops.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from autograd_gpu.ops.recurrent import recurrence as recurrence
from autograd_gpu.ops.reductions import (
    all_ as all_,
    any_ as any_,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    max_ as max_,
    mean as mean,
    min_ as min_,
    prod as prod,
    std as std,
    sum_ as sum_,
    var as var,
)
from autograd_gpu.ops.selection import (
    clip as clip,
    masked as masked,
    maximum as maximum,
    minimum as minimum,
    where as where,
)
from autograd_gpu.ops.shape import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    expand_dims as expand_dims,
    flatten as flatten,
    flip as flip,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    squeeze as squeeze,
    swapaxes as swapaxes,
    tile as tile,
    transpose as transpose,
)
from autograd_gpu.ops.silence import mark as _mark_silence
from autograd_gpu.ops.softmax import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)
from autograd_gpu.ops.sorting import (
    argsort as argsort,
    nonzero as nonzero,
    searchsorted as searchsorted,
    sort as sort,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from autograd_gpu.ops.special import (
    entr as entr,
    erf as erf,
    erfc as erfc,
    erfcinv as erfcinv,
    erfcx as erfcx,
    erfinv as erfinv,
    kl_div as kl_div,
    log_ndtr as log_ndtr,
    logit as logit,
    ndtr as ndtr,
    ndtri as ndtri,
    rel_entr as rel_entr,
    sinc as sinc,
    sinc_slope as sinc_slope,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from autograd_gpu.ops.stacking import (
    append as append,
    array_split as array_split,
    block as block,
    column_stack as column_stack,
    delete as delete,
    dsplit as dsplit,
    dstack as dstack,
    hsplit as hsplit,
    hstack as hstack,
    insert as insert,
    resize as resize,
    trim_zeros as trim_zeros,
    vsplit as vsplit,
    vstack as vstack,
)
from autograd_gpu.ops.taking import (
    put_along_axis as put_along_axis,
    take as take,
    take_along_axis as take_along_axis,
)
from autograd_gpu.ops.trigonometry import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    rad2deg as rad2deg,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from autograd_gpu.ops.vector_convolution import (
    convolve as convolve,
    convolve_part as convolve_part,
    correlate as correlate,
)
from autograd_gpu.variable import Variable

# Assigned, since an import under another name is no export to type checkers.
abs = abs_
all = all_
any = any_
max = max_
min = min_
pow = power
round = round_
sum = sum_

# pickle looks for these under the names that they tell, which are exported here and nowhere else.
for _op in (abs, all, any, max, min, round, sum):
    _op.__module__ = __name__
del _op

_mark_silence()
NAMESPACES[Variable] = sys.modules[__name__]
