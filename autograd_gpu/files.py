"""Files: nested dicts of arrays and plain values, saved whole or not at all.

A file is a safetensors file, which other libraries read too.  The arrays are its tensors; what else
there is stands in the header as JSON, under a checksum of everything.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from autograd_gpu.backend import Array, Backend, current_backend, find_backend, load_backend
from autograd_gpu.variable import Variable

_FORMAT = "autograd_gpu"
_CHECKSUM = "checksum"


def save(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write `state` into the file `path`.

    `state` nests dicts, lists and tuples of arrays, Variables, numbers, strings and None, as
    `state_dict` returns them.  A flat dict of arrays becomes a plain safetensors file.

    The file is written beside `path`, flushed to the disk and then put in its place in one step:
    whoever reads `path`, also after a crash or power cut, finds the old file or the new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(f"{folder}/run.safetensors", {"step": 3, "model": nn.Linear(2, 1).state_dict()})
    ...     load(f"{folder}/run.safetensors")["step"]
    3
    """
    library = _safetensors("numpy")
    if not isinstance(state, Mapping):
        raise TypeError(f"save: state is a dict, not {type(state).__name__}")
    arrays: dict[str, Array] = {}
    tree = _packed(state, (), arrays)
    text = json.dumps(tree, separators=(",", ":"))
    metadata = {_FORMAT: text, _CHECKSUM: _checksum(text, arrays)}
    _replace(Path(path), library.save(arrays, metadata))


def load(path: str | os.PathLike[str], *, backend: str | None = None) -> dict[str, Any]:
    """What `save` wrote into `path`, or the arrays of any other safetensors file by their names.

    Arrays are made in the current backend, or that called `backend`, wherever they were saved from;
    `load_state_dict` of modules and optimisers moves them where it needs them.  Raises ValueError
    if the file is truncated, damaged or of another kind.
    """
    safetensors = _safetensors()
    target = current_backend() if backend is None else load_backend(backend)
    with open(path, "rb"):  # so that a file that is missing or closed to us says so
        pass
    try:
        with safetensors.safe_open(str(path), "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, ValueError, TypeError) as error:
        raise ValueError(
            f"load: {path} is truncated, damaged or no safetensors file ({error})"
        ) from error
    if metadata.keys().isdisjoint((_FORMAT, _CHECKSUM)):  # another library's
        return {name: target.from_host(x) for name, x in arrays.items()}
    text = metadata.get(_FORMAT, "")
    if metadata.get(_CHECKSUM) != _checksum(text, arrays):
        raise ValueError(f"load: {path} is damaged: its contents do not match its checksum")
    state: dict[str, Any] = _unpacked(json.loads(text), arrays, target)
    return state


def _safetensors(part: str = "") -> Any:
    try:
        return importlib.import_module(f"safetensors.{part}" if part else "safetensors")
    except ImportError as error:
        raise ImportError(
            "files need the library safetensors: pip install 'autograd_gpu[files]'"
        ) from error


# Trees as JSON ----------------------------------------------------------------------------------


def _packed(x: Any, place: tuple[Any, ...], arrays: dict[str, Array]) -> Any:
    """`x` as JSON, its arrays put into `arrays` and named by their place."""
    if isinstance(x, Variable):
        x = x.value
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, complex):
        return {"$complex": [x.real, x.imag]}
    if isinstance(x, Mapping):
        packed = [(key, _packed(value, (*place, key), arrays)) for key, value in x.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in packed):
            return dict(packed)
        return {"$dict": [[_packed(key, place, arrays), value] for key, value in packed]}
    if isinstance(x, (list, tuple)):
        items = [_packed(item, (*place, i), arrays) for i, item in enumerate(x)]
        return {"$tuple": items} if isinstance(x, tuple) else items
    backend = find_backend(x)
    if backend is None:
        hint = "; save its state_dict()" if hasattr(x, "state_dict") else ""
        where = "".join(f"[{key!r}]" for key in place)
        raise TypeError(
            f"save: state{where} is a {type(x).__name__}, not an array of NumPy or CuPy, number, "
            f"string, None, dict, list or tuple{hint}"
        )
    if not isinstance(x, backend.array_type):  # a NumPy scalar
        number = x.item()
        if type(number) is type(x):  # longdouble has no Python number
            raise TypeError(f"save: {'.'.join(map(str, place))} is a {x.dtype}; make it a float")
        return _packed(number, place, arrays)
    if hasattr(x, "mask"):
        raise TypeError(
            f"save: {'.'.join(map(str, place))} is a masked array, whose mask would be lost; "
            "save its data and its mask, or filled()"
        )
    return _packed_array(backend.to_host(x), place, arrays)


def _packed_array(x: Any, place: tuple[Any, ...], arrays: dict[str, Array]) -> dict[str, Any]:
    name = full = ".".join(map(str, place))
    while name in arrays or name == "__metadata__":  # {"a": {"b": x}, "a.b": y}; the header's own
        name += "'"
    reference = {"$array": name}
    if x.dtype.name == "complex128":  # safetensors has no such dtype
        x = x.astype("complex128").reshape((*x.shape, 1)).view("float64")
        reference["dtype"] = "complex128"
    elif (x.dtype.kind not in "biufc" and x.dtype.name != "bfloat16") or x.dtype.itemsize > 8:
        raise TypeError(f"save: {full} has the dtype {x.dtype}, which safetensors cannot store")
    xp = load_backend("numpy").xp
    # safetensors stores the buffer as it lies in memory, under a name that tells no byte order
    arrays[name] = xp.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(x.shape)
    return reference


def _unpacked(x: Any, arrays: Mapping[str, Array], target: Backend) -> Any:
    if isinstance(x, list):
        return [_unpacked(item, arrays, target) for item in x]
    if not isinstance(x, dict):
        return x
    match x:
        case {"$array": name}:
            value = arrays[name]
            if "dtype" in x:
                value = value.view(x["dtype"]).reshape(value.shape[:-1])
            return target.from_host(value)
        case {"$complex": [real, imag]}:
            return complex(real, imag)
        case {"$tuple": items}:
            return tuple([_unpacked(item, arrays, target) for item in items])
        case {"$dict": items}:
            pairs = [[_unpacked(part, arrays, target) for part in item] for item in items]
            return dict(pairs)
    return {key: _unpacked(value, arrays, target) for key, value in x.items()}


def _checksum(text: str, arrays: Mapping[str, Any]) -> str:
    """Of the JSON, and of the arrays' names, dtypes, shapes and elements."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        x = arrays[name]
        digest.update(json.dumps([name, x.dtype.name, list(x.shape)]).encode())
        little = x if sys.byteorder == "little" or x.dtype.itemsize == 1 else x.byteswap()
        digest.update(little.reshape(-1).view("uint8").data)
    return f"blake2b:{digest.hexdigest()}"


# Whole or not at all ----------------------------------------------------------------------------

_writing = Lock()


def _replace(path: Path, contents: bytes) -> None:
    """Write `contents` into another file, to the disk, and put that in the place of `path`."""
    with _writing:
        _remove_leftovers(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as file:
                file.write(contents)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they saved to `path` have left."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        number = left.name.split(".")[-2]
        if number.isdecimal() and not _runs(int(number)):
            left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless question
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _flush_folder(folder: Path) -> None:
    # the new name lasts only once the folder is on the disk; not every system can flush one
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
