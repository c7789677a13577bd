"""Every function of NumPy that dispatches, called with a Variable that requires a gradient.

Each either hands the gradient on, or raises a TypeError that names it; what returns no numbers that
a gradient could flow through is listed.  A function of a later NumPy is walked over too.
"""

import inspect
import io
import re
import warnings

import numpy as np
import pytest

import autograd_gpu as ag
import dispatch
from autograd_gpu import numpy_names

SPACES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}
DISPATCHER = type(np.sum)


def functions():
    found = {}
    for prefix, space in SPACES.items():
        for name in dir(space):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names on their way out
                function = getattr(space, name)
            if isinstance(function, (DISPATCHER, np.ufunc)):
                found.setdefault(function, f"{prefix}.{name}")
    return {name: function for function, name in found.items()}


FUNCTIONS = functions()

mask = np.array([True, False, True])
grid = np.arange(9.0).reshape(3, 3)
ARGUMENTS = {
    # `m` a matrix and `r` its first row, Variables that require a gradient.
    "append": lambda m, r: (m, m),
    "apply_along_axis": lambda m, r: (np.sum, 0, m),
    "apply_over_axes": lambda m, r: (np.sum, m, [0]),
    "argpartition": lambda m, r: (m, 1),
    "array_split": lambda m, r: (m, 2),
    "astype": lambda m, r: (m, np.float32),
    "bincount": lambda m, r: ([0, 2, 2], r),
    "broadcast_to": lambda m, r: (m, (2, 3, 3)),
    "busday_count": lambda m, r: (m, m),
    "busday_offset": lambda m, r: (m, m),
    "can_cast": lambda m, r: (m, np.float64),
    "choose": lambda m, r: ([0, 1, 0], [r, r]),
    "compress": lambda m, r: (mask, m, 1),
    "concatenate": lambda m, r: ([m, m],),
    "convolve": lambda m, r: (r, r),
    "copyto": lambda m, r: (m * 1, r),
    "correlate": lambda m, r: (r, r),
    "cumulative_prod": lambda m, r: (r,),
    "cumulative_sum": lambda m, r: (r,),
    "cross": lambda m, r: (r, r),
    "delete": lambda m, r: (r, 1),
    "digitize": lambda m, r: (m, [0.0, 1.0]),
    "dsplit": lambda m, r: (m[None], 3),
    "einsum": lambda m, r: ("ij,jk", m, m),
    "einsum_path": lambda m, r: ("ij,jk", m, m),
    "expand_dims": lambda m, r: (m, 0),
    "extract": lambda m, r: (mask, r),
    "fill_diagonal": lambda m, r: (m * 1, 7.0),
    "full_like": lambda m, r: (m, r),
    "geomspace": lambda m, r: (r, 9.0, 4),
    "histogram2d": lambda m, r: (r, r),
    "hsplit": lambda m, r: (m, 3),
    "insert": lambda m, r: (r, 1, 7.0),
    "interp": lambda m, r: (r, [0.0, 1.0, 2.0], r),
    "isin": lambda m, r: (m, r),
    "linspace": lambda m, r: (r, 9.0, 4),
    "logspace": lambda m, r: (r, 2.0, 4),
    "matvec": lambda m, r: (m, r),
    "meshgrid": lambda m, r: (r, r),
    "moveaxis": lambda m, r: (m, 0, 1),
    "multi_dot": lambda m, r: ([m, m, m],),
    "nanpercentile": lambda m, r: (m, 30),
    "nanquantile": lambda m, r: (m, 0.3),
    "pad": lambda m, r: (m, 1),
    "partition": lambda m, r: (m, 1),
    "percentile": lambda m, r: (m, 30),
    "piecewise": lambda m, r: (m, [grid > 1], [lambda x: x * x, 2.0]),
    "place": lambda m, r: (m * 1, grid > 1, [1.0]),
    "polyfit": lambda m, r: (r, r, 1),
    "polyval": lambda m, r: (r, 2.0),
    "put": lambda m, r: (m * 1, [0], [1.0]),
    "put_along_axis": lambda m, r: (m * 1, np.array([[0], [1], [2]]), 5.0, 1),
    "putmask": lambda m, r: (m * 1, grid > 1, 7.0),
    "quantile": lambda m, r: (m, 0.3),
    "ravel_multi_index": lambda m, r: ((ag.asarray([1, 2]), ag.asarray([0, 1])), (3, 3)),
    "repeat": lambda m, r: (m, 2),
    "reshape": lambda m, r: (m, (9,)),
    "resize": lambda m, r: (m, (2, 2)),
    "roll": lambda m, r: (m, 1),
    "rollaxis": lambda m, r: (m, 1),
    "save": lambda m, r: (io.BytesIO(), m),
    "savetxt": lambda m, r: (io.StringIO(), m),
    "savez": lambda m, r: (io.BytesIO(), m),
    "savez_compressed": lambda m, r: (io.BytesIO(), m),
    "searchsorted": lambda m, r: (np.arange(3.0), r),
    "select": lambda m, r: ([grid > 1, grid > 0], [m, m * m]),
    "split": lambda m, r: (m, 3),
    "swapaxes": lambda m, r: (m, 0, 1),
    "take": lambda m, r: (m, [0]),
    "take_along_axis": lambda m, r: (m, np.array([[0], [1], [2]]), 1),
    "tensorinv": lambda m, r: (m, 1),
    "tensorsolve": lambda m, r: (m, r),
    "tile": lambda m, r: (m, 2),
    "trim_zeros": lambda m, r: (r,),
    "unravel_index": lambda m, r: (ag.asarray([1, 2]), (3, 3)),
    "vander": lambda m, r: (r,),
    "vecmat": lambda m, r: (r, m),
    "vsplit": lambda m, r: (m, 3),
    "where": lambda m, r: (grid > 1, m, 0.0),
    "matrix_power": lambda m, r: (m, 2),
    "cholesky": lambda m, r: (m @ m.T,),
    "polyadd": lambda m, r: (r, r),
    "polysub": lambda m, r: (r, r),
    "polymul": lambda m, r: (r, r),
    "polydiv": lambda m, r: (r, r[1:]),
    "poly": lambda m, r: (r,),
    "polyder": lambda m, r: (r,),
    "polyint": lambda m, r: (r,),
    "roots": lambda m, r: (r,),
    "lexsort": lambda m, r: ((r, r),),
    "ldexp": lambda m, r: (m, 2),
}
"""What a function is called with, where that is not the matrix for each parameter without default.

The keys are names within their module."""

INTEGERS_ONLY = {
    *("bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_or"),
    *("bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift", "right_shift"),
}
NO_NUMBERS = numpy_names.INSPECTORS | {
    # Booleans, indices and counts
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "argwhere", "count_nonzero"),
    *("digitize", "equal", "flatnonzero", "greater", "greater_equal", "histogram", "iscomplex"),
    *("isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "less"),
    *("less_equal", "lexsort", "logical_and", "logical_not", "logical_or", "logical_xor"),
    *("matrix_rank", "nanargmax", "nanargmin", "nonzero", "not_equal", "searchsorted", "signbit"),
    # What makes an array like another one
    *("empty_like", "ones_like", "zeros_like"),
    # Constant between their steps, and leaves as such
    *("floor_divide", "nextafter", "spacing"),
}
"""Functions without a derivative whose result says so: no gradient flows into it."""

IN_PLACE = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}


def arguments(name, function):
    m = ag.Variable(np.array([[3.0, 1.0, 0.5], [0.25, 2.0, 1.0], [1.0, 0.5, 4.0]]), True)
    short = name.rpartition(".")[2]
    if short in ARGUMENTS:
        return ARGUMENTS[short](m, m[0])
    if isinstance(function, np.ufunc):
        return (m / 5,) * function.nin  # within every domain
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return (m,) * sum("VAR" not in str(p.kind) for p in needed) or (m,)


def variables(result):
    if isinstance(result, ag.Variable):
        return [result]
    if isinstance(result, (list, tuple)):
        return [v for part in result for v in variables(part)]
    return []


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_the_gradient_flows_or_it_is_refused(name):
    function, short = FUNCTIONS[name], name.rpartition(".")[2]
    given = arguments(name, function)
    try:
        result = function(*given)
    except TypeError as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert re.search(rf"\b{function.__name__}\b", refused) or short in INTEGERS_ONLY
        return
    found = variables(given[0] if short in IN_PLACE else result)
    if function.__name__ in NO_NUMBERS:
        assert not any(v.requires_grad for v in found)
    else:
        assert any(v.requires_grad for v in found), f"{name} loses the gradient"


def test_there_are_many():
    assert len(FUNCTIONS) > 300


@pytest.mark.parametrize("call", dispatch.CALLS)
def test_what_dispatch_costs(call):
    """In units of a Python call, of which 40 take about 3 us; on a busy machine, it tries again."""
    python = "(lambda x, axis: x)(v, axis=0)"
    times = np.full(3, np.inf)
    for _ in range(20):
        times = np.minimum(times, dispatch.best(call, dispatch.CALLS[call], python, rounds=5))
        whole, op, unit = times
        if whole - op < 40 * unit:
            break
    assert whole - op < 40 * unit
