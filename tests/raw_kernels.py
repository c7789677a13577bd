"""RawKernels where the number of devices changes, as only the emulation's does."""


def forget() -> None:
    """Have them made anew: they have room for the devices that there were at their first launch."""
    from autograd_gpu.backends import cupy_constants, cupy_joining, cupy_steps

    for made in (cupy_constants.kernel, cupy_joining.kernel, cupy_steps._kernel):
        made.cache_clear()
