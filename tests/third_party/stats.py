"""scipy.stats."""

import numpy as np

import autograd_gpu as ag
from third_party.data import Module, X, f64, p, t, x, y

stats = Module("scipy.stats")

OF_ANY = [
    "describe",
    "gstd",
    "iqr",
    "kurtosis",
    "kstat",
    "lmoment",
    "median_abs_deviation",
    "sem",
    "skew",
    "tmean",
    "tmin",
]
OF_ANY += ["tsem", "tstd", "tvar", "variation", "zscore", "differential_entropy"]
PARTS = {"describe": lambda result: result.variance}
OF_POSITIVE = [
    "circmean",
    "circstd",
    "circvar",
    "entropy",
    "gmean",
    "gstd",
    "gzscore",
    "hmean",
    "variation",
]
TESTS = {
    "alexandergovern": lambda v: stats.alexandergovern(v, v * 2 + 1).statistic,
    "bartlett": lambda v: stats.bartlett(v, v * 2).statistic,
    "jarque_bera": lambda v: stats.jarque_bera(v).statistic,
    "kurtosistest": lambda v: stats.kurtosistest(ag.concat([v, v * 2])).statistic,
    "normaltest": lambda v: stats.normaltest(ag.concat([v, v * 2])).statistic,
    "skewtest": lambda v: stats.skewtest(v).pvalue,
    "ttest_1samp": lambda v: stats.ttest_1samp(v, 0.3).pvalue,
}
WORKS = {
    **{
        f"scipy.stats.{name}": (
            lambda v, name=name: PARTS.get(name, lambda y: y)(getattr(stats, name)(v)),
            x,
        )
        for name in OF_ANY
    },
    **{
        f"scipy.stats.{name}": (lambda v, name=name: getattr(stats, name)(v), p)
        for name in OF_POSITIVE
    },
    **{f"scipy.stats.{name}": (f, x) for name, f in TESTS.items()},
    "scipy.stats.boxcox_llf": (lambda v: stats.boxcox_llf(0.5, v), p),
    "scipy.stats.chisquare": (
        lambda v: stats.chisquare(v, f64(np.full(12, p.mean())), sum_check=False).statistic,
        p,
    ),
    "scipy.stats.combine_pvalues": (lambda v: stats.combine_pvalues(v).statistic, p / 8),
    "scipy.stats.directional_stats": (lambda v: stats.directional_stats(v).mean_direction, X),
    "scipy.stats.kstatvar": (lambda v: stats.kstatvar(v, 2), x),
    "scipy.stats.moment": (lambda v: stats.moment(v, 3), x),
    "scipy.stats.pearsonr": (lambda a, b: stats.pearsonr(a, b).statistic, x, y),
    "scipy.stats.pmean": (lambda v: stats.pmean(v, 3), p),
    "scipy.stats.quantile": (lambda v: stats.quantile(v, f64([0.3])), x),
    "scipy.stats.sigmaclip": (lambda v: stats.sigmaclip(v).clipped, x),
    "scipy.stats.trim_mean": (lambda v: stats.trim_mean(v, 0.1), x),
    "scipy.stats.ttest_ind": (lambda a, b: stats.ttest_ind(a, b).pvalue, x, y),
    "scipy.stats.ttest_ind_from_stats": (
        lambda v: stats.ttest_ind_from_stats(v, 1.0, 10, 0.5, 1.0, 10).statistic,
        t,
    ),
    "scipy.stats.ttest_rel": (lambda a, b: stats.ttest_rel(a, b).pvalue, x, y),
    "scipy.stats.yeojohnson_llf": (lambda v: stats.yeojohnson_llf(0.5, v), x),
    "scipy.stats.zmap": (lambda v: stats.zmap(v, v), x),
}
REFUSES = {
    "scipy.stats.norm.logpdf": (lambda v: stats.norm.logpdf(v), x),
    "scipy.stats.multivariate_normal.logpdf": (
        lambda v: stats.multivariate_normal.logpdf(v, np.zeros(3), np.eye(3)),
        X,
    ),
    "scipy.stats.gaussian_kde": (lambda v: stats.gaussian_kde(v)(y), x),
    "scipy.stats.linregress": (lambda a, b: stats.linregress(a, b).slope, x, y),
    "scipy.stats.wasserstein_distance": (lambda a: stats.wasserstein_distance(a, y), x),
    "scipy.stats.f_oneway": (lambda a: stats.f_oneway(a, a * a).statistic, x),
}
