"""Files come back as they were saved, on either backend, or say what is wrong with them."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import files, nn, optim

pytest.importorskip("safetensors")
HAS_CUPY = "cupy" in ag.available_backends()
needs_cupy = pytest.mark.skipif(not HAS_CUPY, reason="CuPy or a CUDA device is missing")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


def same(a, b):
    """Whether two trees are equal, types and dtypes too."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a == b or (a != a and b != b)


STATE = {
    "none": None,
    "numbers": [1, -(2**127), 0.1, float("inf"), float("nan"), True, 2 - 1j],
    "text": 'ψ "quoted"\n',
    "tuple": (0.9, (0.999, [])),
    3: {"a": {"b": np.arange(3)}, "a.b": np.arange(2.0)},
    "$array": "no reference",
    "__metadata__": np.arange(4),
    "empty": {},
}


def test_a_tree_comes_back_as_it_was(path):
    files.save(path, STATE)
    assert same(files.load(path, backend="numpy"), STATE)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_integers(path, dtype, shape):
    x = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) + 1).astype(dtype)
    x = np.asarray(x)
    files.save(path, {"x": x})
    assert same(files.load(path, backend="numpy"), {"x": x})


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_floats(path, dtype, shape):
    x = np.asarray(np.random.default_rng(0).random(shape) * 1.5).astype(dtype)
    if "c" in dtype:
        x = np.asarray(x + 2j * x, dtype)
    for y in (np.asarray(x), np.asarray(x).T, np.asarray(x[..., None])[..., ::-1]):
        files.save(path, {"x": y})
        assert same(files.load(path, backend="numpy")["x"], np.array(y, order="C"))


def test_bfloat16(path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    files.save(path, {"x": x})
    assert same(files.load(path, backend="numpy"), {"x": x})


def test_variables_and_scalars(path):
    x = ag.Variable([1.0, 2.0], requires_grad=True)
    files.save(path, {"x": x, "n": np.int64(3), "f": np.float32(0.5), "b": np.bool_(True)})
    got = files.load(path, backend="numpy")
    assert same(got, {"x": x.value, "n": 3, "f": 0.5, "b": True})


def network():
    ag.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))


def steps(model, optimizer, n):
    x = np.random.default_rng(0).random((8, 3)).astype("f4")
    losses = []
    for _ in range(n):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("kind", [optim.Adam, optim.SGD])
def test_a_training_goes_on_bitwise(path, kind):
    model = network()
    optimizer = kind(model.parameters(), lr=0.1, **({"momentum": 0.9} if kind is optim.SGD else {}))
    steps(model, optimizer, 3)
    files.save(path, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    want = steps(model, optimizer, 3)

    again = network()
    other = kind(again.parameters())
    state = files.load(path)
    again.load_state_dict(state["model"])
    other.load_state_dict(state["optimizer"])
    assert steps(again, other, 3) == want


def test_random_numbers_go_on(path):
    generator = ag.Generator(2**63)
    generator.normal((3,))
    generator.next_key()
    files.save(path, {"random": generator.state_dict()})
    want = generator.normal((3,)), generator.next_key()
    other = ag.Generator()
    other.load_state_dict(files.load(path)["random"])
    np.testing.assert_array_equal(other.normal((3,)), want[0])
    assert other.next_key() == want[1]


# Between libraries and backends -------------------------------------------------------------------


def test_other_libraries_read_and_write_the_files(path):
    library = pytest.importorskip("safetensors.numpy")
    model = network()
    files.save(path, model.state_dict())
    read = library.load_file(path)
    assert read.keys() == model.state_dict().keys()
    library.save_file({"0.weight": np.ones((4, 3), "f4")}, path)
    assert same(files.load(path, backend="numpy"), {"0.weight": np.ones((4, 3), "f4")})
    missing, unexpected = model.load_state_dict(files.load(path), strict=False)
    assert "0.bias" in missing
    assert not unexpected
    assert (model[0].weight.value == 1).all()


def torch_network(torch):
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3, padding=1),
        torch.nn.GroupNorm(3, 3),
        torch.nn.BatchNorm2d(3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(48, 5),
        torch.nn.LayerNorm(5),
    )


def our_network():
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.GroupNorm(3, 3),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48, 5),
        nn.LayerNorm(5),
    )


@pytest.mark.parametrize("way", ["a file of PyTorch's", "a dict of arrays", "a file of ours"])
def test_weights_of_pytorch_load_by_name(path, way):
    torch = pytest.importorskip("torch")
    theirs, ours = torch_network(torch), our_network()
    x = np.random.default_rng(0).random((2, 1, 4, 4)).astype("f4")
    if way == "a file of ours":
        files.save(path, ours.state_dict())
        theirs.load_state_dict(pytest.importorskip("safetensors.torch").load_file(path))
    elif way == "a dict of arrays":
        ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    else:
        pytest.importorskip("safetensors.torch").save_file(theirs.state_dict(), path)
        ours.load_state_dict(files.load(path))
    want = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(x).numpy(), want, rtol=1e-4, atol=1e-6)


def test_a_checkpoint_of_another_architecture(path):
    model = network()
    files.save(path, our_network().state_dict())
    before = model.state_dict()
    with pytest.raises(ValueError, match="missing.*unexpected.*shape"):
        model.load_state_dict(files.load(path))
    assert same(model.state_dict(), before)


@needs_cupy
def test_cupy_to_numpy_and_back(path):
    with ag.use_backend("cupy"):
        model = network()
        optimizer = optim.Adam(model.parameters())
        (model(ag.ones((4, 3))) ** 2).mean().backward()
        optimizer.step()
        files.save(path, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    with ag.use_backend("numpy"):
        state = files.load(path)
        host = network()
        other = optim.Adam(host.parameters())
        host.load_state_dict(state["model"])
        other.load_state_dict(state["optimizer"])
    for a, b in zip(host.parameters(), model.parameters(), strict=True):
        assert type(a.value) is np.ndarray
        np.testing.assert_array_equal(a.value, b.numpy())
    files.save(path, {"model": host.state_dict(), "z": np.ones(2, "c16")})
    state = files.load(path, backend="cupy")
    assert type(state["z"]).__module__.startswith("cupy")
    assert state["z"].dtype == "c16"
    model.load_state_dict(state["model"])
    np.testing.assert_array_equal(model[0].weight.numpy(), host[0].weight.value)


# What is wrong ------------------------------------------------------------------------------------


def test_damage_anywhere_is_noticed(path):
    files.save(path, {"x": np.arange(4.0), "step": 3})
    whole = path.read_bytes()
    want = files.load(path, backend="numpy")
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        with contextlib.suppress(ValueError):
            assert same(files.load(path, backend="numpy"), want), i
    for i in range(len(whole)):
        path.write_bytes(whole[:i])
        with pytest.raises(ValueError, match="truncated, damaged"):
            files.load(path)


def test_files_of_another_kind(path):
    with pytest.raises(FileNotFoundError):
        files.load(path)
    path.write_bytes(b"\x93NUMPY, or anything else that is long enough")
    with pytest.raises(ValueError, match="no safetensors file"):
        files.load(path)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a": [{"b": object()}]}, r"state\['a'\]\[0\]\['b'\] is a object"),
        ({"model": nn.Linear(1, 1)}, r"Linear.*save its state_dict\(\)"),
        ({"x": np.array(["text"])}, "dtype"),
        ({"x": np.ones(2, np.longdouble)}, "dtype"),
        ([1, 2], "state is a dict"),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_file(path, state, message):
    files.save(path, {"step": 1})
    with pytest.raises(TypeError, match=message):
        files.save(path, state)
    assert files.load(path) == {"step": 1}
    assert os.listdir(path.parent) == [path.name]


def test_an_error_while_writing_leaves_the_old_file(path, monkeypatch):
    files.save(path, {"step": 1})

    def fail(number):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        files.save(path, {"step": 2})
    monkeypatch.undo()
    assert files.load(path) == {"step": 1}
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        files.save(tmp_path / "nowhere" / "x.safetensors", {"step": 1})


def test_without_the_library(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    for call in (lambda: files.save(path, {}), lambda: files.load(path)):
        with pytest.raises(ImportError, match=r"pip install 'autograd_gpu\[files\]'"):
            call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the script forks")
def test_a_killed_training_never_loses_its_last_checkpoint(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("killed_training.py"),
            "--kills=10",
            f"--folder={tmp_path}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "AUTOGRAD_GPU_BACKEND": "numpy", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed 10 times" in done.stdout


@pytest.mark.parametrize("dtype", [">f8", ">i2", ">c8", ">c16", "<f4"])
def test_arrays_of_either_byte_order_come_back(path, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    files.save(path, {"x": x, "turned": x.T})
    found = files.load(path, backend="numpy")
    np.testing.assert_array_equal(found["x"], x)
    np.testing.assert_array_equal(found["turned"], x.T)
    assert found["x"].dtype == x.dtype.newbyteorder("=")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "a.x is a masked array, whose mask would be lost"),
        (np.longdouble(1), "a.x is a .*; make it a float"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused(path, x, message):
    with pytest.raises(TypeError, match=message):
        files.save(path, {"a": {"x": x}})
