"""NumPy's names and parameters where they differ from ours."""

from __future__ import annotations

UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "expit": "sigmoid",
    "gammaln": "lgamma",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "log_expit": "logsigmoid",
    "power": "pow",
    "psi": "digamma",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}
"""Ufuncs of NumPy and scipy.special whose name here is another one."""

REDUCE = {
    "add": "sum",
    "logaddexp": "logsumexp",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
ACCUMULATE = {
    "add": "cumulative_sum",
    "logaddexp": "logcumsumexp",
    "maximum": "cumulative_max",
    "minimum": "cumulative_min",
    "multiply": "cumulative_prod",
}

FUNCTIONS = {
    "amax": "max",
    "amin": "min",
    "around": "round",
    "fix": "trunc",
    "concatenate": "concat",
    "round_": "round",
    "row_stack": "vstack",
}

KEYWORDS = {
    "a_max": "max",
    "a_min": "min",
    "ddof": "correction",
    "newshape": "shape",
    "rcond": "rtol",
    "reps": "repetitions",
}

SIGNATURES: dict[str, tuple[str, ...]] = {
    "concatenate": ("arrays", "axis", "out", "dtype", "casting"),
    "bincount": ("x", "weights", "minlength"),
    "dot": ("a", "b", "out"),
    "inner": ("a", "b"),
}
"""The parameters of functions in C, which older releases of NumPy do not tell."""

INSPECTORS = {
    "allclose",
    "array2string",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_str",
    "can_cast",
    "common_type",
    "diag_indices_from",
    "einsum_path",
    "iscomplexobj",
    "isrealobj",
    "may_share_memory",
    "min_scalar_type",
    "ndim",
    "ravel_multi_index",
    "result_type",
    "shape",
    "shares_memory",
    "size",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
}
"""What looks at arrays and returns none."""


CREATION = {"arange", "full"}
"""What makes new arrays of numbers; no gradient flows into these."""
