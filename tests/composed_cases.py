"""Functions made of primitives that NumPy has as well, with operands for them."""

import numpy as np
from samples.sample import draw

import autograd_gpu as ag

A = draw("A", (3, 4))
B = draw("B", (3, 4))
u = draw("u", (6,))
w = draw("w", (4,))
nan = A.copy()
nan[0, 1] = nan[2, 3] = nan[2, 0] = np.nan
z = draw("z", (4,)) + 1j * draw("zi", (4,))
I = np.array  # noqa: E741
up = np.cumsum(draw("up", (6,), 0.3, 1))
STEPS = np.cumsum(draw("steps", (3, 4), 0.3, 1), axis=1)

# name: (function of the namespace and its differentiable operands, operands, orders proven)
CASES = {
    # Differences and integrals
    "diff": (lambda xp, x: xp.diff(x), [A], 2),
    "diff n": (lambda xp, x: xp.diff(x, n=2, axis=0), [A], 2),
    "diff n 0": (lambda xp, x: xp.diff(x, n=0) * x, [A], 2),
    "diff edges": (lambda xp, x, y: xp.diff(x, axis=1, prepend=0.0, append=y), [A, A[:, :1]], 2),
    "ediff1d": (lambda xp, x: xp.ediff1d(x, to_begin=0.0, to_end=[1.0, 2.0]), [A], 2),
    "gradient": (lambda xp, x: xp.gradient(x)[1] * xp.gradient(x)[0], [A], 2),
    "gradient 2": (lambda xp, x: xp.gradient(x, 0.5, axis=1, edge_order=2), [A], 2),
    "gradient at": (lambda xp, x, t: xp.gradient(x, t, axis=0), [up, up + u], 2),
    "gradient at 2": (lambda xp, x: xp.gradient(x, up, edge_order=2), [u], 2),
    "trapezoid": (lambda xp, x: xp.trapezoid(x), [A], 2),
    "trapezoid dx": (lambda xp, x: xp.trapezoid(x, dx=0.5, axis=0), [A], 2),
    "trapezoid x": (lambda xp, y, x: xp.trapezoid(y, x), [A, w], 2),
    "trapezoid xs": (lambda xp, y, x: xp.trapezoid(y, x, axis=0), [A, B], 2),
    "interp": (lambda xp, x, t, f: xp.interp(x, t, f), [I([[1.3, 2.1], [0.9, 1.7]]), up, u], 2),
    "interp outside": (
        lambda xp, x, f: xp.interp(x, up, f, left=-1.0),
        [I([-1.0, 9.0, 1.5]), u],
        2,
    ),
    "interp period": (
        lambda xp, x, f: xp.interp(x, up, f, period=3.7),
        [I([0.4, 5.0, -1.5]), u],
        2,
    ),
    "interp at points": (lambda xp, f: xp.interp(up, up, f), [u], 2),
    "unwrap": (lambda xp, x: xp.unwrap(x), [u * 5], 2),
    "unwrap axis": (lambda xp, x: xp.unwrap(x, axis=0, period=1.5, discont=1.0), [A * 3], 2),
    **{
        f"{name} {mode} {n} {m}": (
            lambda xp, a, b, name=name, mode=mode: getattr(xp, name)(a, b, mode),
            [draw("ca", (n,)), draw("cb", (m,))],
            2,
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for n, m in ((6, 3), (6, 4), (3, 6), (4, 6), (3, 5), (5, 5), (1, 3))
    },
    "convolve complex": (lambda xp, a, b: xp.convolve(a, b), [z, w], 2),
    "correlate complex": (lambda xp, a, b: xp.correlate(a, b, "full"), [z, z[:3] * 1j], 2),
    "polyval": (lambda xp, p, x: xp.polyval(p, x), [w, A], 2),
    "vander": (lambda xp, x: xp.vander(x), [w], 2),
    "vander increasing": (lambda xp, x: xp.vander(x, 3, increasing=True), [w], 2),
    # Polynomials
    "polyadd": (lambda xp, a, b: xp.polyadd(a, b) ** 2, [w, u], 2),
    "polysub": (lambda xp, a, b: xp.polysub(a, b) ** 2, [u, w], 2),
    "polymul": (lambda xp, a, b: xp.polymul(a, b), [w, u], 2),
    "polydiv": (lambda xp, a, b: xp.polydiv(a, b)[0], [u, w[:3] + 3], 2),
    "polydiv rest": (lambda xp, a, b: xp.polydiv(a, b)[1], [u, w[:3] + 3], 2),
    "polydiv short": (lambda xp, a, b: xp.polydiv(a, b)[1] ** 2, [w[:2], u + 3], 1),
    "polyder": (lambda xp, p: xp.polyder(p) ** 2, [u], 2),
    "polyder 3": (lambda xp, p: xp.polyder(p, 3) ** 2, [u], 2),
    "polyint": (lambda xp, p: xp.polyint(p) ** 2, [w], 2),
    "polyint 2": (lambda xp, p, k: xp.polyint(p, 2, k) ** 2, [w, u[:2]], 2),
    "poly": (lambda xp, z: xp.poly(z), [w], 2),
    "polyfit": (lambda xp, x, y: xp.polyfit(x, y, 2), [up, u], 2),
    "polyfit several": (
        lambda xp, x, y, v: xp.polyfit(x, y, 1, w=v),
        [w, draw("pf", (4, 2)), draw("pw", (4,), 0.5, 2)],
        2,
    ),
    "roots": (
        lambda xp, p: (
            ag.real(xp.roots(p) ** 3).sum() if xp is ag else (np.roots(p) ** 3).real.sum()
        ),
        [w + I([2.0, 0, 0, 0])],
        2,
    ),
    # Along axes
    "apply_along_axis": (
        lambda xp, x: xp.apply_along_axis(lambda row: row[1:] * row[0], 0, x),
        [A],
        2,
    ),
    "apply_along_axis to numbers": (
        lambda xp, x: xp.apply_along_axis(lambda row, k: (row**k).sum(), -1, x, 3),
        [draw("aaa", (2, 3, 2))],
        2,
    ),
    "apply_along_axis to matrices": (
        lambda xp, x: xp.apply_along_axis(lambda row: row[:, None] * row, 1, x),
        [draw("aam", (2, 3, 2))],
        2,
    ),
    "apply_over_axes": (
        lambda xp, x: xp.apply_over_axes(xp.sum, x**2, [0, -1]),
        [draw("aoa", (2, 3, 2))],
        2,
    ),
    "frexp": (lambda xp, x: xp.frexp(x)[0] * x, [draw("frexp", (3,), 1.1, 1.9)], 2),
    "ldexp": (lambda xp, x: xp.ldexp(x, I([1, -2, 0])) * x, [draw("ldexp", (3,))], 2),
    "ldexp number": (lambda xp, x: xp.ldexp(x, -3) * x, [draw("ldexp", (3,))], 2),
    # Borders
    **{
        f"pad {mode} {options}": (
            lambda xp, x, mode=mode, options=options: xp.pad(x, ((2, 1), (0, 3)), mode, **options),
            [A],
            2,
        )
        for mode, options in (
            ("edge", {}),
            ("linear_ramp", {}),
            ("linear_ramp", {"end_values": (1.0, -2.0)}),
            ("maximum", {}),
            ("minimum", {"stat_length": 2}),
            ("mean", {"stat_length": ((1, 2), (3, 4))}),
            ("median", {"stat_length": (2, 3)}),
            ("reflect", {}),
            ("symmetric", {}),
            ("wrap", {}),
            ("reflect", {"reflect_type": "odd"}),
            ("symmetric", {"reflect_type": "odd"}),
            ("constant", {"constant_values": ((1.0, 2.0), (3.0, 4.0))}),
        )
    },
    **{
        f"pad far {mode}": (lambda xp, x, mode=mode: xp.pad(x, (9, 11), mode), [w[:3]], 2)
        for mode in ("reflect", "symmetric", "wrap", "edge")
    },
    "pad one element": (lambda xp, x: xp.pad(x, 2, "reflect"), [w[:1]], 2),
    # Order statistics
    "median": (lambda xp, x: xp.median(x), [A], 2),
    "median axis": (lambda xp, x: xp.median(x, axis=0, keepdims=True), [A], 2),
    "median axes": (lambda xp, x: xp.median(x, axis=(0, 2)), [draw("m", (2, 3, 4))], 2),
    "quantile": (lambda xp, x: xp.quantile(x, 0.3, axis=1), [A], 2),
    "quantile several": (lambda xp, x: xp.quantile(x, I([[0.1], [0.9]]), axis=0), [A], 2),
    "quantile list kept": (lambda xp, x: xp.quantile(x, [0.1, 0.5], keepdims=True), [A], 2),
    "quantile ends": (lambda xp, x: xp.quantile(x, [0.0, 1.0]), [u], 2),
    "quantile of q": (lambda xp, x, q: xp.quantile(x, q), [u, I([0.3, 0.71])], 2),
    **{
        f"quantile {method}": (
            lambda xp, x, method=method: xp.quantile(x, [0.13, 0.5, 0.77], method=method),
            [u],
            2,
        )
        for method in (
            "linear",
            "hazen",
            "interpolated_inverted_cdf",
            "median_unbiased",
            "normal_unbiased",
            "weibull",
            "higher",
            "lower",
            "midpoint",
            "nearest",
            "inverted_cdf",
        )
    },
    "percentile": (lambda xp, x: xp.percentile(x, 30, axis=0), [A], 2),
    "percentile several": (lambda xp, x: xp.percentile(x, [30, 40]), [A], 2),
    "partition": (lambda xp, x: xp.partition(x, 2)[2], [u], 2),
    "partition flat": (lambda xp, x: xp.partition(x, 5, axis=None)[5:].sum(), [A], 2),
    "ptp": (lambda xp, x: xp.ptp(x, axis=1), [A], 2),
    "average": (lambda xp, x, y: xp.average(x, axis=1, weights=y), [A, abs(w)], 2),
    "cov": (lambda xp, x: xp.cov(x), [A], 2),
    "cov columns": (lambda xp, x: xp.cov(x, rowvar=False), [A], 2),
    "cov vector": (lambda xp, x: xp.cov(x), [u], 2),
    "corrcoef": (lambda xp, x: xp.corrcoef(x), [A], 2),
    "bincount": (lambda xp, x: xp.bincount(I([0, 2, 2, 1]), x, 5), [w], 2),
    # NaN passed over
    **{
        f"{name} {axis}": (
            lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis),
            [nan],
            2,
        )
        for name in (
            "nansum",
            "nanprod",
            "nanmean",
            "nanvar",
            "nanstd",
            "nanmax",
            "nanmin",
            "nanmedian",
            "nancumsum",
            "nancumprod",
        )
        for axis in (None, 0, 1)
    },
    "nanquantile": (lambda xp, x: xp.nanquantile(x, 0.3, axis=1), [nan], 2),
    "nanquantile several": (lambda xp, x: xp.nanquantile(x, [0.3, 0.6], axis=1), [nan], 2),
    "nanpercentile": (lambda xp, x: xp.nanpercentile(x, 25), [nan], 2),
    "nan_to_num": (lambda xp, x: xp.nan_to_num(x, nan=3.0) * A, [nan], 2),
    # Parts
    "diag": (lambda xp, x: xp.diag(x), [w], 2),
    "diag k": (lambda xp, x: xp.diag(x, -2), [w], 2),
    "diag of a matrix": (lambda xp, x: xp.diag(x, 1), [A], 2),
    "diagflat": (lambda xp, x: xp.diagflat(x, 1), [A], 2),
    "diagonal": (lambda xp, x: xp.diagonal(x, -1, 2, 0), [draw("d", (2, 3, 4))], 2),
    "diagonal outside": (lambda xp, x: xp.diagonal(x, 7), [A], 0),
    "trace": (lambda xp, x: xp.trace(x, 1), [A], 2),
    "fliplr": (lambda xp, x: xp.fliplr(x), [A], 2),
    "flipud": (lambda xp, x: xp.flipud(x), [w], 2),
    **{
        f"rot90 {k}": (lambda xp, x, k=k: xp.rot90(x, k, axes=(1, 0)), [A], 2) for k in range(-1, 4)
    },
    "cross": (lambda xp, a, b: xp.cross(a, b), [A[:, :3], w[:3]], 2),
    "cross axes": (lambda xp, a, b: xp.cross(a, b, 0, 1, 0), [A, B.T.copy()], 2),
    "cross axis": (lambda xp, a, b: xp.cross(a, b, axis=0), [A, B], 2),
    "vdot": (lambda xp, a, b: xp.vdot(a, b), [z, w], 2),
    "vstack": (lambda xp, a, b: xp.vstack([a, b]), [A, w], 2),
    "hstack": (lambda xp, a, b: xp.hstack([a, b]), [u, w], 2),
    "dstack": (lambda xp, a, b: xp.dstack([a, b]), [A, B], 2),
    "column_stack": (lambda xp, a, b: xp.column_stack([a, b]), [A.T.copy(), w], 2),
    "block": (
        lambda xp, a, b: xp.block([[a, b[:, None]], [xp.zeros((1, 5))]]),
        [A, w[:3]],
        2,
    ),
    "block flat": (lambda xp, a, b: xp.block([a, b]), [u, w], 2),
    "append": (lambda xp, a, b: xp.append(a, b), [A, w], 2),
    "append axis": (lambda xp, a, b: xp.append(a, b, axis=0), [A, B], 2),
    "array_split": (lambda xp, x: xp.array_split(x, 4)[1], [u], 2),
    "array_split at": (lambda xp, x: xp.array_split(x, [1, 3], axis=1)[1], [A], 2),
    "hsplit": (lambda xp, x: xp.hsplit(x, 2)[1], [A], 2),
    "vsplit": (lambda xp, x: xp.vsplit(x, 3)[1], [A], 2),
    "dsplit": (lambda xp, x: xp.dsplit(x[None], 2)[1], [A], 2),
    "delete": (lambda xp, x: xp.delete(x, 1), [u], 2),
    "delete slice": (lambda xp, x: xp.delete(x, slice(0, 2), axis=1), [A], 2),
    "delete several": (lambda xp, x: xp.delete(x, [0, -1], axis=0), [A], 2),
    "delete mask": (lambda xp, x: xp.delete(x, I([True, False, True]), axis=0), [A], 2),
    "insert": (lambda xp, x, v: xp.insert(x, 1, v), [u, I(3.0)], 2),
    "insert several": (lambda xp, x, v: xp.insert(x, [1, 1, 4], v), [u, w[:3]], 2),
    "insert flat": (lambda xp, x: xp.insert(x, 2, 5.0), [A], 2),
    "insert row": (lambda xp, x, v: xp.insert(x, 1, v, axis=0), [A, w], 2),
    "insert column": (lambda xp, x, v: xp.insert(x, -1, v, axis=1), [A, w[:3]], 2),
    "insert numbers": (lambda xp, x: xp.insert(x, [0, 3], 5.0, axis=1), [A], 2),
    "resize": (lambda xp, x: xp.resize(x, (3, 3)), [w], 2),
    "trim_zeros": (lambda xp, x: xp.trim_zeros(x), [I([0.0, 1.0, 0.0, 2.0, 0.0])], 0),
    # Choosing
    "compress": (lambda xp, x: xp.compress([False, True, True], x, axis=0), [A], 2),
    "compress flat": (lambda xp, x: xp.compress(I([False, True, True]), x), [A], 2),
    "extract": (lambda xp, x: xp.extract(B > 0, x), [A], 2),
    "choose": (lambda xp, a, b: xp.choose(I([0, 1, 1, 0]), [a, b]), [A, w], 2),
    "choose wrap": (lambda xp, a: xp.choose(I([0, 4, -1]), [a, 1.0], mode="wrap"), [w[:3]], 2),
    "choose clip": (lambda xp, a: xp.choose(I([0, 4, -1]), [a, 2 * a], mode="clip"), [w[:3]], 2),
    "select": (lambda xp, x: xp.select([B > 1, B > 0], [x, x * x], -1.0), [A], 2),
    "piecewise": (
        lambda xp, x: xp.piecewise(x, [B > 1, B < 0], [lambda v: v * v, 3.0, lambda v: -v]),
        [A],
        2,
    ),
    "fmax": (lambda xp, a, b: xp.fmax(a, b), [nan, B], 0),
    "fmax finite": (lambda xp, a, b: xp.fmax(a, b), [A, B], 2),
    "fmin": (lambda xp, a, b: xp.fmin(a, b), [A, B], 2),
    "float_power": (lambda xp, a, b: xp.float_power(a, b), [abs(A), w], 2),
    "logaddexp2": (lambda xp, a, b: xp.logaddexp2(a, b), [A, B], 2),
    "modf": (lambda xp, x: xp.modf(x)[0] * x, [A], 2),
    "linspace": (lambda xp, a, b: xp.linspace(a, b, 5), [I(0.3), I(2.0)], 2),
    "linspace arrays": (lambda xp, a, b: xp.linspace(a, b, 5, endpoint=False), [w, u[:4]], 2),
}
