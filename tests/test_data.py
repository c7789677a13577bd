"""Mini-batches meet every row once, in an order that can be resumed; logs survive."""

import json
import threading

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu.data import Batches, Log, read_log

HAS_CUPY = "cupy" in ag.available_backends()
needs_cupy = pytest.mark.skipif(not HAS_CUPY, reason="CuPy or a CUDA device is missing")
prefetching = pytest.mark.parametrize("prefetch", [0, 1, 3])


@pytest.fixture(autouse=True)
def _on_numpy():
    with ag.use_backend("numpy"):
        yield


def lists(batches):
    return [[x.tolist() for x in batch] for batch in batches]


@prefetching
@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [4, 4, 2]), (True, [4, 4])])
def test_an_epoch_meets_every_row_once(prefetch, drop_last, sizes):
    x = np.arange(10)
    batches = Batches(x, x**2, batch_size=4, drop_last=drop_last, prefetch=prefetch)
    assert len(batches) == len(sizes)
    orders = []
    for _ in range(2):
        pairs = list(batches)
        assert [len(a) for a, _ in pairs] == sizes
        assert all((b == a**2).all() for a, b in pairs)
        rows = np.concatenate([a for a, _ in pairs])
        assert len(set(rows.tolist())) == sum(sizes)
        orders.append(rows.tolist())
    assert orders[0] != orders[1]


def test_without_shuffling():
    got = list(Batches(np.arange(5), batch_size=2, shuffle=False))
    assert [x.tolist() for x in got] == [[0, 1], [2, 3], [4]]


def test_the_seed_gives_the_order():
    x = np.arange(50)
    first, again, other = (next(iter(Batches(x, batch_size=50, seed=seed))) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@prefetching
@pytest.mark.parametrize("done", [0, 2, 3, 4, 7])
def test_a_state_goes_on_with_the_next_batch(prefetch, done):
    def endless(batches):
        while True:
            yield from batches

    x = np.arange(10)
    batches = Batches(x, batch_size=4, seed=5, prefetch=prefetch)
    stream = endless(batches)
    for _ in range(done):
        next(stream)
    state = json.loads(json.dumps(batches.state_dict()))
    want = [next(stream).tolist() for _ in range(6)]
    other = Batches(x, batch_size=4, seed=0, prefetch=prefetch)
    other.load_state_dict(state)
    stream = endless(other)
    assert [next(stream).tolist() for _ in range(6)] == want


@prefetching
def test_a_loop_that_was_left_goes_on(prefetch):
    x = np.arange(10)
    whole = [b.tolist() for b in Batches(x, batch_size=3, prefetch=prefetch)]
    batches = Batches(x, batch_size=3, prefetch=prefetch)
    first = next(iter(batches)).tolist()
    assert [first, *[b.tolist() for b in batches]] == whole


@prefetching
def test_transforms(prefetch):
    batches = Batches(
        np.arange(4), batch_size=2, shuffle=False, prefetch=prefetch, transform=lambda x: (x, -x)
    )
    assert lists(batches) == [[[0, 1], [0, -1]], [[2, 3], [-2, -3]]]
    batches = Batches(
        np.arange(4.0), batch_size=4, prefetch=prefetch, transform=lambda x: ag.Variable(x).sum()
    )
    assert [x.item() for x in batches] == [6.0]


def test_a_thread_works_ahead_and_ends():
    met = []

    def note(x):
        met.append((x[0], threading.current_thread()))
        return x

    batches = Batches(np.arange(9), batch_size=1, shuffle=False, prefetch=2, transform=note)
    loop = iter(batches)
    next(loop)
    loop.close()
    assert 1 <= len(met) <= 5
    assert all(thread is not threading.main_thread() for _, thread in met)
    list(batches)
    for _, thread in met:
        thread.join(5)
        assert not thread.is_alive()


@prefetching
def test_an_error_of_the_transform_arrives(prefetch):
    def fail(x):
        if 2 in x:
            raise RuntimeError("no such row")
        return x

    batches = Batches(np.arange(4), batch_size=1, shuffle=False, prefetch=prefetch, transform=fail)
    loop = iter(batches)
    assert [next(loop).item() for _ in range(2)] == [0, 1]
    with pytest.raises(RuntimeError, match="no such row"):
        next(loop)
    assert batches.state_dict()["position"] == 2


@pytest.mark.parametrize(
    ("arrays", "options", "error", "message"),
    [
        ((), {}, TypeError, "none"),
        (([1, 2],), {}, TypeError, "list"),
        ((np.ones(3), np.ones(4)), {}, ValueError, r"\[3, 4\]"),
        ((np.ones(3),), {"batch_size": 0}, ValueError, "batch_size=0"),
        ((np.ones(0),), {}, ValueError, "no batch"),
        ((np.ones(3),), {"batch_size": 4, "drop_last": True}, ValueError, "no batch of 4"),
    ],
)
def test_refusals(arrays, options, error, message):
    with pytest.raises(error, match=message):
        Batches(*arrays, **{"batch_size": 2, **options})


def test_a_state_of_other_data():
    state = Batches(np.ones(4), batch_size=2).state_dict()
    with pytest.raises(ValueError, match="size=4, here it is 5"):
        Batches(np.ones(5), batch_size=2).load_state_dict(state)


@needs_cupy
@prefetching
@pytest.mark.parametrize("where", ["host", "device"])
def test_batches_arrive_on_cupy(prefetch, where):
    import cupy as cp

    x = np.random.default_rng(0).random((50, 3)).astype("f4")
    given = x if where == "host" else cp.asarray(x)
    on_host = list(Batches(x, batch_size=8, seed=1))
    with ag.use_backend("cupy"):
        batches = Batches(given, batch_size=8, seed=1, prefetch=prefetch)
        for _ in range(2):
            got = []
            for batch in batches:
                assert isinstance(batch, cp.ndarray)
                got.append(cp.asnumpy(batch))
                del batch  # its memory is used again
            if on_host:
                for a, b in zip(got, on_host, strict=True):
                    np.testing.assert_array_equal(a, b)
            on_host = None
    assert isinstance(next(iter(Batches(given, batch_size=8, backend="cupy"))), cp.ndarray)


@needs_cupy
def test_prefetching_to_a_busy_cupy_device():
    import cupy as cp
    from cupy_on_cpu import is_started

    width, n = (64, 8) if is_started() else (1 << 18, 2048)
    x = np.arange(64, dtype="f4")[:, None] + np.zeros((1, width), "f4")
    matrix = cp.ones((n, n), "f4") / n
    batches = Batches(x, batch_size=4, seed=2, prefetch=3, backend="cupy")
    stream = cp.cuda.Stream(non_blocking=True)
    for where in (cp.cuda.Stream.null, stream):
        with where:
            kept = []
            rows = batches._rows(batches.epoch)
            for batch in batches:
                for _ in range(4):
                    matrix = matrix @ matrix  # the batch is read long after the host has gone on
                kept.append(cp.stack([batch.min(axis=1), batch.max(axis=1)]))
                del batch  # and its memory is taken again by whoever asks
        where.synchronize()
        for low_high, numbers in zip(kept, rows, strict=True):
            np.testing.assert_array_equal(cp.asnumpy(low_high), np.stack([numbers, numbers]))


@needs_cupy
def test_prefetching_to_cupy_waits_for_nothing():
    from cupy_on_cpu import counting, is_started

    if not is_started():
        pytest.skip("counts need --cupy-on-cpu")
    x = np.random.default_rng(0).random((50, 3))
    list(Batches(x, batch_size=8, prefetch=2, backend="cupy"))
    with counting() as counts:
        list(Batches(x, batch_size=8, prefetch=2, backend="cupy"))
    assert not counts.waits


# Logs ---------------------------------------------------------------------------------------------


def test_a_log_comes_back(tmp_path):
    log = Log(tmp_path / "log.jsonl")
    log.write(step=1, loss=ag.Variable(0.5), text="ψ")
    log.write(step=2, loss=np.float32("nan"))
    first, second = read_log(log.path)
    assert first == {"step": 1, "loss": 0.5, "text": "ψ"}
    assert second["loss"] != second["loss"]


def test_an_incomplete_line_is_removed(tmp_path):
    log = Log(tmp_path / "log.jsonl")
    for step in range(1, 4):
        log.write(step=step)
    log.write(epoch=1)
    with open(log.path, "a") as file:
        file.write('{"step": 4, "lo')
    assert len(read_log(log.path)) == 4
    log = Log(log.path, upto={"step": 2})
    log.write(step=3, again=True)
    want = [{"step": 1}, {"step": 2}, {"epoch": 1}, {"step": 3, "again": True}]
    assert read_log(log.path) == want
