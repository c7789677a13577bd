"""scipy.integrate, scipy.differentiate, scipy.optimize, scipy.interpolate, scipy.linalg."""

import numpy as np

import autograd_gpu as ag
from third_party.data import Module, f64, t, x, y

integrate, differentiate = Module("scipy.integrate"), Module("scipy.differentiate")
optimize, elementwise = Module("scipy.optimize"), Module("scipy.optimize.elementwise")
interpolate, linalg = Module("scipy.interpolate"), Module("scipy.linalg")
grid = np.linspace(0, 3, 12)


def decay(a):
    return lambda s: ag.exp(-a * s * s)


WORKS = {
    "scipy.integrate.trapezoid": (lambda a: integrate.trapezoid(a), x),
    "scipy.integrate.cumulative_trapezoid": (lambda a: integrate.cumulative_trapezoid(a), x),
    "scipy.integrate.cumulative_simpson": (lambda a: integrate.cumulative_simpson(a), x),
    "scipy.integrate.romb": (lambda a: integrate.romb(a, dx=0.5), x[:9]),
    "scipy.integrate.tanhsinh": (
        lambda a: integrate.tanhsinh(decay(a), f64(0.0), f64(1.0)).integral,
        t,
    ),
    "scipy.integrate.cubature": (
        lambda a: integrate.cubature(lambda s: decay(a)(s[:, 0]), f64([0.0]), f64([1.0])).estimate,
        t,
    ),
    "scipy.integrate.fixed_quad": (lambda a: integrate.fixed_quad(decay(a), 0.0, 1.0)[0], t),
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
    "scipy.differentiate.hessian": (
        lambda a: differentiate.hessian(lambda s: ag.sum(a * s**3, axis=0), f64([0.7, 0.2])).ddf,
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
    "scipy.optimize.elementwise.bracket_root": (
        lambda a: elementwise.bracket_root(lambda s: s**3 - a, f64(0.1), f64(3.0)).f_bracket[0],
        t,
    ),
    "scipy.optimize.elementwise.bracket_minimum": (
        lambda a: elementwise.bracket_minimum(lambda s: (s - a) ** 2, f64(0.1)).f_bracket[1],
        t,
    ),
    "scipy.optimize.rosen": (lambda v: optimize.rosen(v), x),
    "scipy.optimize.rosen_der": (lambda v: optimize.rosen_der(v), x),
    "scipy.linalg.block_diag": (lambda v: linalg.block_diag(v, v), x),
}
REFUSES = {
    "scipy.integrate.simpson": (lambda a: integrate.simpson(a), x),
    "scipy.integrate.solve_ivp": (
        lambda a: integrate.solve_ivp(lambda s, u: -a * u, (0.0, 1.0), [1.0]).y[0, -1],
        t,
    ),
    "scipy.integrate.odeint": (lambda a: integrate.odeint(lambda u, s: -a * u, 1.0, [0, 1.0]), t),
    "scipy.optimize.least_squares": (
        lambda a: optimize.least_squares(lambda s: s - a, [0.0]).cost,
        t,
    ),
    **{
        f"scipy.interpolate.{name}": (
            lambda v, name=name: getattr(interpolate, name)(f64(grid), v)(f64([0.4])),
            x,
        )
        for name in (
            "AAA",
            "Akima1DInterpolator",
            "BarycentricInterpolator",
            "CubicSpline",
            "KroghInterpolator",
            "PchipInterpolator",
            "interp1d",
            "make_interp_spline",
        )
    },
    "scipy.interpolate.RegularGridInterpolator": (
        lambda v: interpolate.RegularGridInterpolator((f64(grid),), v)(f64([[0.4]])),
        x,
    ),
    **{
        f"scipy.linalg.{name}": (lambda v, name=name: getattr(linalg, name)(v.reshape(3, 3)), x[:9])
        for name in ("cholesky", "det", "eigh", "expm", "inv", "logm", "norm", "svd")
    },
    "scipy.linalg.solve": (lambda v: linalg.solve(v.reshape(3, 3), y[:3]), x[:9]),
}
NUMBERS = {
    "scipy.integrate.quad": (lambda a: integrate.quad(decay(a), 0.0, 1.0)[0], t),
    "scipy.optimize.brentq": (lambda a: optimize.brentq(lambda s: s - a, 0.0, 3.0), t),
    "scipy.optimize.root_scalar": (
        lambda a: optimize.root_scalar(lambda s: s**3 - a, bracket=(0.0, 3.0)).root,
        t,
    ),
}
