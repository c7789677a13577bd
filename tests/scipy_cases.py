"""SciPy, scikit-learn and array-api-extra on Variables; run with SCIPY_ARRAY_API=1.

Prints a JSON object: for each case None, or what went wrong.  tests/test_scipy.py runs it in a
process of its own, since SciPy reads the switch when it is imported.
"""

import importlib
import json
import re
import sys
import warnings

import numpy as np

import autograd_gpu as ag

rng = np.random.default_rng(0)
x, y = rng.normal(size=12), rng.normal(size=12)
p = np.abs(x) + 0.3
X = rng.normal(size=(8, 3))
t = np.array(1.3)


def f64(value):
    return ag.asarray(value, dtype=ag.float64)


class Module:
    """A module, imported when first used."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self.name), attribute)


special, stats, integrate = (
    Module("scipy.special"),
    Module("scipy.stats"),
    Module("scipy.integrate"),
)
signal, fft, linalg = Module("scipy.signal"), Module("scipy.fft"), Module("scipy.linalg")
ndimage, differentiate = Module("scipy.ndimage"), Module("scipy.differentiate")
elementwise, transform = Module("scipy.optimize.elementwise"), Module("scipy.spatial.transform")
vq, extra = Module("scipy.cluster.vq"), Module("scipy._lib.array_api_extra")
scale, parts = Module("sklearn.preprocessing"), Module("sklearn.decomposition")
linear = Module("sklearn.linear_model")


def rotation(r):
    return transform.Rotation.from_rotvec(r)


WORKS = {
    **{
        f"scipy.special.{name}": (lambda v, name=name: getattr(special, name)(v), p / 8 + 0.05)
        for name in (
            "entr",
            "erf",
            "erfc",
            "expit",
            "gammaln",
            "i0",
            "i1e",
            "log_ndtr",
            "logit",
            "ndtr",
        )
    },
    "scipy.special.xlogy": (lambda a, b: special.xlogy(a, b), p, p[::-1].copy()),
    "scipy.special.rel_entr": (lambda a, b: special.rel_entr(a, b), p, p[::-1].copy()),
    "scipy.special.logsumexp": (lambda a: special.logsumexp(a), x),
    "scipy.special.softmax": (lambda a: special.softmax(a), x),
    "scipy.special.log_softmax": (lambda a: special.log_softmax(a), x),
    "scipy.special.stdtr": (lambda a: special.stdtr(f64(3.0), a), x),
    "scipy.stats.zscore": (lambda v: stats.zscore(v), x),
    "scipy.stats.skew": (lambda v: stats.skew(v), x),
    "scipy.stats.kurtosis": (lambda v: stats.kurtosis(v), x),
    "scipy.stats.moment": (lambda v: stats.moment(v, 3), x),
    "scipy.stats.variation": (lambda v: stats.variation(v), p),
    "scipy.stats.gmean": (lambda v: stats.gmean(v), p),
    "scipy.stats.hmean": (lambda v: stats.hmean(v), p),
    "scipy.stats.pmean": (lambda v: stats.pmean(v, 3), p),
    "scipy.stats.sem": (lambda v: stats.sem(v), x),
    "scipy.stats.entropy": (lambda v: stats.entropy(v), p),
    "scipy.stats.trim_mean": (lambda v: stats.trim_mean(v, 0.1), x),
    "scipy.stats.pearsonr": (lambda a, b: stats.pearsonr(a, b).statistic, x, y),
    "scipy.stats.ttest_1samp": (lambda a: stats.ttest_1samp(a, 0.3).pvalue, x),
    "scipy.stats.ttest_ind": (lambda a, b: stats.ttest_ind(a, b).pvalue, x, y),
    "scipy.stats.ttest_rel": (lambda a, b: stats.ttest_rel(a, b).pvalue, x, y),
    "scipy.stats.skewtest": (lambda a: stats.skewtest(a).pvalue, x),
    "scipy.integrate.trapezoid": (lambda a: integrate.trapezoid(a), x),
    "scipy.integrate.cumulative_trapezoid": (lambda a: integrate.cumulative_trapezoid(a), x),
    "scipy.integrate.cumulative_simpson": (lambda a: integrate.cumulative_simpson(a), x),
    "scipy.integrate.tanhsinh": (
        lambda a: integrate.tanhsinh(lambda s: ag.exp(-a * s * s), f64(0.0), f64(1.0)).integral,
        t,
    ),
    "scipy.integrate.cubature": (
        lambda a: (
            integrate.cubature(lambda s: ag.exp(-a * s[:, 0] ** 2), f64([0.0]), f64([1.0])).estimate
        ),
        t,
    ),
    "scipy.integrate.fixed_quad": (
        lambda a: integrate.fixed_quad(lambda s: ag.exp(-a * s * s), 0.0, 1.0)[0],
        t,
    ),
    "scipy.integrate.nsum": (
        lambda a: integrate.nsum(lambda k: ag.exp(-a * k), f64(1.0), f64(30.0)).sum,
        t,
    ),
    "scipy.differentiate.derivative": (
        lambda a: differentiate.derivative(lambda s: ag.sin(a * s), f64(0.7)).df,
        t,
    ),
    "scipy.differentiate.jacobian": (
        lambda a: differentiate.jacobian(lambda s: ag.sin(a * s), f64([0.7, 0.2])).df,
        t,
    ),
    "scipy.optimize.elementwise.find_root": (
        lambda a: elementwise.find_root(lambda s: s**3 - a, (f64(0.1), f64(3.0))).x,
        t,
    ),
    "scipy.optimize.elementwise.find_minimum": (
        lambda a: (
            elementwise.find_minimum(
                lambda s: (s - a) ** 2 + a**2, (f64(0.1), f64(1.0), f64(3.0))
            ).f_x
        ),
        t,
    ),
    "scipy.signal.fftconvolve": (lambda a, b: signal.fftconvolve(a, b), x, y[:5]),
    "scipy.signal.oaconvolve": (lambda a, b: signal.oaconvolve(a, b), x, y[:5]),
    "scipy.signal.hilbert": (lambda a: ag.abs(signal.hilbert(a)), x),
    "scipy.spatial.transform.Rotation.apply": (lambda r, v: rotation(r).apply(v), x[:3], y[:3]),
    "scipy.spatial.transform.Rotation.as_matrix": (lambda r: rotation(r).as_matrix(), x[:3]),
    "scipy.spatial.transform.Rotation.as_euler": (lambda r: rotation(r).as_euler("xyz"), x[:3]),
    "scipy.spatial.transform.Rotation.as_rotvec": (
        lambda q: transform.Rotation.from_quat(q).as_rotvec(),
        x[:4],
    ),
    "scipy.fft.rfft": (lambda a: ag.abs(fft.rfft(a)), x),
    "scipy.fft.fft2": (lambda a: ag.abs(fft.fft2(a.reshape(3, 4))), x),
    "scipy.cluster.vq.whiten": (lambda a: vq.whiten(a.reshape(6, 2)), x),
    "array_api_extra.cov": (lambda a: extra.cov(a.reshape(3, 4)), x),
    "array_api_extra.kron": (lambda a, b: extra.kron(a.reshape(3, 4), b), x, y[:2]),
    "array_api_extra.sinc": (lambda a: extra.sinc(a), x),
    "array_api_extra.at": (lambda a, b: extra.at(a * 1)[2].set(b), x, y[0]),
    "array_api_extra.create_diagonal": (lambda a: extra.create_diagonal(a), x),
    "array_api_extra.apply_where": (
        lambda a: extra.apply_where(a > 0, a, lambda v: v**2, lambda v: -v),
        x,
    ),
    "sklearn.preprocessing.MinMaxScaler": (lambda v: scale.MinMaxScaler().fit_transform(v), X),
    "sklearn.preprocessing.MaxAbsScaler": (lambda v: scale.MaxAbsScaler().fit_transform(v), X),
    "sklearn.preprocessing.Normalizer": (lambda v: scale.Normalizer().fit_transform(v), X),
    "sklearn.decomposition.PCA": (
        lambda v: ag.abs(parts.PCA(2, svd_solver="full").fit_transform(v)),
        X,
    ),
    "sklearn.linear_model.Ridge": (
        lambda v, w: linear.Ridge(solver="svd").fit(v, w).coef_,
        X,
        y[:8],
    ),
}
WITH_NAN_SAFE = {
    "sklearn.preprocessing.StandardScaler": (
        lambda v: scale.StandardScaler().fit_transform(v),
        X,
    ),
}
REFUSES = {
    "scipy.integrate.simpson": (lambda a: integrate.simpson(a), x),
    "scipy.signal.lfilter": (lambda a: signal.lfilter([1.0], [1.0, 0.5], a), x),
    "scipy.signal.detrend": (lambda a: signal.detrend(a), x),
    "scipy.signal.welch": (lambda a: signal.welch(a, nperseg=8)[1], x),
    "scipy.fft.dct": (lambda a: fft.dct(a), x),
    "scipy.ndimage.gaussian_filter": (lambda a: ndimage.gaussian_filter(a, 1.0), x),
    "scipy.linalg.expm": (lambda a: linalg.expm(a.reshape(3, 3)), x[:9]),
}


def works(f, *values):
    result = f(*[ag.Variable(v, requires_grad=True) for v in values])
    assert type(result) is ag.Variable, f"the result is {type(result).__name__}"
    assert result.requires_grad, "the gradient is lost"
    ag.grad_check(f, [np.asarray(v) for v in values])


def works_with_nan_safe(f, *values):
    with ag.nan_safe():
        works(f, *values)


def refuses(f, *values):
    """TypeError, or in a SciPy that has learnt it since, the right gradient: never a wrong one."""
    try:
        f(*[ag.Variable(v, requires_grad=True) for v in values])
    except TypeError as error:
        if not re.search("gradient|namespaces", str(error)):
            raise
    else:
        works(f, *values)


def outcome(check, case):
    try:
        check(*case)
    except ModuleNotFoundError as error:
        return f"skip: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main():
    warnings.simplefilter("ignore")
    importlib.import_module("sklearn").set_config(array_api_dispatch=True)
    outcomes = {
        name: outcome(check, case)
        for check, cases in (
            (works, WORKS),
            (works_with_nan_safe, WITH_NAN_SAFE),
            (refuses, REFUSES),
        )
        for name, case in cases.items()
    }
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
