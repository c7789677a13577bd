"""Calls of the extensions linalg and fft with drawn arguments, as `calls` has them."""

import numpy as np
from hypothesis import strategies as st
from standard.calls import on_array
from standard.draws import (
    COMPLEX,
    FLOATS,
    NUMERIC,
    arrays,
    axis_of,
    flag,
    hermitian,
    matrices,
)  # fmt: skip


def on_matrix(name, draw=matrices, *, part=None, **options):
    def call(data):
        x = draw(data)
        keywords = {key: data.draw(st.sampled_from(v), label=key) for key, v in options.items()}

        def run(xp):
            y = getattr(xp.linalg, name)(xp.asarray(x), **keywords)
            return part(xp, y) if part else y

        return run

    return call


def transform(name, dtypes):
    def call(data):
        x = arrays(data, dtypes, min_dims=1, min_side=2)
        n = data.draw(st.none() | st.integers(2, 6), label="n")
        axis = axis_of(data, x, none=False)
        norm = data.draw(st.sampled_from(["backward", "ortho", "forward"]), label="norm")
        return lambda xp: getattr(xp.fft, name)(xp.asarray(x), n=n, axis=axis, norm=norm)

    return call


def transforms(name, dtypes):
    def call(data):
        x = arrays(data, dtypes, min_dims=1, min_side=2)
        norm = data.draw(st.sampled_from(["backward", "ortho", "forward"]), label="norm")
        axes = data.draw(st.sampled_from([None, tuple(range(x.ndim))[-2:]]), label="axes")
        s = axes and data.draw(st.sampled_from([None, (3,) * len(axes)]), label="s")
        return lambda xp: getattr(xp.fft, name)(xp.asarray(x), s=s, axes=axes, norm=norm)

    return call


def products(name, space=None):
    def call(data):
        m, k, n = (data.draw(st.integers(0, 3)) for _ in range(3))
        x = arrays(data, NUMERIC, (m, k))
        y = arrays(data, (x.dtype.name,), (k, n))
        return lambda xp: getattr(getattr(xp, space) if space else xp, name)(
            xp.asarray(x), xp.asarray(y)
        )

    return call


def cross(data):
    x = arrays(data, NUMERIC, (2, 3))
    y = arrays(data, (x.dtype.name,), (2, 3))
    return lambda xp: xp.linalg.cross(xp.asarray(x), xp.asarray(y), axis=-1)


def outer(data):
    x = arrays(data, NUMERIC, min_dims=1, max_dims=1)
    y = arrays(data, (x.dtype.name,), min_dims=1, max_dims=1)
    return lambda xp: xp.linalg.outer(xp.asarray(x), xp.asarray(y))


def solve(data):
    a = matrices(data, square=True)
    shape = (a.shape[-1],) if flag(data, "vector") else (*a.shape[:-1], 2)
    b = arrays(data, (a.dtype.name,), shape)
    return lambda xp: xp.linalg.solve(xp.asarray(a), xp.asarray(b))


def slogdet(xp, y):
    return y.sign, y.logabsdet


def regular(data):
    return matrices(data, square=True)


def matrix_power(data):
    x = regular(data)
    n = data.draw(st.integers(-1, 3), label="n")
    return lambda xp: xp.linalg.matrix_power(xp.asarray(x), n)


def product_of_svd(xp, y):
    return (y.U * xp.astype(y.S, y.U.dtype)[..., None, :]) @ y.Vh


CALLS = {
    "matmul": products("matmul"),
    "linalg.cross": cross,
    "linalg.outer": outer,
    "linalg.solve": solve,
    "linalg.matmul": products("matmul", "linalg"),
    "linalg.diagonal": on_matrix("diagonal", offset=[-1, 0, 1]),
    "linalg.trace": on_matrix("trace", offset=[-1, 0, 1]),
    "linalg.det": on_matrix("det", regular),
    "linalg.inv": on_matrix("inv", regular),
    "linalg.slogdet": on_matrix("slogdet", regular, part=slogdet),
    "linalg.matrix_power": matrix_power,
    "linalg.matrix_rank": on_matrix("matrix_rank", rtol=[None, 0.1]),
    "linalg.matrix_norm": on_matrix(
        "matrix_norm", ord=["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf], keepdims=[False, True]
    ),
    "linalg.vector_norm": on_matrix(
        "vector_norm",
        ord=[0, 1, 2, 3.5, -1, np.inf, -np.inf],
        axis=[None, 0, -1],
        keepdims=[False, True],
    ),
    "linalg.pinv": on_matrix("pinv", rtol=[None, 0.1]),
    "linalg.svdvals": on_matrix("svdvals"),
    "linalg.eigvalsh": on_matrix("eigvalsh", hermitian),
    "linalg.cholesky": on_matrix("cholesky", hermitian, upper=[False, True]),
    # Up to the signs that they are free to choose.
    "linalg.eigh": on_matrix("eigh", hermitian, part=lambda xp, y: y.eigenvalues),
    "linalg.qr": on_matrix("qr", mode=["reduced", "complete"], part=lambda xp, y: y.Q @ y.R),
    "linalg.svd": on_matrix("svd", full_matrices=[False], part=product_of_svd),
    **{f"fft.{name}": transform(name, COMPLEX) for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft.{name}": transform(name, FLOATS) for name in ("rfft", "ihfft")},
    **{f"fft.{name}": transforms(name, COMPLEX) for name in ("fftn", "ifftn", "irfftn")},
    "fft.rfftn": transforms("rfftn", FLOATS),
    "fft.fftshift": on_array("fftshift", dtypes=FLOATS, space="fft", min_dims=1),
    "fft.ifftshift": on_array("ifftshift", dtypes=FLOATS, space="fft", min_dims=1),
}
