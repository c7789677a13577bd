"""Arithmetic, rounding, comparisons, powers, choices and parts of complex numbers."""

import numpy as np

from samples.sample import Table, draw, integers

TABLE = Table()
add, unary, binary = TABLE.add, TABLE.unary, TABLE.binary
I = np.array  # noqa: E741

binary("add", np.add, complexes=True)
binary("subtract", np.subtract, complexes=True)
binary("multiply", np.multiply, complexes=True)
binary("divide", np.divide, b=(0.5, 2), complexes=True)
add("add", np.add, (integers("a", (3,)), draw("b", (3,))), "integers")
add("multiply", np.multiply, (draw("a", (3,)), I([True, False, True])), "bools")
binary("remainder", np.remainder, a=(2.1, 2.9), b=(0.95, 1))
add("remainder", np.remainder, (I([-2.5, 2.5]), I([1.2, -1.2])), "signs")
binary("floor_divide", np.floor_divide, b=(0.5, 2))
unary("negative", np.negative, complexes=True)
unary("positive", np.positive, complexes=True)
unary("abs", np.abs, 0.2, complexes=True)
unary("abs", np.abs, -2, -0.2)
add("abs", np.abs, (I([-2.0, 0, 3]),), "at 0", check=False, gradients=(I([-1.0, 0, 1]),))
add("abs", np.abs, (I([0, 3 + 4j]),), "at 0i", check=False, gradients=(I([0, 0.6 + 0.8j]),))
unary("real_sign", np.sign, 0.2, second=False)
add("real_sign", np.sign, (I([-2.0, 0, 3]),), "at 0", check=False, gradients=(np.zeros(3),))
for name, function in [
    ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.round)
]:  # fmt: skip
    unary(name, function, 1.1, 1.4, second=False)
add("floor", np.floor, (I([1.0, -1.0]),), "at integers", check=False, gradients=(I([0.0, 0]),))
unary("round", np.round, 0.021, 0.024, statics={"decimals": 2}, second=False, dtypes=("float32",))
binary("copysign", np.copysign, a=(0.2, 1), b=(-1, -0.2), second=False)
binary("nextafter", np.nextafter)

for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    add(name, getattr(np, name), (I([1.0, 2, 3]), I([[2.0, 2, 2], [1, 1, 3]])), "broadcast")
    add(name, getattr(np, name), (draw(name, (2, 3)), 0.5), "number")
    add(name, getattr(np, name), (integers(name, (3,)), integers(name + "b", ())), "integers")
for name in ("logical_and", "logical_or", "logical_xor"):
    add(name, getattr(np, name), (I([True, True, False]), I([[True], [False]])), "bools")
    add(name, getattr(np, name), (I([0.0, 1, 2]), True), "numbers")
add("logical_not", np.logical_not, (I([True, False]),))
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    add(name, getattr(np, name), (integers(name, (3,)), integers(name + "b", (2, 1))), "integers")
    add(name, getattr(np, name), (I([True, True, False]), I([[True], [False]])), "bools")
add("bitwise_left_shift", np.left_shift, (integers("l", (3,)), 2))
add("bitwise_right_shift", np.right_shift, (integers("r", (3,)), I([0, 1, 2])))
add("bitwise_invert", np.invert, (integers("i", (3,)),))
special = I([0.0, -0.0, np.inf, -np.inf, np.nan, -1.5])
for name in ("isnan", "isinf", "isfinite", "signbit"):
    add(name, getattr(np, name), (special,))
add("isclose", np.isclose, (I([1.0, 1.0, np.nan]), I([1 + 1e-9, 1.1, np.nan])))
add("isclose", np.isclose, (I([1.0, np.nan]), I([1.1, np.nan])),
    statics={"atol": 0.2, "equal_nan": True})  # fmt: skip


def number_power(x, exponent):
    return x**exponent


for exponent in (0, 1, 2, 3, 4, 5, 2.0, 0.5, 1.5, 2.5, -1, -2, -0.5, -3):
    statics = {"exponent": exponent}
    unary("power_number", number_power, 0.5, 2, statics=statics, complexes=True,
          second=exponent != 0)  # fmt: skip
add("power_number", number_power, (I([-2.0, 3]),), "negative base", statics={"exponent": 5})
add("power_number", number_power, (I([2, 3]),), "integers", statics={"exponent": 3})
add("power_number", number_power, (I([2, 3]),), "integers", statics={"exponent": 0.5})
for exponent, at_zero in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0), (1.5, 0.0)):
    add("power_number", number_power, (I([0.0]),), f"0**{exponent}",
        statics={"exponent": exponent}, check=False, gradients=(I([at_zero]),))  # fmt: skip
binary("power", np.power, a=(0.5, 2), complexes=True)
add("power", np.power, (I([0.0, 0, 0, 2]), I([0.0, 1, 2, 0])), "at 0", check=False,
    gradients=(I([0.0, 1, 0, 0]), I([0, 0, 0, np.log(2)])))  # fmt: skip
add("power", np.power, (I([-2.0, -3]), I([3, 2])), "negative base")
unary("square", np.square, complexes=True)
unary("sqrt", np.sqrt, 0.2, complexes=True)
unary("cbrt", np.cbrt, 0.2)
unary("reciprocal", np.reciprocal, 0.5, complexes=True)
binary("hypot", np.hypot, a=(0.5, 2))
add("hypot", np.hypot, (I([0.0, 0]), I([0.0, -2])), "at 0", check=False,
    gradients=(I([0.0, 0]), I([0.0, -1])))  # fmt: skip

condition = I([[True, False, True], [False, True, True]])
add("where", np.where, (condition, draw("wa", (2, 3)), draw("wb", (2, 3))), "same")
add("where", np.where, (condition, draw("wa", (3,)), draw("wb", (2, 1))), "broadcast")
add("where", np.where, (condition, draw("wa", (3,)), 0.5), "number right")
add("where", np.where, (condition[0], 2, draw("wb", (2, 1))), "number left")
add("where", np.where, (I(True), draw("wa", ()), draw("wb", (3,))), "0-d")
add("where", np.where, (condition.T, draw("wa", (2, 3)).T, draw("wb", (3, 1))), "transposed")
add("where", np.where, (np.zeros((0, 3), bool), draw("wa", (3,)), 1.0), "empty")


def masked(x, mask):
    return np.where(mask, x, 0)


add("masked", masked, (draw("mx", (2, 3)), condition), "same")
add("masked", masked, (draw("mx", (2, 1)), condition), "broadcast")
add("masked", masked, (draw("mx", (2, 3)).T, condition.T), "transposed")
add("masked", masked, (draw("mx", ()), np.array(True)), "0-d")
add("masked", masked, (np.zeros((0, 3)), np.zeros((0, 3), bool)), "empty")
binary("maximum", np.maximum)
binary("minimum", np.minimum)
ties = I([1.0, 2, 3]), I([1.0, 3, 2])
for name, function, a in (
    ("maximum", np.maximum, [0.5, 0, 1]),
    ("minimum", np.minimum, [0.5, 1, 0]),
):
    add(name, function, ties, "ties", check=False, gradients=(I(a), 1 - I(a)))


def clipped(x, low=None, high=None):
    return x.copy() if low is None and high is None else np.clip(x, low, high)


x = draw("clip", (2, 6))
add("clip", clipped, (x, -1.0, 1.0), "numbers")
add("clip", clipped, (x, -1.0, None), "from below")
add("clip", clipped, (x, None, 1.0), "from above")
add("clip", clipped, (x, None, None), "no bounds")
add("clip", clipped, (x, draw("low", (6,), -1, -0.2), draw("high", (2, 1), 0.2, 1)), "arrays")
add("clip", clipped, (x, draw("low", (6,), -1, -0.2), None), "array from below")
add("clip", clipped, (x[:, ::-2], None, draw("high", (2, 1), 0.2, 1)), "array from above")
add("clip", clipped, (draw("clip", ()), -1, 1), "0-d")
add("clip", clipped, (I([-2.0, -1, 0, 1, 2]), -1, 1), "at bounds", check=False,
    gradients=(I([0.0, 1, 1, 1, 0]), None, None))  # fmt: skip

unary("real", np.real, complexes=True)
unary("imag", np.imag, complexes=True)
unary("conj", np.conj, complexes=True)
