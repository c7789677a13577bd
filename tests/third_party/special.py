"""scipy.special."""

from third_party.data import Module, f64, p, small, t, x

special = Module("scipy.special")

OF_ONE = [
    "cbrt",
    "dawsn",
    "digamma",
    "ellipe",
    "ellipk",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfi",
    "erfinv",
    "exp1",
    "exp10",
    "expit",
    "exprel",
    "gamma",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "psi",
    "rgamma",
    "sinc",
    "softmax",
    "softplus",
    "spence",
    "y0",
]
OF_TWO = ["betaln", "kl_div", "rel_entr", "xlog1py", "xlogy"]
WITH_A_CONSTANT = {
    "betainc": lambda v: special.betainc(f64(1.5), f64(2.0), v),
    "boxcox": lambda v: special.boxcox(v, f64(0.5)),
    "chdtr": lambda v: special.chdtr(f64(3.0), v),
    "chdtrc": lambda v: special.chdtrc(f64(3.0), v),
    "gammainc": lambda v: special.gammainc(f64(1.5), v),
    "gammaincinv": lambda v: special.gammaincinv(f64(1.5), v),
    "hyp2f1": lambda v: special.hyp2f1(0.5, 1.0, 1.5, v),
    "iv": lambda v: special.iv(1.5, v),
    "jv": lambda v: special.jv(1.5, v),
    "kv": lambda v: special.kv(1.5, v),
    "yv": lambda v: special.yv(1.5, v),
    "expn": lambda v: special.expn(2, v),
    "fresnel": lambda v: special.fresnel(v)[0],
    "sici": lambda v: special.sici(v)[1],
    "lambertw": lambda v: special.lambertw(v).real,
    "voigt_profile": lambda v: special.voigt_profile(v, f64(0.5), f64(0.7)),
    "owens_t": lambda v: special.owens_t(v, f64(0.5)),
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
        for name in ("cosdg", "kolmogorov", "zetac")
    },
    "scipy.special.struve": (lambda v: special.struve(1.5, v), x),
    "scipy.special.zeta": (lambda v: special.zeta(v + 2.0, f64(1.5)), t),
}
