"""Convolution and attention by cuDNN: the graphs that it is given, when, and what comes of them."""

import logging
import re
import sys

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.nn import functional as F

TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1}
HALVES = list(TOLERANCE)


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).integers(-4, 5, shape) / 4).astype(dtype)


def close(got, want, dtype):
    scale = max(1.0, float(abs(want).max()))
    np.testing.assert_allclose(got.astype("f8"), want, rtol=0, atol=TOLERANCE[dtype] * scale)


WINDOWS = {
    "plain": ({}, (2, 3, 5, 6), (4, 3, 3, 2)),
    "padded": ({"padding": 1}, (2, 3, 5, 5), (4, 3, 3, 3)),
    "padded on one side": ({"padding": "same"}, (2, 3, 5, 5), (4, 3, 2, 2)),
    "strided": ({"stride": 2, "padding": (1, 0)}, (2, 3, 6, 5), (4, 3, 3, 3)),
    "dilated": ({"dilation": (1, 2)}, (2, 3, 5, 7), (4, 3, 2, 3)),
    "in groups": ({"groups": 2, "padding": 1}, (2, 4, 4, 4), (6, 2, 3, 3)),
    "1 x 1": ({}, (2, 3, 4, 4), (5, 3, 1, 1)),
}


def convolved(cupy_backend, arrays, seed, window):
    xs = [ag.Variable(cupy_backend.from_host(x), requires_grad=True) for x in arrays]
    y = F.conv2d(*xs, **window)
    y.backward(cupy_backend.from_host(seed.astype(arrays[0].dtype)))
    return [y.numpy(), *(cupy_backend.to_host(x.grad) for x in xs)]


def reference(arrays, seed, window):
    """The same in float64 on NumPy."""
    xs = [ag.Variable(x.astype("f8"), requires_grad=True) for x in arrays]
    y = F.conv2d(*xs, **window)
    y.backward(seed)
    return [y.numpy(), *(x.grad for x in xs)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", WINDOWS)
def test_convolutions_are_cudnns(cupy_backend, cudnn, counting, name, dtype):
    window, *shapes = WINDOWS[name]
    half = dtype_of(dtype)
    arrays = [numbers(s, half, i) for i, s in enumerate([*shapes, shapes[1][:1]])]
    shape = F.conv2d(*(ag.Variable(x.astype("f8")) for x in arrays), **window).shape
    seed = numbers(shape, "f8", 7)
    with counting() as c:
        found = convolved(cupy_backend, arrays, seed, window)
    assert [call.op for call in c.cudnn] == ["conv_fprop", "conv_dgrad", "conv_wgrad"]
    assert not c.blas
    for got, want in zip(found, reference(arrays, seed, window), strict=True):
        assert got.dtype == half
        close(got, want, dtype)


def test_the_graph_of_a_convolution(cupy_backend, cudnn, counting):
    import cupy as cp

    x, w = cp.ones((2, 8, 5, 6), "f2"), cp.ones((4, 8, 3, 2), "f2")
    stream = cp.cuda.Stream(non_blocking=True)
    with counting() as c, stream:
        y = cupy_backend.xp.conv2d(
            x, w, stride=(2, 1), padding=((1, 0), (0, 1)), dilation=(1, 1), groups=1
        )
    (call,) = c.cudnn
    assert call.params == {
        "pre_padding": [1, 0],
        "post_padding": [0, 1],
        "stride": [2, 1],
        "dilation": [1, 1],
    }
    assert call.tensors == {
        1: ((2, 8, 5, 6), (240, 30, 6, 1), "HALF", x.data.ptr),
        2: ((4, 8, 3, 2), (48, 6, 2, 1), "HALF", w.data.ptr),
        3: ((2, 4, 2, 6), (48, 12, 6, 1), "HALF", y.data.ptr),
    }
    assert (call.stream, c.waits, c.copies, c.launches) == (stream.ptr, 0, [], 0)
    assert c.sizes == [y.nbytes, 1000], "the output and the workspace, both from the pool"
    (graph,) = cudnn.built
    assert [kind.name for kind in graph.types] == ["HALF", "FLOAT", "FLOAT"]
    assert {note.name for note in graph.deselected} == {
        "NONDETERMINISTIC",
        "REDUCED_PRECISION_REDUCTION",
    }


def test_plans_are_kept(cupy_backend, cudnn, cudnn_modules):
    import cupy as cp

    def conv(x, stride=1):
        F.conv2d(ag.Variable(x), ag.Variable(cp.ones((4, 2, 3, 3), x.dtype)), stride=stride)
        return len(cudnn.built)

    x = cp.ones((1, 2, 5, 5), "f2")
    assert [conv(x), conv(x), conv(x, 2), conv(cp.ones((2, 2, 5, 5), "f2")), conv(x)] == [
        1, 1, 2, 3, 3,
    ]  # fmt: skip
    cudnn_modules[2].set_deterministic(False)
    assert conv(x) == 4
    assert [note.name for note in cudnn.built[-1].deselected] == ["REDUCED_PRECISION_REDUCTION"]


def nothing(cudnn, monkeypatch, cudnn_modules):
    pass


def declined(cudnn, monkeypatch, cudnn_modules):
    monkeypatch.setattr(cudnn, "declines", lambda graph: "no engine for that")


def switched_off(cudnn, monkeypatch, cudnn_modules):
    cudnn_modules[2].set_cudnn(False)


def missing(cudnn, monkeypatch, cudnn_modules):
    monkeypatch.setitem(sys.modules, "cudnn", None)


def without_backend(cudnn, monkeypatch, cudnn_modules):
    def version():
        raise RuntimeError("Unable to find symbol cudnnGetVersion")

    monkeypatch.setattr(cudnn, "backend_version", version)


def without_driver(cudnn, monkeypatch, cudnn_modules):
    def create():
        raise RuntimeError("cudnnHandle Create failed")

    monkeypatch.setattr(cudnn, "create_handle", create)


REASONS = {
    "f4": (nothing, "float32", None),
    "f8": (nothing, "float64", None),
    "no plan": (declined, "float16", "no engine for that"),
    "switched off": (switched_off, "float16", None),
    "missing": (missing, "float16", "not used: .*cudnn"),
    "no libcudnn": (without_backend, "float16", "not used: Unable to find"),
    "no handle": (without_driver, "float16", "cudnnHandle Create failed"),
}


@pytest.mark.parametrize("name", REASONS)
def test_else_products_do_it(
    cupy_backend, cudnn, counting, cudnn_modules, monkeypatch, caplog, name
):
    change, dtype, says = REASONS[name]
    change(cudnn, monkeypatch, cudnn_modules)
    arrays = [numbers((2, 3, 5, 5), dtype), numbers((4, 3, 3, 3), dtype, 1)]
    seed = numbers((2, 4, 3, 3), "f8", 2)
    with counting() as c, caplog.at_level(logging.DEBUG, "autograd_gpu.cudnn"):
        found = convolved(cupy_backend, arrays, seed, {})
    assert (len(c.cudnn), len(c.blas)) == (0, 3)
    for got, want in zip(found, reference(arrays, seed, {}), strict=True):
        close(got, want, "float16")
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert re.search(says, said) if says else not said


def test_second_derivatives_are_cudnns_too(cupy_backend, cudnn, counting):
    arrays = [numbers((2, 3, 5, 5), "f2"), numbers((4, 3, 3, 3), "f2", 1)]

    def second(xs):
        x, w = (ag.Variable(a, requires_grad=True) for a in xs)
        y = F.conv2d(x, w, padding=1)
        dx, dw = ag.gradients((y * y).sum(), [x, w], create_graph=True)
        return ag.gradients((dx * dx).sum() + (dw * 0.5).sum(), [x, w])

    with counting() as c:
        found = second(map(cupy_backend.from_host, arrays))
    assert len(c.cudnn) > 6
    assert not c.blas
    for got, want in zip(found, second([a.astype("f8") for a in arrays]), strict=True):
        close(got.numpy(), want.numpy(), "float16")


def test_each_device_has_its_handle_and_plans(cupy_backend, cudnn, counting):
    import cupy as cp
    from cupy_on_cpu import devices

    from autograd_gpu.backend import count_devices

    try:
        with devices(2):
            count_devices(cupy_backend)
            for number in (0, 1, 0, 1):
                with cp.cuda.Device(number):
                    x, w = (ag.Variable(cp.ones(s, "f2")) for s in ((1, 2, 4, 4), (3, 2, 3, 3)))
                with counting() as c:
                    y = F.conv2d(x, w)
                assert (len(c.cudnn), y.value.device.id) == (1, number)
            assert len(cudnn.built) == 2
    finally:
        count_devices(cupy_backend)


def test_what_cudnn_cannot_read_is_not_for_it(cudnn_modules, cudnn):
    import cupy as cp

    takes = cudnn_modules[0].takes
    x = cp.ones(64, "f2")
    assert takes(x, x)
    assert not takes(x[1:]), "not aligned"
    assert takes(x[8:])
    assert not takes(x[:0])
    assert not takes(x, x.astype("f4"))
    assert not takes(x.view("i2"))


def test_layouts(cudnn_modules):
    import cupy as cp

    layout = cudnn_modules[0].Layout
    x = cp.ones((2, 1, 3, 4), "f2")
    assert layout.of(x) == layout.dense(x.shape, "float16")
    y = x.transpose(0, 2, 1, 3)
    assert layout.of(y).stride == (12, 4, 4, 1)
    for order in ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3)):
        wanted = layout.dense((2, 5, 3, 4), "float16", order)
        assert layout.of(wanted.empty("f2")) == wanted


def graphs_of(modules, monkeypatch, module):
    """The graphs that the real package is given, with all done on them that needs no GPU."""
    made = []
    steps = ("create_execution_plans", "check_support", "build_plans", "build_operation_graph")

    class Checked(module.pygraph):
        def validate(self):
            super().validate()
            made.append(self)

        def deselect_numeric_notes(self, notes):
            assert all(isinstance(note, module.numerical_note) for note in notes)

        def get_workspace_size(self):
            return 0

        def execute(self, *args, **kwargs):
            pass

    for step in steps:
        setattr(Checked, step, lambda self, *args: None)
    monkeypatch.setattr(module, "pygraph", Checked)
    monkeypatch.setattr(module, "create_handle", lambda: module.Handle(1, 0, 0))
    monkeypatch.setattr(module, "set_stream", lambda handle, stream: None)
    return made


def test_the_real_package_finds_nothing_wrong_with_the_graphs(
    cupy_backend, cudnn_modules, counting, monkeypatch
):
    """nvidia-cudnn-frontend builds and validates graphs, with cuDNN's help, without a GPU."""
    real = pytest.importorskip("cudnn")
    try:
        real.backend_version()
    except RuntimeError as error:
        pytest.skip(f"nvidia-cudnn-frontend finds no cuDNN: {error}")
    made = graphs_of(cudnn_modules, monkeypatch, real)
    import cupy as cp

    for dtype in ("float16", "bfloat16"):
        for window, *shapes in WINDOWS.values():
            made.clear()
            x, w = (ag.Variable(cp.ones(s, dtype_of(dtype)), requires_grad=True) for s in shapes)
            y = F.conv2d(x, w, **window)
            y.backward(cp.ones_like(y.value))
            kinds = [graph.nodes[0].node_type.name for graph in made]
            assert kinds == ["CONV_FPROP", "CONV_DGRAD", "CONV_WGRAD"]
            for graph, out in zip(made, (y, x, w), strict=True):
                (tensor,) = graph.nodes[0].outputs.values()
                assert tuple(tensor.get_dim()) == out.shape
        q = cp.ones((2, 5, 3, 16), dtype_of(dtype)).transpose(0, 2, 1, 3)
        made.clear()
        y, kept = cupy_backend.xp.attended(
            q, q, q, None, None, None, scale=0.25, is_causal=True, p=0.0
        )
        assert [graph.nodes[0].node_type.name for graph in made] == ["SDPA_BWD", "SDPA"]
        assert kept.array.shape == (2, 3, 5, 1)


@pytest.mark.parametrize("dtype", HALVES)
def test_on_a_gpu_cudnn_agrees_with_float64(cupy_backend, cudnn_modules, caplog, dtype):
    from cupy_on_cpu import is_started

    if is_started():
        pytest.skip("the device is emulated, and cuDNN needs a GPU")
    pytest.importorskip("cudnn")
    with caplog.at_level(logging.DEBUG, "autograd_gpu.cudnn"):
        for name, (window, *shapes) in WINDOWS.items():
            arrays = [numbers(s, dtype_of(dtype), i) for i, s in enumerate(shapes)]
            shape = F.conv2d(*(ag.Variable(x.astype("f8")) for x in arrays), **window).shape
            seed = numbers(shape, "f8", 7)
            found = convolved(cupy_backend, arrays, seed, window)
            for got, want in zip(found, reference(arrays, seed, window), strict=True):
                try:
                    close(got, want, dtype)
                except AssertionError as error:
                    raise AssertionError(f"{name}: {error}") from None
    assert "workspace" in caplog.text, "cuDNN has no plan for any of them"


def test_cudnns_convolutions_can_be_captured(cupy_backend, cudnn, counting):
    images, kernels = (numbers(s, "float16") for s in ((2, 8, 5, 5), (8, 8, 3, 3)))
    w = ag.Variable(cupy_backend.from_host(kernels), requires_grad=True)

    def step(x):
        w.grad = None
        y = F.conv2d(x, w, padding=1)
        y.sum().backward()
        return y.detach() * 1.0

    function = ag.compile(step)
    for i in range(4):
        x = ag.Variable(cupy_backend.from_host((images * i).astype("float16")))
        with counting() as c:
            y = function(x)
        assert [call.op for call in c.cudnn] == ["conv_fprop", "conv_wgrad"]
        want = y.numpy(), cupy_backend.to_host(w.grad)
        got = step(x).numpy(), cupy_backend.to_host(w.grad)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
    assert function.replays == 2
