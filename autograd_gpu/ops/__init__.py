"""The differentiable functions, under the array API's names.

This module is the namespace in which derivatives run under create_graph: what a derivative calls as
`xp.name` is looked up here for Variables.
"""

from __future__ import annotations

import sys

from autograd_gpu.backend import NAMESPACES
from autograd_gpu.ops.activations import (
    elu as elu,
)
from autograd_gpu.ops.activations import (
    gelu as gelu,
)
from autograd_gpu.ops.activations import (
    gelu_erf as gelu_erf,
)
from autograd_gpu.ops.activations import (
    gelu_tanh as gelu_tanh,
)
from autograd_gpu.ops.activations import (
    gelu_tanh_slope as gelu_tanh_slope,
)
from autograd_gpu.ops.activations import (
    hardtanh as hardtanh,
)
from autograd_gpu.ops.activations import (
    leaky_relu as leaky_relu,
)
from autograd_gpu.ops.activations import (
    mish as mish,
)
from autograd_gpu.ops.activations import (
    relu as relu,
)
from autograd_gpu.ops.activations import (
    relu6 as relu6,
)
from autograd_gpu.ops.activations import (
    selu as selu,
)
from autograd_gpu.ops.activations import (
    silu as silu,
)
from autograd_gpu.ops.comparisons import (
    bitwise_and as bitwise_and,
)
from autograd_gpu.ops.comparisons import (
    bitwise_invert as bitwise_invert,
)
from autograd_gpu.ops.comparisons import (
    bitwise_left_shift as bitwise_left_shift,
)
from autograd_gpu.ops.comparisons import (
    bitwise_or as bitwise_or,
)
from autograd_gpu.ops.comparisons import (
    bitwise_right_shift as bitwise_right_shift,
)
from autograd_gpu.ops.comparisons import (
    bitwise_xor as bitwise_xor,
)
from autograd_gpu.ops.comparisons import (
    equal as equal,
)
from autograd_gpu.ops.comparisons import (
    greater as greater,
)
from autograd_gpu.ops.comparisons import (
    greater_equal as greater_equal,
)
from autograd_gpu.ops.comparisons import (
    isclose as isclose,
)
from autograd_gpu.ops.comparisons import (
    isfinite as isfinite,
)
from autograd_gpu.ops.comparisons import (
    isinf as isinf,
)
from autograd_gpu.ops.comparisons import (
    isnan as isnan,
)
from autograd_gpu.ops.comparisons import (
    less as less,
)
from autograd_gpu.ops.comparisons import (
    less_equal as less_equal,
)
from autograd_gpu.ops.comparisons import (
    logical_and as logical_and,
)
from autograd_gpu.ops.comparisons import (
    logical_not as logical_not,
)
from autograd_gpu.ops.comparisons import (
    logical_or as logical_or,
)
from autograd_gpu.ops.comparisons import (
    logical_xor as logical_xor,
)
from autograd_gpu.ops.comparisons import (
    not_equal as not_equal,
)
from autograd_gpu.ops.comparisons import (
    signbit as signbit,
)
from autograd_gpu.ops.complexes import (
    angle as angle,
)
from autograd_gpu.ops.complexes import (
    conj as conj,
)
from autograd_gpu.ops.complexes import (
    imag as imag,
)
from autograd_gpu.ops.complexes import (
    real as real,
)
from autograd_gpu.ops.creation import (
    arange as arange,
)
from autograd_gpu.ops.creation import (
    asarray as asarray,
)
from autograd_gpu.ops.creation import (
    empty as empty,
)
from autograd_gpu.ops.creation import (
    empty_like as empty_like,
)
from autograd_gpu.ops.creation import (
    eye as eye,
)
from autograd_gpu.ops.creation import (
    full as full,
)
from autograd_gpu.ops.creation import (
    full_like as full_like,
)
from autograd_gpu.ops.creation import (
    linspace as linspace,
)
from autograd_gpu.ops.creation import (
    meshgrid as meshgrid,
)
from autograd_gpu.ops.creation import (
    ones as ones,
)
from autograd_gpu.ops.creation import (
    ones_like as ones_like,
)
from autograd_gpu.ops.creation import (
    tril as tril,
)
from autograd_gpu.ops.creation import (
    triu as triu,
)
from autograd_gpu.ops.creation import (
    zeros as zeros,
)
from autograd_gpu.ops.creation import (
    zeros_like as zeros_like,
)
from autograd_gpu.ops.cumulative import (
    cumulative_prod as cumulative_prod,
)
from autograd_gpu.ops.cumulative import (
    cumulative_sum as cumulative_sum,
)
from autograd_gpu.ops.elementwise import (
    abs_ as abs,
)
from autograd_gpu.ops.elementwise import (
    add as add,
)
from autograd_gpu.ops.elementwise import (
    ceil as ceil,
)
from autograd_gpu.ops.elementwise import (
    copysign as copysign,
)
from autograd_gpu.ops.elementwise import (
    divide as divide,
)
from autograd_gpu.ops.elementwise import (
    floor as floor,
)
from autograd_gpu.ops.elementwise import (
    floor_divide as floor_divide,
)
from autograd_gpu.ops.elementwise import (
    multiply as multiply,
)
from autograd_gpu.ops.elementwise import (
    negative as negative,
)
from autograd_gpu.ops.elementwise import (
    nextafter as nextafter,
)
from autograd_gpu.ops.elementwise import (
    positive as positive,
)
from autograd_gpu.ops.elementwise import (
    remainder as remainder,
)
from autograd_gpu.ops.elementwise import (
    round_ as round,
)
from autograd_gpu.ops.elementwise import (
    sign as sign,
)
from autograd_gpu.ops.elementwise import (
    subtract as subtract,
)
from autograd_gpu.ops.elementwise import (
    trunc as trunc,
)
from autograd_gpu.ops.exponentials import (
    exp as exp,
)
from autograd_gpu.ops.exponentials import (
    exp2 as exp2,
)
from autograd_gpu.ops.exponentials import (
    expm1 as expm1,
)
from autograd_gpu.ops.exponentials import (
    log as log,
)
from autograd_gpu.ops.exponentials import (
    log1p as log1p,
)
from autograd_gpu.ops.exponentials import (
    log2 as log2,
)
from autograd_gpu.ops.exponentials import (
    log10 as log10,
)
from autograd_gpu.ops.exponentials import (
    logaddexp as logaddexp,
)
from autograd_gpu.ops.exponentials import (
    logsigmoid as logsigmoid,
)
from autograd_gpu.ops.exponentials import (
    sigmoid as sigmoid,
)
from autograd_gpu.ops.exponentials import (
    softplus as softplus,
)
from autograd_gpu.ops.powers import (
    cbrt as cbrt,
)
from autograd_gpu.ops.powers import (
    hypot as hypot,
)
from autograd_gpu.ops.powers import (
    power as pow,
)
from autograd_gpu.ops.powers import (
    power as power,
)
from autograd_gpu.ops.powers import (
    power_operator as power_operator,
)
from autograd_gpu.ops.powers import (
    reciprocal as reciprocal,
)
from autograd_gpu.ops.powers import (
    sqrt as sqrt,
)
from autograd_gpu.ops.powers import (
    square as square,
)
from autograd_gpu.ops.reductions import (
    all_ as all,
)
from autograd_gpu.ops.reductions import (
    any_ as any,
)
from autograd_gpu.ops.reductions import (
    argmax as argmax,
)
from autograd_gpu.ops.reductions import (
    argmin as argmin,
)
from autograd_gpu.ops.reductions import (
    count_nonzero as count_nonzero,
)
from autograd_gpu.ops.reductions import (
    max_ as max,
)
from autograd_gpu.ops.reductions import (
    mean as mean,
)
from autograd_gpu.ops.reductions import (
    min_ as min,
)
from autograd_gpu.ops.reductions import (
    prod as prod,
)
from autograd_gpu.ops.reductions import (
    std as std,
)
from autograd_gpu.ops.reductions import (
    sum_ as sum,
)
from autograd_gpu.ops.reductions import (
    var as var,
)
from autograd_gpu.ops.selection import (
    clip as clip,
)
from autograd_gpu.ops.selection import (
    maximum as maximum,
)
from autograd_gpu.ops.selection import (
    minimum as minimum,
)
from autograd_gpu.ops.selection import (
    where as where,
)
from autograd_gpu.ops.softmax import (
    log_softmax as log_softmax,
)
from autograd_gpu.ops.softmax import (
    logsumexp as logsumexp,
)
from autograd_gpu.ops.softmax import (
    softmax as softmax,
)
from autograd_gpu.ops.special import (
    erf as erf,
)
from autograd_gpu.ops.trigonometry import (
    acos as acos,
)
from autograd_gpu.ops.trigonometry import (
    acosh as acosh,
)
from autograd_gpu.ops.trigonometry import (
    asin as asin,
)
from autograd_gpu.ops.trigonometry import (
    asinh as asinh,
)
from autograd_gpu.ops.trigonometry import (
    atan as atan,
)
from autograd_gpu.ops.trigonometry import (
    atan2 as atan2,
)
from autograd_gpu.ops.trigonometry import (
    atanh as atanh,
)
from autograd_gpu.ops.trigonometry import (
    cos as cos,
)
from autograd_gpu.ops.trigonometry import (
    cosh as cosh,
)
from autograd_gpu.ops.trigonometry import (
    deg2rad as deg2rad,
)
from autograd_gpu.ops.trigonometry import (
    rad2deg as rad2deg,
)
from autograd_gpu.ops.trigonometry import (
    sin as sin,
)
from autograd_gpu.ops.trigonometry import (
    sinh as sinh,
)
from autograd_gpu.ops.trigonometry import (
    tan as tan,
)
from autograd_gpu.ops.trigonometry import (
    tanh as tanh,
)
from autograd_gpu.variable import Variable

NAMESPACES[Variable] = sys.modules[__name__]
