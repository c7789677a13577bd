"""Puts Python functions behind the C functions that CuPy's modules call.

CuPy reaches CUDA through two modules, `cupy_backends.cuda.api.runtime` and `.driver`.  They export
their C functions as capsules, from which every other compiled module of CuPy copies the pointer
when it is imported.  So the capsules are exchanged before that, for pointers into a small C++
library that is generated here: it calls the Python function, and lets an exception pass as Cython
does.
"""

from __future__ import annotations

import atexit
import ctypes
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import toolchain

# How a C type is handed to PyObject_CallFunction: the format letter and the type it stands for.
_ARGUMENTS = {
    "int": ("i", "int"),
    "unsigned int": ("I", "unsigned int"),
    "size_t": ("K", "unsigned long long"),
    "intptr_t": ("L", "long long"),
    "uintmax_t": ("K", "unsigned long long"),
    "PyObject *": ("O", "void*"),
    "CUdevice": ("i", "int"),
    "cudaMemcpyKind": ("i", "int"),
}
# How a result is taken from a Python object, and what a caller takes for 'an exception is set'.
_RESULTS = {
    "int": ("PyLong_AsLong", "-1"),
    "unsigned int": ("PyLong_AsUnsignedLongLong", "0"),
    "size_t": ("PyLong_AsUnsignedLongLong", "-1"),
    "intptr_t": ("PyLong_AsLongLong", "0"),
    "uintmax_t": ("PyLong_AsUnsignedLongLong", "0"),
    "float": ("PyFloat_AsDouble", "0"),
}
_ERROR_VALUES = {"streamGetPriority": "0", "funcGetAttribute": "-2"}
# Functions with one optional argument, an int, that makes a difference here.
_OPTIONAL_INT = ("streamBeginCapture",)

_HEAD = """
#include <cstddef>
#include <cstdint>
// Declared here, so that Python's headers need not be installed.
extern "C" {
void* PyObject_CallFunction(void*, const char*, ...);
void* PyErr_Occurred();
long PyLong_AsLong(void*);
long long PyLong_AsLongLong(void*);
unsigned long long PyLong_AsUnsignedLongLong(void*);
double PyFloat_AsDouble(void*);
void Py_IncRef(void*);
void Py_DecRef(void*);
extern char _Py_NoneStruct;
struct emu_optional { int given; int value; };
// CuPy frees its memory after Python's modules are gone; nothing is called then.
bool emu_closed = false;
"""


def exchange(module: ModuleType, find: Callable[[str], Callable[..., Any]]) -> list[str]:
    """Let `find(name)` stand for each C function of `module`, also where Python code calls it.

    Returns the names of those that stay: they return a struct, and serve textures only.
    """
    names: list[str] = []
    kept: list[str] = []
    code = [_HEAD]
    for name, signature in _signatures(module).items():
        text = _function(len(names), name, signature)
        if text is None:
            kept.append(name)
        else:
            names.append(name)
            code.append(text)
    code.append("}")
    library = ctypes.PyDLL(str(toolchain.build_library("\n".join(code))))
    atexit.register(setattr, ctypes.c_bool.in_dll(library, "emu_closed"), "value", True)
    for i, name in enumerate(names):
        function = find(name)
        _keep(function)
        ctypes.c_void_p.in_dll(library, f"target_{i}").value = id(function)
        pointer = ctypes.cast(getattr(library, f"entry_{i}"), ctypes.c_void_p)
        module.__pyx_capi__[name] = _new_capsule(pointer, _signatures(module)[name])
        if hasattr(module, name):
            setattr(module, name, function)
    return kept


def _signatures(module: ModuleType) -> dict[str, str]:
    """C signatures of the functions among the capsules; the others are variables."""
    texts = {name: _capsule_name(c).decode() for name, c in module.__pyx_capi__.items()}
    return {name: text for name, text in texts.items() if text.endswith(")")}


def _function(number: int, name: str, signature: str) -> str | None:
    match = re.fullmatch(r"(.*?) ?\((.*)\)", signature)
    assert match, signature
    result, listed = match.groups()
    # Hidden arguments stand last (whether to look for an override; a struct of optional arguments),
    # and both calling conventions in use let a function ignore its last arguments.
    types = [t for t in listed.split(", ") if t not in ("void", "") and "__pyx_skip" not in t]
    types = [t for t in types if "__pyx_optional" not in t]
    types = ["PyObject *" if t.startswith("struct __pyx_obj") else t for t in types]
    if result.startswith("struct __pyx_obj"):
        result = "PyObject *"
    if any(t not in _ARGUMENTS for t in types) or result not in {*_RESULTS, "PyObject *"}:
        return None
    spec = "".join(_ARGUMENTS[t][0] for t in types)
    parameters = ", ".join(f"{_ARGUMENTS[t][1]} a{i}" for i, t in enumerate(types))
    arguments = "".join(f", a{i}" for i in range(len(types)))
    call = f'void* r = PyObject_CallFunction(target_{number}, "({spec})"{arguments});'
    if name in _OPTIONAL_INT:
        parameters += ", int, emu_optional* o"
        call = (
            f"void* r = o && o->given "
            f'? PyObject_CallFunction(target_{number}, "({spec}i)"{arguments}, o->value) '
            f': PyObject_CallFunction(target_{number}, "({spec})"{arguments});'
        )
    if result == "PyObject *":
        body = f"if (emu_closed) {{ Py_IncRef(&_Py_NoneStruct); return &_Py_NoneStruct; }} {call}"
        ctype, end = "void*", "return r;"
    else:
        convert, error = _RESULTS[result]
        error = _ERROR_VALUES.get(name, error)
        ctype, body = result, f"if (emu_closed) return 0; {call}"
        end = (
            f"if (!r) return {error}; {result} v = {convert}(r); Py_DecRef(r); "
            f"return PyErr_Occurred() ? {error} : v;"
        )
    return f"void* target_{number}; {ctype} entry_{number}({parameters}) {{ {body} {end} }}"


_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def _new_capsule(pointer: ctypes.c_void_p, signature: str) -> Any:
    name = ctypes.create_string_buffer(signature.encode())
    _keep(name)
    return _capsule(pointer, ctypes.cast(name, ctypes.c_char_p), None)


def _keep(x: Any) -> None:
    # C code holds the address for as long as the process lives.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
