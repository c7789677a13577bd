"""More of scipy.special: Bessel functions of any order, integrals, hypergeometric functions,
distributions and their inverses."""

import numpy as np
import scipy.special as scipy

from samples.sample import Table, draw

TABLE = Table()
add, unary = TABLE.add, TABLE.unary
I = np.array  # noqa: E741
FLOAT32 = {"dtypes": ("float32",)}


def last(name, reference, parameters, interval, **flags):
    """Samples with a derivative for the last operand alone, after numbers and after arrays."""
    flags = {**FLOAT32, **flags}
    x = draw(name, (2, 3), *interval)
    add(name, reference, (*parameters, x), "numbers", **flags)
    arrays = [draw(f"{name}{i}", (3,), p, p + 0.5) for i, p in enumerate(parameters)]
    add(name, reference, (*arrays, x), "rows", **flags)
    add(name, reference, (*arrays, x[:1, :1].T), "outer", **flags)


for name, interval in (("jv", (0.5, 4)), ("yv", (0.5, 4)), ("iv", (0.5, 3)), ("kv", (0.5, 3)),
                       ("ive", (0.5, 3)), ("kve", (0.5, 3))):  # fmt: skip
    last(name, getattr(scipy, name), (1.3,), interval)
    last(name, getattr(scipy, name), (0.0,), interval)
add("jv", scipy.jv, (2.0, I([0.0, -1.5])), "0 and below", **FLOAT32)
for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
    for n in (0, 1, 3):
        add(name, lambda x, n, name=name: getattr(scipy, name)(n, x), (draw(name, (2, 3), 1, 4),),
            f"{n}", {"n": n}, **FLOAT32)  # fmt: skip
unary("k0e", scipy.k0e, 0.5, 3)
unary("k1e", scipy.k1e, 0.5, 3)


def moment(x, order):
    t, w = np.polynomial.legendre.leggauss(60)
    t = (t + 1) / 2
    return ((t**order * np.exp(np.asarray(x)[..., None] * t)) @ w) / 2


for n in (0, 1, 2, 4):
    add("expn", lambda x, n: scipy.expn(n, x), (draw("expn", (2, 3), 0.5, 3),), f"{n}", {"n": n},
        **FLOAT32)  # fmt: skip
    for x in (draw("moment", (5,), -6, 6), I([0.0, 1e-5, -1e-3]), I([-30.0, 20.0])):
        add("exp_moment", moment, (x,), f"{n} {x.size}", {"order": n}, **FLOAT32)
unary("sine_integral", lambda x: scipy.sici(x)[0])
unary("cosine_integral", lambda x: scipy.sici(x)[1], 0.5, 4)
unary("sinh_integral", lambda x: scipy.shichi(x)[0])
unary("cosh_integral", lambda x: scipy.shichi(x)[1], 0.5, 3)
unary("spence", scipy.spence, 0.3, 3)
add("spence", scipy.spence, (I([1.0, 0.95, 1.05]),), "at 1", **FLOAT32)
unary("fresnel", scipy.fresnel, dtypes=("float32",))
unary("dawsn", scipy.dawsn)
unary("erfi", scipy.erfi, -1, 1)

for label, z in (
    ("real", draw("lambertw", (2, 3), -0.3, 3)),
    ("complex", draw("lambertw", (2, 3)) + 1j * draw("lambertwi", (2, 3), 0.5, 2)),
    ("at 0", I([0.0, 1e-9])),
):
    for k in (0, -1) if label == "complex" else (0,):
        add("lambertw", lambda z, k=0: scipy.lambertw(z, k), (z,), f"{label} {k}", {"k": k},
            dtypes=())  # fmt: skip
unary("wrightomega", scipy.wrightomega, complexes=True, dtypes=())
unary("wofz", scipy.wofz, complexes=True, dtypes=())
unary("airy", scipy.airy, complexes=True, dtypes=())
z = draw("gammas", (2, 3), 0.3, 2) + 1j * draw("gammasi", (2, 3), -1, 1)
for x in (z, z - 3):
    add("loggamma", scipy.loggamma, (x,), "complex", dtypes=())
unary("loggamma", scipy.loggamma, 0.5, 3)
for order in (1, 2):
    x = draw("polygamma", (3,), 0.5, 3) + 0j
    add("polygamma", lambda x, order: scipy.polygamma(order, x.real) + 0j, (x,), "complex",
        {"order": order}, dtypes=())  # fmt: skip
TABLE.binary("binom", scipy.binom, a=(4, 6), b=(0.5, 3))

last("hyp0f1", scipy.hyp0f1, (1.5,), (-1, 2))
last("hyp1f1", scipy.hyp1f1, (0.5, 1.5), (-1, 2))
last("hyp2f1", scipy.hyp2f1, (0.5, 1.5, 2.5), (-0.8, 0.8))
last("hyperu", scipy.hyperu, (0.5, 1.5), (0.5, 2))
for name in ("ellipk", "ellipe"):
    unary(name, getattr(scipy, name), -1, 0.8)
    add(name, getattr(scipy, name), (I([0.0, 1e-9]),), "at 0")
TABLE.binary("ellipkinc", scipy.ellipkinc, a=(0.2, 1.2), b=(0.2, 0.8))
TABLE.binary("ellipeinc", scipy.ellipeinc, a=(0.2, 1.2), b=(0.2, 0.8))
for m in (0.3, draw("ellipjm", (3,), 0.1, 0.9)):
    add("ellipj", scipy.ellipj, (draw("ellipj", (2, 3)), m), f"{np.ndim(m)}", **FLOAT32)

last("gammaincinv", scipy.gammaincinv, (1.5,), (0.2, 0.8))
last("gammainccinv", scipy.gammainccinv, (1.5,), (0.2, 0.8))
last("betaincinv", scipy.betaincinv, (1.5, 2.0), (0.2, 0.8))
last("stdtrit", scipy.stdtrit, (2.5,), (0.2, 0.8))
TABLE.binary("owens_t", scipy.owens_t)
unary("ndtri_exp", scipy.ndtri_exp, -3, -0.2)
