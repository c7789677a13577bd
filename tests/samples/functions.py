"""Exponentials, trigonometry, special functions and activations."""

import math

import numpy as np

from samples.sample import Table, draw

TABLE = Table()
add, unary, binary = TABLE.add, TABLE.unary, TABLE.binary
I = np.array  # noqa: E741

unary("exp", np.exp, complexes=True)
unary("expm1", np.expm1, complexes=True)
unary("exp2", np.exp2, complexes=True)
unary("log", np.log, 0.3, complexes=True)
unary("log1p", np.log1p, -0.5, complexes=True)
unary("log2", np.log2, 0.3, complexes=True)
unary("log10", np.log10, 0.3, complexes=True)
binary("logaddexp", np.logaddexp)
add("logaddexp", np.logaddexp, (I([-np.inf, 0]), I([-np.inf, -np.inf])), "at -inf", check=False,
    gradients=(I([0.0, 1]), I([0.0, 0])))  # fmt: skip


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


unary("sigmoid", sigmoid, complexes=True)
unary("softplus", lambda x: np.logaddexp(x, 0))
unary("logsigmoid", lambda x: -np.logaddexp(-x, 0))
large = I([-1e4, -300.0, 300, 1e4])
add("sigmoid", lambda x: (x > 0) * 1.0, (large,), "large", check=False, gradients=(np.zeros(4),))
add("softplus", lambda x: np.maximum(x, 0), (large,), "large", check=False,
    gradients=(I([0.0, 0, 1, 1]),))  # fmt: skip
add("logsigmoid", lambda x: np.minimum(x, 0), (large,), "large", check=False,
    gradients=(I([1.0, 1, 0, 0]),))  # fmt: skip

unary("sin", np.sin, complexes=True)
unary("cos", np.cos, complexes=True)
unary("tan", np.tan, -1, 1, complexes=True)
unary("asin", np.arcsin, -0.8, 0.8, complexes=True)
unary("acos", np.arccos, -0.8, 0.8, complexes=True)
unary("atan", np.arctan, complexes=True)
unary("sinh", np.sinh, complexes=True)
unary("cosh", np.cosh, complexes=True)
unary("tanh", np.tanh, complexes=True)
binary("tanh_slope", lambda a, b: a * np.conj(1 - b * b), complexes=True)
unary("asinh", np.arcsinh, complexes=True)
unary("acosh", np.arccosh, 1.3, 3, complexes=True)
unary("atanh", np.arctanh, -0.8, 0.8, complexes=True)
add("acosh", np.arccosh, (I([-0.5 + 0.5j, -0.5 - 0.5j]),), "left half")
binary("atan2", np.arctan2, b=(0.2, 1))
add("atan2", np.arctan2, (I([0.0, 1]), I([0.0, -1])), "at 0", check=False,
    gradients=(I([0, -0.5]), I([0, -0.5])))  # fmt: skip

each_erf = np.vectorize(math.erf, otypes=[np.float64])
unary("erf", each_erf)


def relu(x):
    return np.maximum(x, 0)


unary("relu", relu, 0.1)
unary("relu", relu, -2, -0.1)
add("relu", relu, (I([-1.0, 0, 1]),), "at 0", check=False, gradients=(I([0.0, 0, 1]),))


def leaky_relu(x, negative_slope=0.01):
    return np.where(x > 0, x, negative_slope * x)


unary("leaky_relu", leaky_relu)
add("leaky_relu", leaky_relu, (draw("leaky", (3,)),), statics={"negative_slope": 2.0})
add("leaky_relu", leaky_relu, (I([-1.0, 0, 1]),), "at 0", check=False,
    gradients=(I([0.01, 0.01, 1]),))  # fmt: skip


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


unary("elu", elu)
add("elu", elu, (draw("elu", (3,)),), statics={"alpha": 0.5})
add("elu", elu, (I([-1e4, 0, 1e4]),), "far and at 0", statics={"alpha": 0.5}, check=False,
    gradients=(I([0, 0.5, 1]),))  # fmt: skip
unary("silu", lambda x: x * sigmoid(x))
unary("mish", lambda x: x * np.tanh(np.log1p(np.exp(x))))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_tanh_slope(x):
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    du = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * du


unary("gelu_tanh", gelu_tanh)
unary("gelu_tanh_slope", gelu_tanh_slope)
unary("gelu_erf", lambda x: x * (1 + each_erf(x / math.sqrt(2))) / 2)
for name in ("gelu_tanh", "gelu_erf", "silu", "mish"):
    add(name, relu, (I([-300.0, 300]),), "large", check=False, gradients=(I([0.0, 1]),))
