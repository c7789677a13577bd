"""Ultrasound tomography: the speed of sound inside a body, from what sensors around it heard.

Each of a ring of sources sends a pulse through the body.  A few hundred steps of a wave solver
predict what the sensors hear for a guessed map of the speed of sound; SciPy's L-BFGS looks for the
map that explains it best, with the gradient from a backward through all steps.  `ag.checkpoint`
keeps one state per segment of steps, not the intermediate results of every step.

    python examples/wave_inversion.py
"""

import argparse
import time
import tracemalloc
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.optimize import minimize
from tqdm import tqdm

import autograd_gpu as ag

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--size", type=int, default=80, help="points along each side")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--steps", type=int, default=300, help="of the wave solver")
    parser.add_argument("--segment", type=int, default=20, help="steps between kept states")
    parser.add_argument("--iterations", type=int, default=25, help="of the minimiser")
    parser.add_argument("--noise", type=float, default=0.02, help="relative to the signal's rms")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


class Tank:
    """A square of side 2 whose margins absorb, with rings of sources and sensors.

    The speed of sound is 1 outside the body; a field of relative deviations says what it is inside.
    """

    def __init__(self, size: int, sources: int, steps: int) -> None:
        axis = np.linspace(-1, 1, size)
        self.x, self.y = np.meshgrid(axis, axis, indexing="ij")
        self.body = self.x**2 + self.y**2 < 0.65**2
        self.spacing = 2 / (size - 1)
        self.dt = 0.5 * self.spacing
        depth = np.maximum(0, np.maximum(abs(self.x), abs(self.y)) - 0.8) / 0.2
        self.damping = np.exp(-15 * self.dt * depth**2)
        self.sensors = self.ring(60)
        self.source = np.zeros((sources, size, size))
        self.source[np.arange(sources), *self.ring(sources)] = 1
        t = (self.dt * np.arange(steps) - 0.5) * np.pi * 2.5
        self.pulse = (1 - 2 * t**2) * np.exp(-(t**2))  # Ricker's, of frequency 2.5

    def ring(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of `n` points on a circle around the body."""
        angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
        rows, columns = np.rint(
            (np.stack([np.cos(angles), np.sin(angles)]) * 0.75 + 1) / self.spacing
        )
        return rows.astype(int), columns.astype(int)

    def run(self, courant, now, before, steps: range):
        """Leapfrog; returns the last two states [sources, x, y], and what the sensors heard."""
        heard = []
        for step in steps:
            v = ag.pad(now, ((0, 0), (1, 1), (1, 1)))
            neighbours = v[:, 2:, 1:-1] + v[:, :-2, 1:-1] + v[:, 1:-1, 2:] + v[:, 1:-1, :-2]
            after = now + self.damping * (now - before) + courant * (neighbours - 4 * now)
            before, now = now, self.damping * after + self.pulse[step] * self.source
            heard.append(now[:, *self.sensors])
        return now, before, ag.stack(heard)

    def hear(self, deviation, segment: int):
        """The pressures [steps, sources, sensors]; `segment` = 0 is without checkpoints."""
        courant = ((1 + deviation) * self.dt / self.spacing) ** 2
        steps = range(len(self.pulse))
        now = before = np.zeros(self.source.shape)
        if not segment:
            return self.run(courant, now, before, steps)[-1]
        heard = []
        for first in steps[::segment]:
            part = steps[first : first + segment]
            now, before, pressures = ag.checkpoint(self.run, courant, now, before, part)
            heard.append(pressures)
        return ag.concat(heard)


def phantom(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Relative deviations of the speed of sound: fat, a fast and a slow lump, and a ring."""

    def blob(x0, y0, radius, value):
        distance = np.hypot(x - x0, y - y0)
        return value / (1 + np.exp((distance - radius) / 0.02))

    ring = blob(-0.25, -0.2, 0.2, 0.1) - blob(-0.25, -0.2, 0.1, 0.1)
    return (
        blob(0, 0, 0.55, -0.03) + blob(0.2, 0.25, 0.15, 0.1) + blob(0.25, -0.2, 0.1, -0.08) + ring
    )


def memory_of(f, x) -> float:
    """The peak, in megabytes, of what one gradient allocates."""
    tracemalloc.start()
    f(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    args = arguments()
    ag.set_backend("numpy")  # SciPy works on the host
    tank = Tank(args.size, args.sources, args.steps)
    true = phantom(tank.x, tank.y)
    heard = tank.hear(ag.Variable(true), 0).numpy()
    rms = np.sqrt(np.mean(heard**2))
    heard = heard + args.noise * rms * np.random.default_rng(0).standard_normal(heard.shape)
    unit = 0.02 * rms  # of deviations

    def misfit(inside, segment: int = args.segment):
        """Half the squared deviations, and a little for roughness, which noise would cause."""
        field = ag.set_at(np.zeros(true.shape), tank.body, inside)
        deviations = (tank.hear(field, segment) - heard) / unit
        roughness = ag.sum(np.diff(field, axis=0) ** 2) + ag.sum(np.diff(field, axis=1) ** 2)
        return ag.sum(deviations**2) / 2 + 3e4 * roughness

    zero = np.zeros(np.count_nonzero(tank.body))
    whole = memory_of(ag.grad(lambda inside: misfit(inside, 0)), zero)
    segments = memory_of(ag.grad(misfit), zero)

    misfits: list[float] = []
    start = time.perf_counter()
    with tqdm(total=args.iterations, unit="iteration") as progress:

        def note(intermediate_result) -> None:
            misfits.append(intermediate_result.fun)
            progress.set_postfix(misfit=f"{misfits[-1]:.4g}")
            progress.update()

        fit = minimize(
            ag.value_and_grad(misfit),
            zero,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-0.2, 0.2)] * len(zero),  # where the solver is stable
            options={"maxiter": args.iterations},
            callback=note,
        )
    found = np.zeros(true.shape)
    found[tank.body] = fit.x
    error = np.linalg.norm(found - true) / np.linalg.norm(true)
    print(f"{args.size} x {args.size} points, {args.sources} sources, {args.steps} steps, ", end="")
    print(f"{args.noise:.0%} noise, {fit.nfev} gradients in {time.perf_counter() - start:.0f} s")
    print(
        f"misfit: from {misfits[0]:.3g} to {misfits[-1]:.3g}, {heard.size / 2:.3g} is noise alone"
    )
    print(f"relative error of the map: {error:.3f}")
    print(f"memory of a gradient: {segments:.0f} MB with checkpoints, {whole:.0f} MB without")
    draw(tank, true, heard, found, misfits, args.out)


def draw(tank, true, heard, found, misfits, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.2), layout="constrained")
    for panel, field, title in ((axes[0], true, "true"), (axes[2], found, "found")):
        image = panel.imshow(1 + field.T, origin="lower", extent=(-1, 1, -1, 1), cmap="viridis")
        image.set_clim(1 + true.min(), 1 + true.max())
        panel.set(title=f"speed of sound, {title}")
    figure.colorbar(image, ax=axes[2])
    axes[0].plot(tank.x[tank.sensors], tank.y[tank.sensors], ".", ms=2, color="tab:red")
    axes[1].imshow(heard[:, 0], aspect="auto", cmap="RdBu")
    axes[1].set(xlabel="sensor", ylabel="time step", title="heard of one pulse")
    axes[3].semilogy(misfits)
    axes[3].set(xlabel="iteration", title="misfit")
    picture = out / "wave_inversion.png"
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
