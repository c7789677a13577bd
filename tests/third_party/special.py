"""scipy.special."""

from third_party.data import Module, f64, p, small, t, x

special = Module("scipy.special")

OF_ONE = [
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "exp10",
    "expit",
    "gamma",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k1",
    "log1p",
    "log_expit",
    "log_ndtr",
    "logit",
    "logsumexp",
    "log_softmax",
    "ndtr",
    "ndtri",
    "psi",
    "rgamma",
    "sinc",
    "softmax",
    "softplus",
    "y0",
]
OF_TWO = ["betaln", "kl_div", "rel_entr", "xlog1py", "xlogy"]
WITH_A_CONSTANT = {
    "betainc": lambda v: special.betainc(f64(1.5), f64(2.0), v),
    "chdtr": lambda v: special.chdtr(f64(3.0), v),
    "chdtrc": lambda v: special.chdtrc(f64(3.0), v),
    "gammainc": lambda v: special.gammainc(f64(1.5), v),
    "gammaincc": lambda v: special.gammaincc(f64(1.5), v),
    "huber": lambda v: special.huber(f64(1.0), v),
    "multigammaln": lambda v: special.multigammaln(v + 3, 2),
    "poch": lambda v: special.poch(v, f64(2.0)),
    "polygamma": lambda v: special.polygamma(2, v),
    "pseudo_huber": lambda v: special.pseudo_huber(f64(1.0), v),
    "stdtr": lambda v: special.stdtr(f64(3.0), v),
    "stdtrit": lambda v: special.stdtrit(f64(3.0), v),
}
WORKS = {
    **{
        f"scipy.special.{name}": (lambda v, name=name: getattr(special, name)(v), small)
        for name in OF_ONE
    },
    **{
        f"scipy.special.{name}": (
            lambda a, b, name=name: getattr(special, name)(a, b),
            p,
            p[::-1].copy(),
        )
        for name in OF_TWO
    },
    **{f"scipy.special.{name}": (f, small) for name, f in WITH_A_CONSTANT.items()},
}
REFUSES = {
    **{
        f"scipy.special.{name}": (lambda v, name=name: getattr(special, name)(v), small)
        for name in ("cosdg", "dawsn", "ellipe", "ellipk", "exprel", "fresnel", "spence")
    },
    "scipy.special.jv": (lambda v: special.jv(1.5, v), x),
    "scipy.special.zeta": (lambda v: special.zeta(v + 2.0, f64(1.5)), t),
    "scipy.special.boxcox": (lambda v: special.boxcox(v, 0.5), p),
}
