"""Every function of the standard is there, and takes its arguments as the standard writes them."""

import inspect
from inspect import Parameter

import pytest
from standard.signatures import FFT, LINALG, MAIN

import autograd_gpu as ag

SPACES = {"": (ag, MAIN), "linalg.": (ag.linalg, LINALG), "fft.": (ag.fft, FFT)}
FUNCTIONS = [
    pytest.param(space, name, signature, id=f"{prefix}{name}")
    for prefix, (space, table) in SPACES.items()
    for signature, names in table.items()
    for name in names.split()
]
# What the main namespace has too.
FUNCTIONS += [
    pytest.param(ag.linalg, name, signature, id=f"linalg.{name}")
    for signature, names in MAIN.items()
    for name in names.split()
    if name in ("matmul", "matrix_transpose", "tensordot", "vecdot")
]
OTHER_DEFAULTS = {
    ("astype", "copy"): "value semantics: sharing memory cannot be seen",
    ("squeeze", "axis"): "NumPy's",
    ("permute_dims", "axes"): "NumPy's",
}
"""Where a default differs, or is one more than the standard's, and why."""

METHODS = {
    "": "__abs__ __bool__ __complex__ __dlpack_device__ __float__ __index__ __int__ __invert__ "
    "__neg__ __pos__",
    "other": "__add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __le__ __lshift__ __lt__ "
    "__matmul__ __mod__ __mul__ __ne__ __or__ __pow__ __rshift__ __sub__ __truediv__ __xor__ "
    "__radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ "
    "__rrshift__ __rsub__ __rtruediv__ __rxor__ __iadd__ __isub__ __imul__ __itruediv__ "
    "__ifloordiv__ __ipow__ __imatmul__ __imod__ __iand__ __ior__ __ixor__ __ilshift__ "
    "__irshift__",
    "key": "__getitem__",
    "key, value": "__setitem__",
    "*, api_version=None": "__array_namespace__",
    "*, stream=None, max_version=None, dl_device=None, copy=None": "__dlpack__",
    "device, /, *, stream=None": "to_device",
}


def parameters(signature):
    scope = {}
    exec(f"def f({signature}): pass", scope)
    return list(inspect.signature(scope["f"]).parameters.values())


def check(function, wanted, name):
    mine = list(inspect.signature(function).parameters.values())
    by_name = {p.name: p for p in mine}
    positional = [p for p in wanted if p.kind is not Parameter.KEYWORD_ONLY]
    for i, want in enumerate(positional):
        have = mine[i]
        if want.kind is Parameter.POSITIONAL_ONLY:
            assert have.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        else:
            assert (have.name, have.kind) == (want.name, want.kind)
        if (name, want.name) not in OTHER_DEFAULTS:
            assert have.default == want.default
    for want in wanted[len(positional) :]:
        have = by_name[want.name]
        assert have.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        if (name, want.name) not in OTHER_DEFAULTS:
            assert have.default == want.default
    # What is there beyond the standard must not be needed.
    for have in mine[len(positional) :]:
        assert have.name in {p.name for p in wanted} or have.default is not Parameter.empty


@pytest.mark.parametrize(("space", "name", "signature"), FUNCTIONS)
def test_function(space, name, signature):
    check(getattr(space, name), parameters(signature), name)


@pytest.mark.parametrize(
    ("name", "signature"),
    [(name, signature) for signature, names in METHODS.items() for name in names.split()],
)
def test_method(name, signature):
    method = getattr(ag.Variable([1.0]), name)
    wanted = parameters(signature)
    # Names of positional parameters do not count: an operator passes none.
    wanted = [
        p.replace(kind=Parameter.POSITIONAL_ONLY) if p.kind is p.POSITIONAL_OR_KEYWORD else p
        for p in wanted
    ]
    check(method, wanted, name)
