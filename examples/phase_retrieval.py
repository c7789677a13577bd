"""Phase retrieval: a complex image from the brightness of its diffraction patterns.

A detector sees |F(mask z)|², not the phase of the light.  With a few known random phase masks in
the beam, gradient descent finds z: the gradient of a real loss with respect to a complex Variable
is such that `z - rate * gradient` descends.  The image is of scikit-learn's photographs, one as the
amplitude and one as the phase.

    python examples/phase_retrieval.py
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_sample_image
from tqdm import tqdm

import autograd_gpu as ag

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", choices=["auto", "numpy", "cupy"], default="auto")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--masks", type=int, default=6)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--photons", type=float, default=1e4, help="per pixel and pattern")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def photograph(name: str, size: int) -> np.ndarray:
    """The middle of a photograph [size, size] in grey, from 0 to 1."""
    grey = load_sample_image(name).mean(axis=2) / 255
    step = min(grey.shape) // size
    rows, columns = ((n - size * step) // 2 for n in grey.shape)
    middle = grey[rows : rows + size * step, columns : columns + size * step]
    return middle.reshape(size, step, size, step).mean(axis=(1, 3))


def patterns(z, masks):
    """The amplitudes on the detector, [masks, size, size]."""
    return ag.abs(ag.fft.fft2(masks * z, norm="ortho"))


def distance(z: np.ndarray, true: np.ndarray) -> float:
    """Relative, after the best common phase, which no detector sees."""
    phase = np.vdot(z, true)
    return float(np.linalg.norm(z * phase / abs(phase) - true) / np.linalg.norm(true))


def main() -> None:
    args = arguments()
    ag.set_backend(args.backend)
    rng = np.random.default_rng(0)
    phase = np.pi * (photograph("flower.jpg", args.size) - 0.5)
    true = (0.2 + photograph("china.jpg", args.size)) * np.exp(1j * phase)
    masks = np.exp(2j * np.pi * rng.random((args.masks, args.size, args.size)))
    light = np.abs(np.fft.fft2(masks * true, norm="ortho")) ** 2
    unit = args.photons / light.mean()
    measured = np.sqrt(rng.poisson(unit * light) / unit)  # with the noise of counting

    start = rng.standard_normal(true.shape) + 1j * rng.standard_normal(true.shape)
    z, before, masks, measured = (
        ag.Variable(x).to(ag.get_backend()).value for x in (start, start, masks, measured)
    )

    def loss(z):
        return ag.sum((patterns(z, masks) - measured) ** 2) / 2

    descend = ag.value_and_grad(loss)
    losses = []
    clock = time.perf_counter()
    progress = tqdm(range(args.steps), unit="step", desc=f"on {ag.get_backend()}")
    for step in progress:
        # Nesterov's way: look ahead, then descend; 1 / masks is the inverse of the curvature
        ahead = z + step / (step + 3) * (z - before)
        value, gradient = descend(ahead)
        before, z = z, ahead - gradient / args.masks
        losses.append(value)
        if step % 20 == 0:
            progress.set_postfix(loss=f"{float(value):.3g}")
    seconds = time.perf_counter() - clock

    losses = [float(value) for value in losses]
    found = ag.Variable(z).numpy()
    print(
        f"{args.masks} patterns of {args.size} x {args.size}, {args.steps} steps, {seconds:.1f} s"
    )
    print(f"relative error: {distance(start, true):.3f} at first, {distance(found, true):.2e} now")

    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "phase_retrieval.png"
    found = found * np.exp(1j * np.angle(np.vdot(found, true)))
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
    axes[0].imshow(np.log1p(ag.Variable(measured[0]).numpy()), cmap="magma")
    axes[0].set_title("one of the patterns")
    axes[1].imshow(np.abs(found), cmap="gray")
    axes[1].set_title("amplitude found")
    axes[2].imshow(np.angle(found), cmap="twilight")
    axes[2].set_title("phase found")
    for panel in axes[:3]:
        panel.set_axis_off()
    axes[3].semilogy(losses)
    axes[3].set(xlabel="step", title="loss")
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
