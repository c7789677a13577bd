"""Every sample of every primitive on CuPy: equal to NumPy, without a transfer and without a wait.

The same sample runs on both backends, forward, backward and, for a part of the samples (all with
`--full`), the backward of the backward.  On CuPy all of it runs on a stream of the caller's, where
whatever went to another one would come too early or too late.  The counts of transfers and waits
need `--cupy-on-cpu`; on a GPU the values are compared alone.
"""

import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from samples import SAMPLES
from samples.calling import NUMPY_ONLY, TOLERANCE, UP_TO_PHASES, close, in_dtype, missing, on_gpu
from samples.sides import Side

import autograd_gpu as ag
from autograd_gpu.backend import load_backend
from autograd_gpu.nn import functional as F
from autograd_gpu.primitive import PRIMITIVES

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="no GPU and not run with --cupy-on-cpu"
)

# The only ops that may wait for the device, and why.  One that is listed and does not wait fails
# too, so that the table stays true.
_SHAPE = "the number of results, and so their shape, is known on the device only"
WAITS = {
    "histogram without a range": "the range of the bins is that of the elements",
    "expm": "how often the matrix is squared depends on its norm",
    "pinv": "CuPy's own looks for singular values that count",
    "nonzero": _SHAPE,
    "unique_all": _SHAPE,
    "getitem by a mask": _SHAPE,
    "scatter_add by a mask": "its derivative is a getitem by a mask",
    "set_at by a mask": "how many elements are written is known on the device only",
}
# SciPy's ufuncs make float64 of float32 beside a Python number, CuPy's do not.
WIDER_ON_NUMPY = (
    *("beta", "betaincinv", "betaln", "binom", "ellipeinc", "ellipkinc", "gammainc"),
    *("gammaincc", "gammainccinv", "gammaincinv", "xlog1py", "xlogy"),
)
README = (Path(__file__).parents[2] / "README.md").read_text()
PART = 7  # of so many samples one has its second derivatives compared


def kind(name, sample):
    """The name under which WAITS knows a sample."""
    index = sample.statics.get("index")
    masked = getattr(getattr(index, "dtype", None), "kind", None) == "b"
    if masked:
        return f"{name} by a mask"
    if name == "histogram" and sample.statics.get("range") is None:
        return f"{name} without a range"
    return name


@pytest.fixture(scope="module")
def own_stream():
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


@pytest.fixture(autouse=True)
def stream(own_stream):
    with own_stream:
        yield own_stream


def compare(name, sample, dtype, second, counting, stream):
    """How often the device was waited for or copied to or from; None where the sample has not the
    dtype, or where nothing counts."""
    operands = in_dtype(sample, dtype)
    if operands is None:
        return None
    numpy, cupy = load_backend("numpy"), load_backend("cupy")
    with np.errstate(all="ignore"):
        ours = Side(cupy, name, sample, operands, second)
        theirs = Side(numpy, name, sample, operands, second)
        theirs.run()
    if counting is None:
        ours.run()
        moves = None
    else:
        with counting() as c:
            ours.run()
        moves = (c.waits, c.to_host, c.to_device)
        assert c.streams <= {stream.ptr}, f"{name} {sample.label} {dtype}: work on other streams"
    for (what, mine), (_, other) in zip(ours.results(), theirs.results(), strict=True):
        where = f"{name} {sample.label} {dtype} {what}"
        assert (mine is None) == (other is None), where
        if mine is None:
            continue
        assert type(mine.value) is cupy.array_type, where
        assert mine.dtype == other.dtype or name in WIDER_ON_NUMPY, where
        value = mine.numpy()
        expected = other.numpy()
        if name in UP_TO_PHASES and on_gpu(cupy):
            if not what.startswith("ys"):
                continue
            value, expected = abs(value), abs(expected)
        if not sample.check:  # at a kink or far out, NaN and infinity are NumPy's business
            continue
        try:
            close(value, expected, TOLERANCE.get(dtype, 1e-9))
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from None
    return moves


@pytest.fixture
def counting():
    from cupy_on_cpu import counting, is_started

    return counting if is_started() else None


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in NUMPY_ONLY])
def test_as_on_numpy_without_a_wait(name, counting, stream, request):
    if reason := missing(name, load_backend("cupy")):
        pytest.skip(reason)
    full = request.config.getoption("--full")
    linear = not PRIMITIVES[name].derivatives
    for i, sample in enumerate(SAMPLES[name]):
        second = not linear and sample.second and sample.check and (full or i % PART == 0)
        for dtype in ("float64", *sample.dtypes):
            moves = compare(name, sample, dtype, second, counting, stream)
            if moves is None:
                continue
            what = f"{name} {sample.label} {dtype}: (waits, to host, to device) = {moves}"
            if kind(name, sample) in WAITS:
                assert moves[0] > 0, f"{what}: no longer an exception"
            else:
                assert moves == (0, 0, 0), what


@pytest.mark.parametrize("name", NUMPY_ONLY)
def test_what_cupy_lacks_says_so(name, stream):
    with pytest.raises(NotImplementedError, match=r"cupyx.scipy.special has no \w+ in this ver"):
        compare(name, SAMPLES[name][0], "float64", False, None, stream)


def test_exceptions_are_documented():
    for name in {name.partition(" ")[0] for name in WAITS}:
        assert name in SAMPLES
        function = getattr(ag, name, None) or getattr(ag.linalg, name, None)
        documented = function.__doc__ if function is not None else README  # indexing
        assert re.search("wait", documented), name


# --- neural networks, which the table of samples leaves to tests of their own --------------------


def draws(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


IMAGES, LABELS = draws(2, 4, 7, 6), np.array([3, 0, 1])
NETWORKS = {
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), IMAGES, draws(6, 4, 3, 3), draws(6)),
    "conv2d, strided, in groups": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=(2, 1), dilation=(1, 2), groups=2),
        IMAGES,
        draws(6, 2, 3, 2),
    ),
    "conv2d, 1 x 1": (F.conv2d, IMAGES, draws(3, 4, 1, 1)),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        IMAGES,
        draws(4, 3, 3, 3),
    ),
    "conv1d": (F.conv1d, draws(2, 3, 9), draws(4, 3, 3)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), IMAGES),
    "max_pool2d, overlapping": (lambda x: F.max_pool2d(x, 3, 2, padding=1), IMAGES),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGES),
    "linear": (F.linear, draws(2, 5, 3), draws(4, 3), draws(4)),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        draws(3, 4, 5),
        draws(4),
        draws(4),
    ),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), draws(4, 6), draws(6), draws(6)),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), draws(3, 5), LABELS),
    "embedding": (lambda w, i: F.embedding(i, w), draws(5, 4), LABELS),
    "mse_loss": (F.mse_loss, draws(3, 5), draws(3, 5)),
    "gelu": (lambda x: ag.gelu(x, approximate="tanh"), draws(3, 5)),
    "dropout": (
        lambda x: (ag.manual_seed(3), F.dropout(x, 0.5, training=True))[1],
        draws(3, 5),
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_as_on_numpy_without_a_wait(name, dtype, counting, stream):
    function, *host = NETWORKS[name]
    host = [x.astype(dtype) if x.dtype.kind == "f" else x for x in host]
    found = {}
    for backend in (load_backend("numpy"), load_backend("cupy")):
        xs = [ag.Variable(backend.from_host(x), requires_grad=x.dtype.kind == "f") for x in host]
        seed = backend.from_host(np.cos(np.arange(function(*xs).size)).astype(dtype))
        with counting() if counting and backend.name == "cupy" else nullcontext() as c:
            y = function(*xs)
            y.backward(seed.reshape(y.shape))
        if c is not None:
            assert (c.waits, c.to_host, c.to_device) == (0, 0, 0), str(c)
            assert c.streams == {stream.ptr}
        found[backend.name] = [y] + [ag.Variable(x.grad) for x in xs if x.requires_grad]
    for mine, other in zip(found["cupy"], found["numpy"], strict=True):
        assert mine.dtype == other.dtype == dtype
        close(mine.numpy(), other.numpy(), {**TOLERANCE, "float16": 4e-2}.get(dtype, 1e-9))
