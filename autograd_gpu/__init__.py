"""Reverse-mode automatic differentiation on CuPy and NumPy arrays."""

from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

from autograd_gpu import nn as nn, optim as optim, protocols as _protocols
from autograd_gpu.backend import (
    BackendError as BackendError,
    available_backends as available_backends,
    get_backend as get_backend,
    set_backend as set_backend,
    use_backend as use_backend,
)
from autograd_gpu.dtypes import (
    NAMES as _DTYPES,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    lookup as _lookup,
    result_type as result_type,
)
from autograd_gpu.engine import gradients as gradients
from autograd_gpu.function import Function as Function
from autograd_gpu.grad_check import (
    GradCheckError as GradCheckError,
    grad_check as grad_check,
    grad_check_variables as grad_check_variables,
)
from autograd_gpu.inspection import __array_namespace_info__ as __array_namespace_info__
from autograd_gpu.modes import (
    detect_anomaly as detect_anomaly,
    enable_grad as enable_grad,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from autograd_gpu.ops import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    add as add,
    all as all,
    angle as angle,
    any as any,
    arange as arange,
    argmax as argmax,
    argmin as argmin,
    argsort as argsort,
    asarray as asarray,
    asin as asin,
    asinh as asinh,
    astype as astype,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    cbrt as cbrt,
    ceil as ceil,
    clip as clip,
    concat as concat,
    conj as conj,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    count_nonzero as count_nonzero,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    deg2rad as deg2rad,
    divide as divide,
    dot as dot,
    einsum as einsum,
    elu as elu,
    empty as empty,
    empty_like as empty_like,
    equal as equal,
    erf as erf,
    exp as exp,
    exp2 as exp2,
    expand_dims as expand_dims,
    expm1 as expm1,
    eye as eye,
    flatten as flatten,
    flip as flip,
    floor as floor,
    floor_divide as floor_divide,
    from_dlpack as from_dlpack,
    full as full,
    full_like as full_like,
    gelu as gelu,
    greater as greater,
    greater_equal as greater_equal,
    hardtanh as hardtanh,
    hypot as hypot,
    imag as imag,
    inner as inner,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    kron as kron,
    leaky_relu as leaky_relu,
    less as less,
    less_equal as less_equal,
    linspace as linspace,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    log_softmax as log_softmax,
    logaddexp as logaddexp,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    logsigmoid as logsigmoid,
    logsumexp as logsumexp,
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    max as max,
    maximum as maximum,
    mean as mean,
    meshgrid as meshgrid,
    methods as _methods,
    min as min,
    minimum as minimum,
    mish as mish,
    moveaxis as moveaxis,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    nonzero as nonzero,
    not_equal as not_equal,
    ones as ones,
    ones_like as ones_like,
    outer as outer,
    pad as pad,
    permute_dims as permute_dims,
    positive as positive,
    pow as pow,
    power as power,
    prod as prod,
    put_along_axis as put_along_axis,
    rad2deg as rad2deg,
    ravel as ravel,
    real as real,
    reciprocal as reciprocal,
    relu as relu,
    relu6 as relu6,
    remainder as remainder,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    round as round,
    scatter_add as scatter_add,
    searchsorted as searchsorted,
    selu as selu,
    set_at as set_at,
    sigmoid as sigmoid,
    sign as sign,
    signbit as signbit,
    silu as silu,
    sin as sin,
    sinh as sinh,
    softmax as softmax,
    softplus as softplus,
    sort as sort,
    split as split,
    sqrt as sqrt,
    square as square,
    squeeze as squeeze,
    stack as stack,
    std as std,
    subtract as subtract,
    sum as sum,
    swapaxes as swapaxes,
    take as take,
    take_along_axis as take_along_axis,
    tan as tan,
    tanh as tanh,
    tensordot as tensordot,
    tile as tile,
    transpose as transpose,
    tril as tril,
    triu as triu,
    trunc as trunc,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
    unstack as unstack,
    var as var,
    vecdot as vecdot,
    where as where,
    zeros as zeros,
    zeros_like as zeros_like,
)
from autograd_gpu.random import Generator as Generator, manual_seed as manual_seed
from autograd_gpu.transforms import (
    checkpoint as checkpoint,
    elementwise_grad as elementwise_grad,
    grad as grad,
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    jvp as jvp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from autograd_gpu.values import (
    get_default_dtype as get_default_dtype,
    set_default_dtype as set_default_dtype,
)
from autograd_gpu.variable import Variable as Variable

__array_api_version__ = "2024.12"

newaxis = None

if TYPE_CHECKING:
    bool: Any
    complex64: Any
    complex128: Any
    float16: Any
    float32: Any
    float64: Any
    int8: Any
    int16: Any
    int32: Any
    int64: Any
    uint8: Any
    uint16: Any
    uint32: Any
    uint64: Any
else:

    def __getattr__(name):
        """The dtypes, which are NumPy's, looked up when first asked for."""
        if name not in _DTYPES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _lookup(name)

    def __dir__():
        return sorted({*globals(), *_DTYPES})


del _methods, _protocols
