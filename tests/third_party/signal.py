"""scipy.signal, scipy.fft, scipy.ndimage."""

import numpy as np

import autograd_gpu as ag
from third_party.data import Module, f64, p, x, y

signal, fft, ndimage = Module("scipy.signal"), Module("scipy.fft"), Module("scipy.ndimage")


def size(f):
    """The absolute values of a complex result."""
    return lambda *vs: ag.abs(f(*vs))


def image(v):
    return v.reshape(3, 4)


WORKS = {
    "scipy.signal.correlate": (lambda a, b: signal.correlate(a, b, method="fft"), x, y[:5]),
    "scipy.signal.envelope": (lambda a: signal.envelope(a, bp_in=(1, None))[0], x),
    "scipy.signal.fftconvolve": (lambda a, b: signal.fftconvolve(a, b), x, y[:5]),
    "scipy.signal.freqs": (
        size(lambda a: signal.freqs(a, f64([1.0, 2.0]), worN=f64([1.0, 2.0]))[1]),
        x[:3],
    ),
    "scipy.signal.freqz": (size(lambda a: signal.freqz(a, worN=8)[1]), x[:4]),
    "scipy.signal.gausspulse": (lambda a: signal.gausspulse(a), x),
    "scipy.signal.hilbert": (size(lambda a: signal.hilbert(a)), x),
    "scipy.signal.hilbert2": (size(lambda a: signal.hilbert2(image(a))), x),
    "scipy.signal.minimum_phase": (lambda a: signal.minimum_phase(a), p[:5]),
    "scipy.signal.normalize": (lambda a: signal.normalize(a, f64([2.0, 1.0]))[0], p[:2]),
    "scipy.signal.oaconvolve": (lambda a, b: signal.oaconvolve(a, b), x, y[:5]),
    "scipy.signal.resample": (lambda a: signal.resample(a, 8), x),
    "scipy.signal.sos2tf": (lambda a: signal.sos2tf(a.reshape(1, 6))[0], p[:6]),
    "scipy.signal.zpk2tf": (lambda a: signal.zpk2tf(a, f64([0.3, 0.2]), 1.0)[0], x[:2]),
    **{
        f"scipy.fft.{name}": (size(lambda a, name=name: getattr(fft, name)(a)), x)
        for name in ("fft", "fftshift", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        f"scipy.fft.{name}": (size(lambda a, name=name: getattr(fft, name)(image(a))), x)
        for name in ("fft2", "fftn", "hfft2", "ifft2", "rfftn")
    },
    "scipy.fft.fht": (lambda a: fft.fht(a, 0.1, 0.5), x),
}
REFUSES = {
    **{
        f"scipy.signal.{name}": (lambda a, name=name: getattr(signal, name)(a), x)
        for name in ("czt", "detrend", "sawtooth", "stft", "wiener")
    },
    "scipy.signal.convolve": (lambda a: signal.convolve(a, a), x),
    "scipy.signal.decimate": (lambda a: signal.decimate(a, 2), x),
    "scipy.signal.filtfilt": (lambda a: signal.filtfilt([0.5, 0.5], [1.0], a, padlen=3), x),
    "scipy.signal.lfilter": (lambda a: signal.lfilter([1.0], [1.0, 0.5], a), x),
    "scipy.signal.periodogram": (lambda a: signal.periodogram(a)[1], x),
    "scipy.signal.savgol_filter": (lambda a: signal.savgol_filter(a, 5, 2), x),
    "scipy.signal.welch": (lambda a: signal.welch(a, nperseg=8)[1], x),
    "scipy.fft.dct": (lambda a: fft.dct(a), x),
    "scipy.ndimage.convolve1d": (lambda a: ndimage.convolve1d(a, [1.0, 2.0]), x),
    "scipy.ndimage.gaussian_filter": (lambda a: ndimage.gaussian_filter(a, 1.0), x),
    "scipy.ndimage.map_coordinates": (
        lambda a: ndimage.map_coordinates(a, np.array([[1.5]])),
        x,
    ),
    "scipy.ndimage.shift": (lambda a: ndimage.shift(a, 0.5), x),
    "scipy.ndimage.zoom": (lambda a: ndimage.zoom(a, 2.0), x),
}
