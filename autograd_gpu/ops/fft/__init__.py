"""Discrete Fourier transforms, with derivatives of every order, under numpy.fft's names.

float32 gives complex64.  It is also the namespace in which derivatives run under create_graph:
what they call as `xp.fft.name` is looked up here.
"""

from __future__ import annotations

from autograd_gpu.ops.fft.frequencies import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from autograd_gpu.ops.fft.transforms import (
    fft as fft,
    fft2 as fft2,
    fftn as fftn,
    hfft as hfft,
    ifft as ifft,
    ifft2 as ifft2,
    ifftn as ifftn,
    ihfft as ihfft,
    irfft as irfft,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft as rfft,
    rfft2 as rfft2,
    rfftn as rfftn,
)
