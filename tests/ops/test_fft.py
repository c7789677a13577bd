"""Fourier transforms under all their names, against NumPy and PyTorch."""

import numpy as np
import pytest

import autograd_gpu as ag
from autograd_gpu import fft

RNG = np.random.default_rng(0)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
NORMS = ("backward", "ortho", "forward", None)


def real(*shape):
    return RNG.uniform(-1, 1, shape)


def operands(name, *shape):
    """Real ones, and complex ones for transforms that take them."""
    yield real(*shape)
    if name not in ("rfft", "ihfft", "rfft2", "rfftn"):
        yield real(*shape) + 1j * real(*shape)


def check(name, x, *args, **kwargs):
    f = lambda x: getattr(fft, name)(x, *args, **kwargs)  # noqa: E731
    expected = getattr(np.fft, name)(x, *args, **kwargs)
    y = f(x)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-12)
    assert ag.grad_check(f, [x])
    loss = lambda x: ag.sum(ag.abs(f(x)) ** 2 * np.arange(1.0, 1 + y.size).reshape(y.shape))  # noqa: E731
    assert ag.grad_check(loss, [x], order=2, atol=1e-4)
    single = ag.Variable(x.astype("complex64" if np.iscomplexobj(x) else "float32"))
    assert f(single).dtype == ("complex64" if y.dtype.kind == "c" else "float32")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm):
    for size in (4, 5):
        for x in operands(name, size, 2):
            for n in (None, 3, 6):
                check(name, x, n, axis=0, norm=norm)


@pytest.mark.parametrize("name", MANY)
def test_more_axes(name):
    for x in operands(name, 3, 2, 4):
        check(name, x)
        check(name, x, norm="ortho")
        check(name, x, axes=(2, 0))
        check(name, x, (5, 3), (-1, 1), "forward")
        check(name, x, s=(2, 6), axes=(0, 1))


@pytest.mark.parametrize("name", MANY)
def test_an_axis_twice(name):
    for x in operands(name, 3, 4):
        check(name, x, axes=(1, 0, 1))


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_frequencies_and_shifts(n):
    np.testing.assert_allclose(fft.fftfreq(n, 0.5, dtype="float64"), np.fft.fftfreq(n, 0.5))
    np.testing.assert_allclose(fft.rfftfreq(n, 2.0, dtype="float64"), np.fft.rfftfreq(n, 2.0))
    assert fft.fftfreq(n).dtype == ag.get_default_dtype()
    x = real(n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,), (0, -1)):
            f = lambda x: getattr(fft, name)(x, axes)  # noqa: B023, E731
            np.testing.assert_array_equal(f(x).numpy(), getattr(np.fft, name)(x, axes))
            assert ag.grad_check(f, [x])


def test_numpy_functions():
    x = real(4, 6)
    v = ag.Variable(x, requires_grad=True)
    for name in (*ONE, *MANY, "fftshift", "ifftshift"):
        y = getattr(np.fft, name)(v)
        assert isinstance(y, ag.Variable)
        np.testing.assert_allclose(y.detach().numpy(), getattr(np.fft, name)(x), atol=1e-12)
    y = np.fft.rfft(v, n=5, axis=0, norm="ortho")
    np.testing.assert_allclose(y.detach().numpy(), np.fft.rfft(x, n=5, axis=0, norm="ortho"))


@pytest.mark.parametrize("norm", NORMS[:3])
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_gradients_are_those_of_pytorch(name, norm):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for x in operands(name, 3, 4, 5):
        t = torch.tensor(x, requires_grad=True)
        theirs = getattr(torch.fft, name)(t, norm=norm)
        w = real(*theirs.shape)
        (theirs.abs() * torch.tensor(w)).sum().backward()
        v = ag.Variable(x, requires_grad=True)
        ag.sum(ag.abs(getattr(fft, name)(v, norm=norm)) * w).backward()
        np.testing.assert_allclose(v.grad, t.grad.resolve_conj().numpy(), atol=1e-10)


def test_a_loss_of_half_a_spectrum_counts_it_once():
    x = real(6)
    v = ag.Variable(x, requires_grad=True)
    ag.sum(ag.abs(fft.rfft(v)) ** 2).backward()
    spectrum = np.fft.rfft(x)
    k, t = np.arange(4)[:, None], np.arange(6)
    expected = (2 * spectrum[:, None] * np.exp(2j * np.pi * k * t / 6)).real.sum(0)
    np.testing.assert_allclose(v.grad, expected)


def test_errors():
    x = real(3, 4)
    with pytest.raises(ValueError, match=r"fft: norm is one of .*'both'"):
        fft.fft(x, norm="both")
    with pytest.raises(TypeError, match=r"rfft: x must be real, got complex128\[3, 4\]"):
        fft.rfft(x + 0j)
    with pytest.raises(IndexError, match=r"fft: axes \(2,\) of float64\[3, 4\]"):
        fft.fft(x, axis=2)
    with pytest.raises(ValueError, match=r"fft2: s=\(3,\)"):
        fft.fft2(x, s=(3,))
    with pytest.raises(ValueError, match=r"fft: float64\[3, 4\] .* sizes \[0\]"):
        fft.fft(x, 0)
    with pytest.raises(ValueError, match=r"irfft: float64\[1\]"):
        fft.irfft(x[0, :1])
    with pytest.raises(ValueError, match="rfftn: at least one axis"):
        fft.rfftn(x, axes=())
    with pytest.raises(IndexError, match="fft: axes"):
        fft.fft(1.0)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "irfft2"])
@pytest.mark.parametrize("s", [(4, -1), (-1, -1), (-1, 5)])
def test_a_size_of_minus_one_is_that_of_the_axis(name, s):
    check(name, real(3, 4), s=s, axes=(0, 1))


def test_the_size_of_one_axis_is_positive():
    with pytest.raises(ValueError, match=r"irfft: .* cannot be transformed to sizes \[-1\]"):
        fft.irfft(ag.Variable(real(4)), n=-1)
