"""The standard's special cases of elementwise functions, as a table.

A case is `operands = result`.  An operand is a value or the name of a set of values (SETS), and
`&` intersects sets.  For complex functions the two terms are the real and the imaginary part, on
both sides.  `|` separates results that are all allowed, and `?` before one says that its sign is
open.  `x`, `y` in a result are the operands.
"""

from math import inf, nan

VALUES = (nan, 0.0, -0.0, inf, -inf, *(s * v for v in (0.5, 1.0, 1.5, 2.0, 3.0) for s in (1, -1)))
"""What the operands are drawn from."""


def is_finite(v):
    return v - v == 0


SETS = {
    "any": lambda v: True,
    "fin": is_finite,
    "nonzero": lambda v: is_finite(v) and v != 0,
    "num": lambda v: v == v,
    "pos": lambda v: is_finite(v) and v > 0,
    "neg": lambda v: is_finite(v) and v < 0,
    "±0": lambda v: v == 0,
    "±inf": lambda v: abs(v) == inf,
    ">0": lambda v: v > 0,
    "<0": lambda v: v < 0,
    ">1": lambda v: v > 1,
    "<1": lambda v: v < 1,
    "<-1": lambda v: v < -1,
    "≠1": lambda v: v != 1,
    "≠0": lambda v: v != 0,
    "|>1|": lambda v: abs(v) > 1,
    "|<1|": lambda v: abs(v) < 1,
    "|1|": lambda v: abs(v) == 1,
    "odd": lambda v: is_finite(v) and v % 2 == 1,
    "notodd": lambda v: not (is_finite(v) and v % 2 == 1),
    "broken": lambda v: is_finite(v) and v % 1 != 0,
    "whole": lambda v: is_finite(v) and v % 1 == 0,
}

_INTEGRAL = "whole = x, inf = inf, -inf = -inf, 0 = 0, -0 = -0, nan = nan"
_LOGARITHM = "nan = nan, <0 = nan, ±0 = -inf, 1 = 0, inf = inf"

REAL = {
    "abs": "nan = nan, -0 = 0, -inf = inf",
    "acos": "nan = nan, >1 = nan, <-1 = nan, 1 = 0",
    "acosh": "nan = nan, <1 = nan, 1 = 0, inf = inf",
    "asin": "nan = nan, >1 = nan, <-1 = nan, 0 = 0, -0 = -0",
    "asinh": "nan = nan, 0 = 0, -0 = -0, inf = inf, -inf = -inf",
    "atan": "nan = nan, 0 = 0, -0 = -0, inf = pi/2, -inf = -pi/2",
    "atanh": "nan = nan, <-1 = nan, >1 = nan, -1 = -inf, 1 = inf, 0 = 0, -0 = -0",
    "ceil": _INTEGRAL,
    "cos": "nan = nan, ±0 = 1, ±inf = nan",
    "cosh": "nan = nan, ±0 = 1, ±inf = inf",
    "exp": "nan = nan, ±0 = 1, inf = inf, -inf = 0",
    "expm1": "nan = nan, 0 = 0, -0 = -0, inf = inf, -inf = -1",
    "floor": _INTEGRAL,
    "isfinite": "±inf = False, nan = False, fin = True",
    "isinf": "±inf = True, nan = False, fin = False",
    "isnan": "±inf = False, nan = True, fin = False",
    "log": _LOGARITHM,
    "log1p": "nan = nan, <-1 = nan, -1 = -inf, 0 = 0, -0 = -0, inf = inf",
    "log2": _LOGARITHM,
    "log10": _LOGARITHM,
    "round": f"{_INTEGRAL}, 0.5 = 0, 1.5 = 2, -0.5 = -0, -1.5 = -2",
    "sign": "<0 = -1, ±0 = 0|-0, >0 = 1, nan = nan",
    "signbit": "0 = False, -0 = True, >0 = False, <0 = True",
    "sin": "nan = nan, 0 = 0, -0 = -0, ±inf = nan",
    "sinh": "nan = nan, 0 = 0, -0 = -0, inf = inf, -inf = -inf",
    "sqrt": "nan = nan, <0 = nan, 0 = 0, -0 = -0, inf = inf",
    "tan": "nan = nan, 0 = 0, -0 = -0, ±inf = nan",
    "tanh": "nan = nan, 0 = 0, -0 = -0, inf = 1, -inf = -1",
    "trunc": _INTEGRAL,
    "add": "nan any = nan, any nan = nan, inf -inf = nan, -inf inf = nan, inf inf = inf, "
    "-inf -inf = -inf, inf fin = inf, -inf fin = -inf, fin inf = inf, fin -inf = -inf, "
    "-0 -0 = -0, -0 0 = 0, 0 -0 = 0, 0 0 = 0, ±0 nonzero = y, nonzero ±0 = x, 2 -2 = 0",
    "atan2": "nan any = nan, any nan = nan, >0 ±0 = pi/2, 0 >0 = 0, 0 0 = 0, 0 -0 = pi, "
    "0 <0 = pi, -0 >0 = -0, -0 0 = -0, -0 -0 = -pi, -0 <0 = -pi, <0 ±0 = -pi/2, pos inf = 0, "
    "pos -inf = pi, neg inf = -0, neg -inf = -pi, inf fin = pi/2, -inf fin = -pi/2, "
    "inf inf = pi/4, inf -inf = 3*pi/4, -inf inf = -pi/4, -inf -inf = -3*pi/4",
    "copysign": "num <0 = -abs(x), num -0 = -abs(x), num 0 = abs(x), num >0 = abs(x), "
    "nan num = nan",
    "divide": "nan any = nan, any nan = nan, ±inf ±inf = nan, ±0 ±0 = nan, 0 >0 = 0, "
    "-0 >0 = -0, 0 <0 = -0, -0 <0 = 0, >0 0 = inf, >0 -0 = -inf, <0 0 = -inf, <0 -0 = inf, "
    "inf pos = inf, inf neg = -inf, -inf pos = -inf, -inf neg = inf, pos inf = 0, pos -inf = -0, "
    "neg inf = -0, neg -inf = 0",
    "equal": "nan any = False, any nan = False, inf inf = True, -inf -inf = True, ±0 ±0 = True, "
    "inf -inf = False, 2 2 = True",
    # Python's // gives NaN for infinite dividends, and -1 where the quotient is a tiny negative.
    "floor_divide": "nan any = nan, any nan = nan, ±inf ±inf = nan, ±0 ±0 = nan, 0 >0 = 0, "
    "-0 >0 = -0, 0 <0 = -0, -0 <0 = 0, >0 0 = inf, >0 -0 = -inf, <0 0 = -inf, <0 -0 = inf, "
    "inf pos = inf|nan, inf neg = -inf|nan, -inf pos = -inf|nan, -inf neg = inf|nan, "
    "pos inf = 0, pos -inf = -0|-1, neg inf = -0|-1, neg -inf = 0",
    "hypot": "±inf any = inf, any ±inf = inf, ±0 any = abs(y), any ±0 = abs(x), fin nan = nan, "
    "nan fin = nan, nan nan = nan",
    "logaddexp": "nan any = nan, any nan = nan, inf num = inf, num inf = inf",
    "maximum": "nan any = nan, any nan = nan, 1 2 = 2, -inf inf = inf",
    "minimum": "nan any = nan, any nan = nan, 1 2 = 1, -inf inf = -inf",
    "multiply": "nan any = nan, any nan = nan, ±inf ±0 = nan, ±0 ±inf = nan, inf >0 = inf, "
    "inf <0 = -inf, -inf >0 = -inf, -inf <0 = inf, >0 inf = inf, <0 inf = -inf, >0 -inf = -inf, "
    "<0 -inf = inf, 0 pos = 0, 0 neg = -0, -0 pos = -0, -0 neg = 0, -0 -0 = 0, 0 -0 = -0",
    "nextafter": "nan any = nan, any nan = nan, -0 0 = 0, 0 -0 = -0",
    "not_equal": "nan any = True, any nan = True, inf -inf = True, -inf inf = True, "
    "±0 ±0 = False, 2 3 = True",
    "pow": "≠1 nan = nan, any ±0 = 1, nan ≠0 = nan, |>1| inf = inf, |>1| -inf = 0, |1| inf = 1, "
    "|1| -inf = 1, 1 num = 1, |<1| inf = 0, |<1| -inf = inf, inf >0 = inf, inf <0 = 0, "
    "-inf >0&odd = -inf, -inf >0&notodd = inf, -inf <0&odd = -0, -inf <0&notodd = 0, 0 >0 = 0, "
    "0 <0 = inf, -0 >0&odd = -0, -0 >0&notodd = 0, -0 <0&odd = -inf, -0 <0&notodd = inf, "
    "neg broken = nan",
    "remainder": "nan any = nan, any nan = nan, ±inf ±inf = nan, ±0 ±0 = nan, ±0 >0 = 0, "
    "±0 <0 = -0, >0 ±0 = nan, <0 ±0 = nan, ±inf fin = nan, pos inf = x, pos -inf = y, "
    "neg inf = y, neg -inf = x",
    "subtract": "nan any = nan, any nan = nan, inf inf = nan, -inf -inf = nan, inf -inf = inf, "
    "-inf inf = -inf, -0 0 = -0, 0 -0 = 0, 0 0 = 0, -0 -0 = 0, ±0 nonzero = -y, nonzero ±0 = x",
}  # fmt: skip

_LOG = (
    "fin inf = inf pi/2, fin nan = nan nan, -inf pos = inf pi, inf pos = inf 0, "
    "-inf inf = inf 3*pi/4, inf inf = inf pi/4, ±inf nan = inf nan, nan fin = nan nan, "
    "nan inf = inf nan, nan nan = nan nan"
)

COMPLEX = {
    "acos": "±0 0 = pi/2 -0, ±0 nan = pi/2 nan, fin inf = pi/2 -inf, nonzero nan = nan nan, "
    "-inf pos = pi -inf, inf pos = 0 -inf, -inf inf = 3*pi/4 -inf, inf inf = pi/4 -inf, "
    "±inf nan = nan ?inf, nan fin = nan nan, nan inf = nan -inf, nan nan = nan nan",
    "acosh": "±0 0 = 0 pi/2, fin inf = inf pi/2, nonzero nan = nan nan, 0 nan = nan ?pi/2, "
    "-inf pos = inf pi, inf pos = inf 0, -inf inf = inf 3*pi/4, inf inf = inf pi/4, "
    "±inf nan = inf nan, nan fin = nan nan, nan inf = inf nan, nan nan = nan nan",
    "asinh": "0 0 = 0 0, pos inf = inf pi/2, fin nan = nan nan, inf pos = inf 0, "
    "inf inf = inf pi/4, nan 0 = nan 0, nan nonzero = nan nan, nan inf = ?inf nan, "
    "nan nan = nan nan",
    "atanh": "0 0 = 0 0, 0 nan = 0 nan, 1 0 = inf 0, pos inf = 0 pi/2, nonzero nan = nan nan, "
    "inf pos = 0 pi/2, inf inf = 0 pi/2, inf nan = 0 nan, nan fin = nan nan, nan inf = ?0 pi/2, "
    "nan nan = nan nan",
    "cosh": "0 0 = 1 0, 0 inf = nan ?0, 0 nan = nan ?0, nonzero inf = nan nan, "
    "nonzero nan = nan nan, inf 0 = inf 0, inf nonzero = inf*cos(y) inf*sin(y), "
    "inf inf = ?inf nan, inf nan = inf nan, nan ±0 = nan ?0, nan nonzero = nan nan, "
    "nan nan = nan nan",
    "exp": "±0 0 = 1 0, fin inf = nan nan, fin nan = nan nan, inf 0 = inf 0, "
    "-inf fin = 0*cos(y) 0*sin(y), inf nonzero = inf*cos(y) inf*sin(y), -inf inf = ?0 ?0, "
    "inf inf = ?inf nan, -inf nan = ?0 ?0, inf nan = ?inf nan, nan 0 = nan 0, nan ≠0 = nan nan, "
    "nan nan = nan nan",
    "expm1": "±0 0 = 0|-0 0, fin inf = nan nan, fin nan = nan nan, inf 0 = inf 0, "
    "-inf fin = -1 0*sin(y), inf nonzero = inf*cos(y) inf*sin(y), -inf inf = -1 ?0, "
    "inf inf = ?inf nan, -inf nan = -1 ?0, inf nan = ?inf nan, nan 0 = nan 0, nan ≠0 = nan nan, "
    "nan nan = nan nan",
    "log": f"-0 0 = -inf pi, 0 0 = -inf 0, {_LOG}",
    "log1p": f"-1 0 = -inf 0, {_LOG}",
    "sign": "±0 ±0 = ?0 ?0, nan any = nan nan, any nan = nan nan",
    "sinh": "0 0 = 0 0, 0 inf = ?0 nan, 0 nan = ?0 nan, pos inf = nan nan, pos nan = nan nan, "
    "inf 0 = inf 0, inf pos = inf*cos(y) inf*sin(y), inf inf = ?inf nan, inf nan = ?inf nan, "
    "nan 0 = nan 0, nan nonzero = nan nan, nan nan = nan nan",
    "sqrt": "±0 0 = 0 0, any inf = inf inf, fin nan = nan nan, -inf pos = 0 inf, inf pos = inf 0, "
    "-inf nan = nan ?inf, inf nan = inf nan, nan fin = nan nan, nan nan = nan nan",
    "tanh": "0 0 = 0 0, nonzero inf = nan nan, 0 inf = 0 nan, nonzero nan = nan nan, "
    "0 nan = 0 nan, inf pos = 1 ?0, inf inf = 1 ?0, inf nan = 1 ?0, nan 0 = nan 0, "
    "nan nonzero = nan nan, nan nan = nan nan",
    "isfinite": "±inf any = False, any ±inf = False, nan any = False, any nan = False, "
    "fin fin = True",
    "isinf": "±inf any = True, any ±inf = True, nan fin = False, fin nan = False, nan nan = False",
    "isnan": "nan any = True, any nan = True, num num = False",
    "abs": "±inf any = inf, any ±inf = inf, ±0 any = abs(y), any ±0 = abs(x), nan fin = nan, "
    "fin nan = nan, nan nan = nan",
}  # fmt: skip


def parsed(table):
    """(function, case, terms of the operands, terms of the result) for each case of a table."""
    for name, cases in table.items():
        for case in cases.split(", "):
            operands, result = case.split(" = ")
            yield name, case, operands.split(), result.split()


def values(term):
    """The VALUES that are in the intersection of the sets, or the one value, that `term` names."""
    parts = [SETS.get(part) for part in term.split("&")]
    if None in parts:
        return [float(term)]
    return [v for v in VALUES if all(part(v) for part in parts)]
