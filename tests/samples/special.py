"""Special functions, against SciPy."""

import numpy as np
import scipy.special as scipy

from samples.sample import Table, draw, integers

TABLE = Table()
add, unary, binary = TABLE.add, TABLE.unary, TABLE.binary
I = np.array  # noqa: E741

unary("erfc", scipy.erfc)
unary("erfcx", scipy.erfcx)
unary("erfinv", scipy.erfinv, -0.8, 0.8)
unary("erfcinv", scipy.erfcinv, 0.2, 1.8)
unary("ndtr", scipy.ndtr)
unary("log_ndtr", scipy.log_ndtr)
unary("ndtri", scipy.ndtri, 0.1, 0.9)
unary("logit", scipy.logit, 0.1, 0.9)
unary("entr", scipy.entr, 0.3, 2)
unary("sinc", np.sinc)
add("sinc", np.sinc, (I([0.0, 1e-3, -2.0, 0.5]),), "at 0")
far = I([-40.0, -10.0, 5.0])
add("log_ndtr", scipy.log_ndtr, (far,), "far", check=False,
    gradients=(np.sqrt(2 / np.pi) / scipy.erfcx(-far / np.sqrt(2)),))  # fmt: skip


def sinc_slope(x, order):
    t, w = np.polynomial.legendre.leggauss(60)
    t = (t + 1) / 2
    phase = np.pi * np.asarray(x)[..., None] * t + order * np.pi / 2
    return ((np.pi * t) ** order * np.cos(phase) @ w) / 2


for order in (1, 2, 3):
    for x in (draw("sinc", (7,), -4, 4), I([0.0, 0.3, -0.001])):
        add("sinc_slope", sinc_slope, (x,), f"order {order}, {x.size}", {"order": order},
            dtypes=("float32",))  # fmt: skip

positive = {"a": (0.3, 2), "b": (0.3, 2)}
binary("xlogy", scipy.xlogy, **positive)
binary("xlog1py", scipy.xlog1py, **positive)
binary("rel_entr", scipy.rel_entr, **positive)
binary("kl_div", scipy.kl_div, **positive)
zero, one = I([0.0, 0.0, 2.0]), I([1.0, 1.0, 1.0])
add("xlogy", scipy.xlogy, (zero, one), "at 0", check=False,
    gradients=(I([0.0, 0, 0]), I([0.0, 0, 2])))  # fmt: skip

unary("gamma", scipy.gamma, 0.5, 3)
unary("gamma", scipy.gamma, -0.8, -0.3)
unary("lgamma", scipy.gammaln, 0.5, 3)
unary("digamma", scipy.digamma, 0.5, 3)
unary("rgamma", scipy.rgamma, 0.5, 3)
for order in (1, 2):
    unary("polygamma", lambda x, order: scipy.polygamma(order, x), 0.5, 3,
          statics={"order": order}, dtypes=("float32",))  # fmt: skip
binary("beta", scipy.beta, **positive)
binary("betaln", scipy.betaln, **positive)


def only_second(name, reference, first, second, **flags):
    """Samples with a derivative for the last operand alone."""
    a = draw(name + "a", (2, 3), *first)
    add(name, reference, (a, draw(name, (2, 3), *second)), "same", **flags)
    add(name, reference, (1.5, draw(name, (3,), *second)), "number", **flags)
    add(name, reference, (a, draw(name, (3,), *second)), "row", **flags)


only_second("gammainc", scipy.gammainc, (0.5, 2), (0.5, 2))
only_second("gammaincc", scipy.gammaincc, (0.5, 2), (0.5, 2))
only_second("zeta", scipy.zeta, (1.5, 3), (0.5, 2), dtypes=("float32",))
x = draw("betainc", (2, 3), 0.2, 0.8)
add("betainc", scipy.betainc, (draw("ba", (2, 3), 0.5, 2), draw("bb", (3,), 0.5, 2), x), "row")
add("betainc", scipy.betainc, (1.5, 0.5, x), "numbers")

only_second("stdtr", scipy.stdtr, (0.5, 5), (-2, 2))
for order in (1, 2, 3):
    for name, f in (("j_quotient", scipy.jv), ("i_quotient", scipy.iv)):
        add(name, lambda x, order, f=f: f(order, x) / x**order, (draw(name, (2, 3), 0.5, 3),),
            f"order {order}", {"order": order})  # fmt: skip
        add(name, lambda x, order, f=f: f(order, x) / x**order, (draw(name, (3,), 7, 9),),
            f"order {order} far", {"order": order})  # fmt: skip

unary("j0", scipy.j0)
unary("j1", scipy.j1)
unary("y0", scipy.y0, 0.5, 3)
unary("y1", scipy.y1, 0.5, 3)
unary("i0", scipy.i0)
unary("i1", scipy.i1)
unary("i0e", scipy.i0e, 0.2, 2)
unary("i0e", scipy.i0e, -2, -0.2)
unary("i1e", scipy.i1e, 0.2, 2)
unary("k0", scipy.k0, 0.5, 3)
unary("k1", scipy.k1, 0.5, 3)
unary("exp1", scipy.exp1, 0.5, 3)
unary("expi", scipy.expi, 0.5, 3)
at_0 = I([0.0])
for name, gradient in (("j0", 0.0), ("j1", 0.5), ("i0", 0.0), ("i1", 0.5), ("i0e", 0.0),
                       ("i1e", 0.5)):  # fmt: skip
    add(name, getattr(scipy, name), (at_0,), "at 0", check=False, gradients=(I([gradient]),))

# NumPy's functions that take a primitive -------------------------------------------------------

binary("fmod", np.fmod, a=(2.2, 2.8), b=(0.9, 1.05))
add("fmod", np.fmod, (I([-5.0, 5.0, -5.0]), I([3.0, -3.0, -3.0])), "signs")
for a, b in (((2, 3), (2, 3)), ((2, 1), (1, 3)), ((), (3,)), ((0, 3), (3,))):
    add("heaviside", np.heaviside, (draw("ha", a, 0.2, 1), draw("hb", b)), f"{a} {b}")
add("heaviside", np.heaviside, (I([-1.0, 0.0, 1.0]), I([0.5, 0.5, 0.5])), "at 0", check=False,
    gradients=(np.zeros(3), I([0.0, 1, 0])))  # fmt: skip
for x, i in ((draw("ldexp", (2, 3)), integers("ldexp", (3,), -3, 4)), (draw("l", ()), I(2))):
    add("ldexp", np.ldexp, (x, i), f"{x.shape}")
add("binary_exponent", lambda x: np.frexp(x)[1], (I([0.0, 0.3, -8.0, 1e-300, np.inf]),),
    dtypes=("float32",))  # fmt: skip
for name in ("gcd", "lcm"):
    add(name, getattr(np, name), (integers(name, (2, 3), 1, 30), integers(name, (3,), 1, 30)))


def part(a, b, start, stop):
    full = np.convolve(a, b)
    out = np.zeros(stop - start, full.dtype)
    for i in range(max(start, 0), min(stop, full.size)):
        out[i - start] = full[i]
    return out


for n, m, start, stop in ((4, 3, 0, 6), (3, 4, 1, 4), (4, 2, -2, 9), (1, 1, 0, 1), (2, 5, 6, 9)):
    a, b = draw("convolve", (n,)), draw("convolveb", (m,))
    statics = {"start": start, "stop": stop}
    add("convolve_part", part, (a, b), f"{n} {m} {start} {stop}", statics, dtypes=("float32",))
    add("convolve_part", part, (a, b + 1j * draw("ci", (m,))), f"complex {n} {m} {start} {stop}",
        statics)  # fmt: skip

vector = draw("order", (8,))
add("argpartition", np.argpartition, (vector,), "vector", {"kth": 3, "axis": -1}, dtypes=())


def histogram(x, weights, bins=10, range=None, density=False):
    return np.histogram(x, bins, range, density, weights)


add("histogram", histogram, (vector, None), "default", dtypes=())
add("histogram", histogram, (vector, np.abs(vector)), "weights",
    {"bins": 3, "range": (-1, 1), "density": True}, dtypes=())  # fmt: skip
add("digitize", np.digitize, (vector, I([-1.0, 0, 1])), "right", {"right": True})
add("isin", np.isin, (I([1, 2, 3]), I([2, 5])), "inverted", {"invert": True})
add("isin", np.isin, (I([1.0, 2, 3]), I([2.0, 5])), "plain", {"invert": False})
extremes = I([[1.0, 3, 2, 3, 5, 0], [2, 2, 1, 1, 0, 9]])
add("best_before", lambda x, largest: I([[0, 1, 1, 1, 4, 4], [0, 0, 0, 0, 0, 5]]), (extremes,),
    "largest", {"largest": True})  # fmt: skip
add("best_before", lambda x, largest: I([[0, 0, 0, 0, 0, 5], [0, 0, 2, 2, 4, 4]]), (extremes,),
    "smallest", {"largest": False})  # fmt: skip
