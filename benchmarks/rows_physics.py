"""Simulations to be differentiated through: a wave equation, and phase retrieval by FFT."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from programs import Step, ag, hips_numpy, torch
from rows import Data, Row, normal


def laplacian(u: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The neighbours' sum less four times each point of a grid that closes on itself."""
    np.multiply(u, -4, out=out)
    for axis in (0, 1):
        there, to = np.swapaxes(u, 0, axis), np.swapaxes(out, 0, axis)
        to[1:] += there[:-1]
        to[0] += there[-1]
        to[:-1] += there[1:]
        to[-1] += there[0]
    return out


def bent(roll: Any, u: Any) -> Any:
    """The same by whole arrays."""
    return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u


class WaveEquation(Row):
    """Leapfrog steps: what the last field says of the speeds and of the first field."""

    name, family = "wave equation, 128x128, 200 steps", "simulations"
    leaves = ("speed", "start")
    left_out = MappingProxyType({"torch_compile": "it writes out all steps: minutes to compile"})
    seconds = 0.3

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n, steps = (6, 4) if small else (128, 200)
        return Data(
            speed=(0.1 + 0.2 * rng.random((n, n))).astype(dtype),
            start=normal(rng, dtype, n, n),
            target=normal(rng, dtype, n, n),
            steps=steps,
        )

    def by_hand(self, d: Data) -> Step:
        n = d.start.shape
        fields = np.empty((d.steps + 2, *n), d.start.dtype)
        bends = np.empty((d.steps, *n), d.start.dtype)  # the Laplacians
        scratch, speed_grad = np.empty_like(d.start), np.empty_like(d.start)

        def step() -> list[np.ndarray]:
            fields[:2] = d.start
            for t in range(d.steps):
                before, now, after = fields[t : t + 3]
                np.multiply(d.speed, laplacian(now, bends[t]), out=after)
                after += now
                after += now
                after -= before
            speed_grad.fill(0)
            g = fields[-1] - d.target
            g_now = np.zeros_like(g)
            for t in range(d.steps - 1, -1, -1):
                np.multiply(g, bends[t], out=scratch)
                np.add(speed_grad, scratch, out=speed_grad)
                g_now += 2 * g
                g_now += laplacian(g * d.speed, scratch)
                g, g_now = g_now, -g
            return [speed_grad, g + g_now]

        return step

    def formula(self, xp: Any, d: Data, speed: Any, start: Any) -> Any:
        before = now = start
        for _ in range(d.steps):
            before, now = now, 2 * now - before + speed * bent(xp.roll, now)
        return xp.sum((now - d.target) ** 2) / 2

    def ours(self, d: Data, speed: Any, start: Any) -> Any:
        return self.formula(ag, d, speed, start)

    def torch(self, d: Data, speed: Any, start: Any) -> Any:
        before = now = start
        for _ in range(d.steps):
            before, now = now, 2 * now - before + speed * bent(torch.roll, now)
        return ((now - d.target) ** 2).sum() / 2

    def jax(self, xp: Any, d: Data, speed: Any, start: Any) -> Any:
        from jax import lax

        def step(fields: Any, _: Any) -> tuple[Any, None]:
            before, now = fields
            return (now, 2 * now - before + speed * bent(xp.roll, now)), None

        (_, last), _ = lax.scan(step, (start, start), length=d.steps)
        return xp.sum((last - d.target) ** 2) / 2


class PhaseRetrieval(Row):
    """From the brightness of diffraction patterns to the image, given as two real ones."""

    name, family = "phase retrieval, 4 FFTs of 256x256", "simulations"
    leaves = ("re", "im")
    left_out = MappingProxyType({"mygrad": "it has no complex numbers"})

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        masks, n = (2, 4) if small else (4, 256)
        angles = 2 * np.pi * rng.random((masks, n, n))
        return Data(
            re=normal(rng, dtype, n, n),
            im=normal(rng, dtype, n, n),
            masks=np.exp(1j * angles).astype(np.result_type(dtype, np.complex64)),
            measured=(1 + rng.random((masks, n, n))).astype(dtype),
        )

    def by_hand(self, d: Data) -> Step:
        def step() -> list[np.ndarray]:
            z = np.empty(d.re.shape, d.masks.dtype)
            z.real, z.imag = d.re, d.im
            light = np.fft.fft2(d.masks * z, norm="ortho")
            brightness = np.abs(light)
            light *= (brightness - d.measured) / brightness
            g = np.fft.ifft2(light, norm="ortho")
            g *= d.masks.conj()
            total = g.sum(0)
            return [total.real, total.imag]

        return step

    def formula(self, xp: Any, d: Data, re: Any, im: Any) -> Any:
        light = xp.fft.fft2(d.masks * (re + 1j * im), norm="ortho")
        return xp.sum((xp.abs(light) - d.measured) ** 2) / 2

    def autograd(self, xp: Any, d: Data, re: Any, im: Any) -> Any:
        if xp is not hips_numpy:
            return self.formula(xp, d, re, im)
        # its fft2 differentiates for the default norm only
        light = xp.fft.fft2(d.masks * (re + 1j * im)) / re.shape[0]
        return xp.sum((xp.abs(light) - d.measured) ** 2) / 2

    def ours(self, d: Data, re: Any, im: Any) -> Any:
        return self.formula(ag, d, re, im)

    def torch(self, d: Data, re: Any, im: Any) -> Any:
        light = torch.fft.fft2(d.masks * torch.complex(re, im), norm="ortho")
        return ((light.abs() - d.measured) ** 2).sum() / 2


ROWS: list[Row] = [WaveEquation(), PhaseRetrieval()]
