"""Threads over the blocks of large arrays: the same bits for any number of them."""

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import threads
from autograd_gpu.backend import load_backend
from autograd_gpu.backends import (
    numpy_convolution,
    numpy_functions,
    numpy_layer_norm,
    numpy_matmul,
    numpy_pooling,
    numpy_rows,
    numpy_steps,
)

F = ag.nn.functional


@pytest.fixture
def number():
    before = ag.get_num_threads()
    yield ag.set_num_threads
    ag.set_num_threads(before)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that arrays of a test are cut into many."""
    monkeypatch.setattr(numpy_rows, "BLOCK", 64)
    monkeypatch.setattr(numpy_layer_norm, "NARROWEST", 8)
    monkeypatch.setattr(numpy_matmul, "SHARED_FROM", 1)
    monkeypatch.setattr(numpy_convolution, "BLOCK", 5000)
    monkeypatch.setattr(numpy_pooling, "CHUNK", 64)
    for module in (numpy_functions, numpy_steps):
        monkeypatch.setattr(module, "BLOCK", 16)
        monkeypatch.setattr(module, "CHUNK", 64)
    monkeypatch.setattr(numpy_steps, "_scratch", threading.local())


@pytest.mark.parametrize("n", [1, 2, 7])
def test_every_part_is_done_once(number, n):
    number(n)
    for count in (0, 1, 2, 3, 100):
        done = [0] * count

        def work(i, done=done):
            done[i] += 1

        threads.share(work, count)
        assert done == [1] * count


def test_the_numbers_that_are_refused():
    for n in (0, -1, 1.5):
        with pytest.raises(ValueError):
            ag.set_num_threads(n)


@pytest.mark.parametrize(
    ("variables", "want"),
    [
        ({"AUTOGRAD_GPU_THREADS": "3", "OMP_NUM_THREADS": "1"}, 3),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"AUTOGRAD_GPU_THREADS": "none", "OMP_NUM_THREADS": "0"}, None),
        ({}, None),
    ],
)
def test_the_default(monkeypatch, variables, want):
    for name in ("AUTOGRAD_GPU_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(threads, "_number", None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert ag.get_num_threads() == (want or cores)


@pytest.mark.parametrize("n", [1, 3])
def test_an_exception_comes_out_where_share_was_called(number, n):
    number(n)

    def work(i):
        if i == 5:
            raise KeyError(i)

    with pytest.raises(KeyError):
        threads.share(work, 20)
    threads.share(lambda i: None, 20)


def test_sharing_within_a_part(number):
    number(3)
    done = []
    threads.share(lambda i: threads.share(done.append, 4), 5)
    assert sorted(done) == sorted(list(range(4)) * 5)


def test_several_threads_share_at_once(number):
    number(3)
    sums = [0] * 4

    def use(k):
        lock = threading.Lock()

        def work(i):
            with lock:
                sums[k] += i

        for _ in range(50):
            threads.share(work, 20)

    users = [threading.Thread(target=use, args=(k,)) for k in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert sums == [50 * 190] * 4


def test_helpers_see_the_errstate_of_the_caller(number):
    number(4)
    out = np.empty(40)

    def work(i):
        out[i : i + 1] = np.float64(1) / np.zeros(1)

    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        threads.share(work, 40)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        threads.share(work, 40)


def _in_a_child(queue):
    total = []
    threads.share(total.append, 30)
    queue.put(len(total))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own(number):
    number(2)
    threads.share(lambda i: None, 10)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(queue,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert queue.get() == 30


def test_no_thread_is_started_at_import():
    code = "import threading, autograd_gpu; print(threading.active_count())"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert out.stdout.strip() == "1"


def numbers(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def layer_norm(dtype):
    x, w, b, g = (numbers(s, dtype, i) for i, s in enumerate([(37, 21), 21, 21, (37, 21)]))
    leaves = [ag.Variable(v, requires_grad=True) for v in (x, w, b)]
    y = F.layer_norm(leaves[0], (21,), *leaves[1:])
    return [y.value, *(v.value for v in ag.gradients(y, leaves, ag.Variable(g)))]


def cross_entropy(dtype):
    x = ag.Variable(numbers((37, 21), dtype, 0), requires_grad=True)
    loss = F.cross_entropy(x, np.arange(37) % 21)
    return [loss.value, ag.gradients(loss, x).value]


def activations(dtype):
    out = []
    for f in (F.silu, F.softplus, F.gelu, lambda x: F.gelu(x, approximate="tanh")):
        x = ag.Variable(numbers((37, 21), dtype, 0), requires_grad=True)
        y = f(x)
        out += [y.value, ag.gradients(y.sum(), x).value]
    return out


def products(dtype):
    a, b, c = (numbers(s, dtype, i) for i, s in enumerate([(7, 4, 3), (7, 3, 5), (7, 2, 3, 5)]))
    xp = load_backend("numpy").xp
    return [xp.matmul(a, b), xp.matmul(a[:, None], c), xp.matmul(b.mT, a.mT)]


def images(dtype):
    x, w, b = (numbers(s, dtype, i) for i, s in enumerate([(7, 3, 9, 8), (4, 3, 3, 3), 4]))
    leaves = [ag.Variable(v, requires_grad=True) for v in (x, w, b)]
    strided = F.conv2d(*leaves, stride=2)
    y = F.conv2d(*leaves, padding=1)
    pooled = [F.max_pool2d(y, 2), F.max_pool2d(y, 3, 1), F.avg_pool2d(y, 2)]
    results = [strided, y, *pooled]
    total = sum(ag.mean(v * v) for v in results)
    return [*(v.value for v in results), *(v.value for v in ag.gradients(total, leaves))]


def steps(dtype):
    backend = load_backend("numpy")
    out = []
    for order in ("C", "F"):
        p, g, m, v, buffer = (
            np.array(numbers((37, 21), dtype, i) ** 2, order=order) for i in range(5)
        )
        backend.adam_step(
            p, g, m, v, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1,
            decoupled=True, step=3,
        )  # fmt: skip
        backend.sgd_step(
            p, g, buffer, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1, nesterov=True,
            first=False,
        )  # fmt: skip
        out += [p, m, v, buffer]
    return out


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("what", [layer_norm, cross_entropy, activations, products, images, steps])
def test_blocks_and_threads_change_nothing(number, small_blocks, monkeypatch, what, dtype):
    results = []
    for n in (1, 2, 5):
        number(n)
        results.append(what(dtype))
    for other in results[1:]:
        for got, want in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, want)
    monkeypatch.undo()
    for got, want in zip(results[0], what(dtype), strict=True):
        tolerance = {"f2": 4e-3, "f4": 2e-5, "f8": 1e-12}[dtype]
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("shape", [(0, 5), (3, 1), (1, 9)])
def test_layer_norm_of_odd_shapes(shape):
    x = ag.Variable(np.ones(shape, "f4"), requires_grad=True)
    w = ag.Variable(np.ones(shape[1:], "f4"), requires_grad=True)
    b = ag.Variable(np.ones(shape[1:], "f4"), requires_grad=True)
    y = F.layer_norm(x, shape[1:], w, b)
    np.testing.assert_array_equal(y.value, np.ones(shape))
    grads = ag.gradients(y.sum(), [x, w, b])
    np.testing.assert_array_equal(grads[0].value, np.zeros(shape))
    np.testing.assert_array_equal(grads[2].value, np.full(shape[1:], shape[0]))
