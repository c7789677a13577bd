"""Libraries that work on any array: einops, opt_einsum, array_api_extra, marray, pint, xarray."""

import importlib

import numpy as np

import autograd_gpu as ag
from third_party.data import Module, X, p, x, y

einops, einops_api = Module("einops"), Module("einops.array_api")
contraction, extra = Module("opt_einsum"), Module("array_api_extra")
units, xarray, marray = Module("pint"), Module("xarray"), Module("marray")
v3 = x.reshape(2, 3, 2)
keep = X > 0
keep[0] = True


def registered(f):
    """`f` with einops told of Variables."""

    def call(*vs):
        importlib.import_module("einops")
        importlib.import_module("autograd_gpu.einops")
        return f(*vs)

    return call


def metres(v):
    return units.get_application_registry().Quantity(v, "m")


def named(v):
    return xarray.DataArray(v, dims=("a", "b"))


def on_masked(name, **options):
    """A function of marray's namespace on the elements that are kept."""

    def call(v):
        xp = marray.masked_namespace(ag)
        return getattr(xp, name)(xp.asarray(v, mask=ag.asarray(~keep)), **options).data

    return call


WORKS = {
    "einops.rearrange": (registered(lambda v: einops.rearrange(v, "a b c -> b (a c)")), v3),
    "einops.reduce": (registered(lambda v: einops.reduce(v, "a b c -> b", "max")), v3),
    "einops.repeat": (registered(lambda v: einops.repeat(v, "a b c -> a b (c 2)")), v3),
    "einops.einsum": (registered(lambda v: einops.einsum(v, v, "a b c, a d c -> b d")), v3),
    "einops.pack": (registered(lambda v: einops.pack([v, v[:, 0]], "a * c")[0]), v3),
    "einops.array_api.rearrange": (lambda v: einops_api.rearrange(v, "a b c -> b (a c)"), v3),
    "einops.array_api.reduce": (lambda v: einops_api.reduce(v, "a b c -> b", "mean"), v3),
    "einops.array_api.repeat": (lambda v: einops_api.repeat(v, "a b c -> a b (c 2)"), v3),
    "einops.array_api.pack": (lambda v: einops_api.pack([v, v], "a * c")[0], v3),
    "opt_einsum.contract": (
        lambda a, b: contraction.contract("abc,db,ac->d", a, b, np.ones((2, 2))),
        v3,
        X[:2],
    ),
    "opt_einsum.contract_expression": (
        lambda a: contraction.contract_expression("abc,db->adc", (2, 3, 2), (2, 3))(a, X[:2]),
        v3,
    ),
    "array_api_extra.angle": (lambda v: extra.angle(v * (1 + 2j) + 1), x),
    "array_api_extra.apply_where": (
        lambda v: extra.apply_where(v > 0, v, lambda s: s**2, lambda s: -s),
        x,
    ),
    "array_api_extra.at": (lambda a, b: extra.at(a * 1)[2].set(b), x, y[0]),
    "array_api_extra.atleast_nd": (lambda v: extra.atleast_nd(v, ndim=3), x),
    "array_api_extra.cov": (lambda v: extra.cov(v.reshape(3, 4)), x),
    "array_api_extra.create_diagonal": (lambda v: extra.create_diagonal(v), x),
    "array_api_extra.expand_dims": (lambda v: extra.expand_dims(v, axis=(0, 2)), x),
    "array_api_extra.kron": (lambda a, b: extra.kron(a.reshape(3, 4), b), x, y[:2]),
    "array_api_extra.lazy_apply": (lambda v: extra.lazy_apply(lambda s: ag.sin(s), v), x),
    "array_api_extra.nan_to_num": (lambda v: extra.nan_to_num(v), x),
    "array_api_extra.pad": (lambda v: extra.pad(v, (1, 2)), x),
    "array_api_extra.partition": (lambda v: extra.partition(v, 2), x),
    "array_api_extra.setdiff1d": (lambda v: extra.setdiff1d(v, v[:2]), x),
    "array_api_extra.sinc": (lambda v: extra.sinc(v), x),
    "array_api_extra.union1d": (lambda v: extra.union1d(v, v[:2]), x),
    **{
        f"marray.{name}": (on_masked(name, axis=0), X)
        for name in ("max", "mean", "min", "prod", "std", "sum", "var")
    },
    "marray.exp": (on_masked("exp"), X),
    "pint.Quantity": (lambda v: (v * metres(v) + metres(v)).to("cm").magnitude, x),
    "pint.Quantity.sum": (lambda v: metres(v).sum().to("mm").magnitude, x),
    "pint.Quantity.__matmul__": (lambda v: (metres(v) @ metres(v.T)).magnitude, X),
    "pint.Quantity.__getitem__": (lambda v: metres(v)[1:].magnitude, x),
    "pint.Quantity with numpy.sqrt": (lambda v: np.sqrt(metres(v) ** 2).magnitude, p),
    "pint.Quantity with numpy.mean": (lambda v: np.mean(metres(v), axis=0).magnitude, X),
    "pint.Quantity with numpy.concatenate": (
        lambda v: np.concatenate([metres(v), metres(v).to("cm")]).magnitude,
        x,
    ),
    "xarray.DataArray": (lambda v: (named(v) * named(v) + 1).data, X),
    "xarray.DataArray.sum": (lambda v: named(v).sum("a").data, X),
    "xarray.DataArray.mean": (lambda v: named(v).mean("b").data, X),
    "xarray.DataArray.max": (lambda v: named(v).max("b").data, X),
    "xarray.DataArray.isel": (lambda v: named(v).isel(a=slice(1, 3)).data, X),
    "xarray.DataArray.transpose": (lambda v: named(v).transpose("b", "a").data, X),
    "xarray.DataArray.cumsum": (lambda v: named(v).cumsum("a").data, X),
    "xarray.DataArray.shift": (lambda v: named(v).shift(a=1, fill_value=0.0).data, X),
    "xarray.DataArray.median": (lambda v: named(v).median("a").data, X),
    "xarray.DataArray.quantile": (lambda v: named(v).quantile(0.3, "a").data, X),
    "xarray.DataArray.diff": (lambda v: named(v).diff("a").data, X),
    "xarray.DataArray.pad": (lambda v: named(v).pad(a=1, constant_values=0.0).data, X),
    "xarray.DataArray.clip": (lambda v: named(v).clip(-0.5, 0.5).data, X),
    "xarray.DataArray.stack": (lambda v: named(v).stack(c=("a", "b")).data, X),
    "xarray.DataArray.groupby": (
        lambda v: named(v).groupby(xarray.DataArray([0, 1] * 4, dims="a", name="g")).mean().data,
        X,
    ),
    "xarray.DataArray.integrate": (
        lambda v: named(v).assign_coords(a=np.arange(8.0)).integrate("a").data,
        X,
    ),
    "xarray.DataArray.differentiate": (
        lambda v: named(v).assign_coords(a=np.arange(8.0)).differentiate("a").data,
        X,
    ),
    "xarray.DataArray with numpy.exp": (lambda v: np.exp(named(v)).data, X),
    "xarray.concat": (lambda v: xarray.concat([named(v), named(v)], "a").data, X),
    "xarray.dot": (lambda v: xarray.dot(named(v), named(v), dim="b").data, X),
    "xarray.where": (lambda v: xarray.where(named(v) > 0, named(v), 0.0).data, X),
}
REFUSES = {
    "xarray.DataArray.std": (lambda v: named(v).std("a").data, X),
    "xarray.DataArray.interp": (
        lambda v: named(v).assign_coords(a=np.arange(8.0)).interp(a=0.5).data,
        X,
    ),
}
