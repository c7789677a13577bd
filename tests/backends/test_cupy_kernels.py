"""Every kernel of the CuPy backend, compiled by NVRTC for three generations of GPUs.

That they compute the right thing is tested beside what uses them.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cupy_on_cpu import nvrtc

import autograd_gpu as ag

cp = pytest.importorskip("cupy")
pytestmark = pytest.mark.usefixtures("cupy_backend")

BACKENDS = Path(__file__).parents[2] / "backends"
DTYPES = ["float32", "float16", "bfloat16"]
F4 = np.dtype("f4")


def dtype_of(name):
    return pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else np.dtype(name)


# Modules with kernels, and those that they make when asked; kernels at their top are found.
def fused():
    from autograd_gpu.backends import cupy_fuse

    made = []

    def record(*arguments):
        made.append(cp.ElementwiseKernel(*arguments))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cupy_fuse, "cp", SimpleNamespace(ElementwiseKernel=record, empty=cp.empty))
        function = ag.fuse(lambda x, y: ag.tanh(x * y) + ag.where(x > 0, x, ag.exp(-y)))
        x = ag.Variable(cp.ones(3, "f4"), requires_grad=True)
        function(x, x).backward(x.value)
    assert function.reason is None
    return made


def steps(dtype):
    from autograd_gpu.backends.cupy_steps import RULES, _kernel

    for rule in dict.fromkeys(RULES.values(), None):
        # half types change the types alone, and every rule converts what it reads and writes
        if dtype != F4 and rule.name not in ("sgd", "adam", "amsgrad", "rprop", "lamb", "unscale"):
            continue
        yield _kernel(rule, (dtype,) * len(rule.arrays), "float")[0]
        if dtype != F4:  # a master in float32, and its copy
            yield _kernel(rule, (*(F4,) * len(rule.arrays), dtype), "float")[0]


def counting(module):
    from autograd_gpu.backends.cupy_steps import RULES

    numbers = dict.fromkeys(rule.numbers for rule in RULES.values())
    return [module._counting(n) for n in numbers if "step" in n.options]


def batch_norm(module):
    bits = (False, True)
    yield from (module._moment(centred, "float") for centred in bits)
    yield module._along("float")
    yield from (module._normalise(weight, bias, "float") for weight in bits for bias in bits)
    yield from (module._gradient(weight, "float") for weight in bits)


MADE = {
    "cupy_activations": lambda module, dtype: module.kernels().values(),
    "cupy_batch_norm": lambda module, dtype: batch_norm(module),
    "cupy_constants": lambda module, dtype: [module.kernel()],
    "cupy_counters": lambda module, dtype: [module._kernel("count")] if dtype == F4 else (),
    "cupy_cudnn_masks": lambda module, dtype: (),
    "cupy_debug": lambda module, dtype: (),
    "cupy_fuse": lambda module, dtype: fused() if dtype == F4 else (),
    "cupy_gemm_batched": lambda module, dtype: (),
    "cupy_image_kernels": lambda module, dtype: [
        module.kernel(name, index)
        for name in module.KERNELS
        for index in (("int", "ptrdiff_t") if dtype == F4 else ("int",))
    ],
    "cupy_joining": lambda module, dtype: map(module.kernel, module._WORDS),
    "cupy_live": lambda module, dtype: (),
    "cupy_namespace": lambda module, dtype: (),
    "cupy_philox": lambda module, dtype: (),
    "cupy_rows": lambda module, dtype: module.kernels(F4).values(),
    "cupy_scatter": lambda module, dtype: (),
    "cupy_step_numbers": lambda module, dtype: counting(module) if dtype == F4 else (),
    "cupy_steps": lambda module, dtype: steps(dtype),
}
KINDS = (cp.ElementwiseKernel, cp.ReductionKernel, cp.RawKernel)

# Parameters of a free type that are not of the dtype: indices, masks, and what is summed up.
_MOMENTS = dict.fromkeys("MIAT", "f4")
TYPES = {
    "batch_norm": {"M": "f4", "I": "f4"},
    "batch_norm_along": {"M": "f4", "I": "f4"},
    "batch_norm_gradient": _MOMENTS,
    "channel_variance": {"M": "f4"},
    "add_rows": {"I": "i4"},
    "count_before": {"I": "i4"},
    "first_ids": {"I": "i8", "O": "i4"},
    "masked": {"M": "?"},
    "next_ids": {"I": "i8", "O": "i4"},
    "pick": {"I": "i8"},
    "record_index": {"I": "i8"},
    "softmax_less_picked": {"I": "i8"},
    "sum_runs": {"I": "i4", "A": "f4"},
}
NUMBERS = ("eps", "share")  # what reductions get by value
# By atomics, which are used for float32 and float64 only.
NOT_FOR_HALVES = ("add_rows",)


def module_of(name):
    return __import__(f"autograd_gpu.backends.{name}", fromlist=["_"])


def all_kernels(dtype):
    for name, made in MADE.items():
        module = module_of(name)
        own = [v for v in vars(module).values() if isinstance(v, KINDS)]
        yield from (*own, *made(module, dtype))


def source(kernel, dtype):
    """What NVRTC gets for a kernel on dense arrays."""
    if isinstance(kernel, cp.RawKernel):
        return kernel.code
    parameters = (*kernel.in_params, *kernel.out_params)
    free = {p.ctype for p in parameters if p.dtype is None}
    types = dict.fromkeys(free, dtype) | TYPES.get(kernel.name.removeprefix("autograd_gpu_"), {})
    scalars = [p.name for p in kernel.in_params if p.dtype is not None and not p.raw]
    if isinstance(kernel, cp.ReductionKernel):
        scalars = [name for name in scalars if name in NUMBERS]
        return nvrtc.reduction_source(kernel, types, 2, 1, scalars)
    return nvrtc.elementwise_source(kernel, types, 1, True, scalars)


def sources(dtype):
    found = {}
    for kernel in all_kernels(dtype):
        if dtype != F4 and kernel.name.endswith(NOT_FOR_HALVES):
            continue
        text = source(kernel, dtype)
        if text not in found.values():
            found[f"{kernel.name} {len(found)}"] = text
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_compiles(dtype):
    texts = sources(dtype_of(dtype))
    checks = nvrtc.check_together(texts)
    assert nvrtc.assert_compiles(checks) == 3 * len(texts)
    assert {check.arch for check in checks} == {"80", "90", "100"}


def test_an_error_planted_among_them_is_found():
    texts = sources(F4)
    name = next(name for name in texts if "layer_norm_sums" in name)
    texts[name] = texts[name].replace("Sums added(", "Sums adted(")
    few = {other: texts[other] for other in [*list(texts)[:3], name]}
    checks = nvrtc.check_together(few, architectures=["80"])
    with pytest.raises(AssertionError, match=r"layer_norm_sums \d+ for sm_80: .*\n?.*added"):
        nvrtc.assert_compiles(checks)
    assert [c.what for c in checks if c.error] == [name]


def test_no_module_is_left_out():
    constructors = re.compile(r"\bcp\.(Elementwise|Reduction|Raw)(Kernel|Module)\(")
    found = {p.stem for p in BACKENDS.glob("*.py") if constructors.search(p.read_text())}
    assert found == MADE.keys()
