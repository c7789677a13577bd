"""From HIPS autograd to autograd_gpu: one script before and after, which prints the same numbers.

The script fits a small network of tanh units to a noisy curve with its own gradient descent.
Two lines change, the imports: NumPy itself instead of autograd's, and `value_and_grad` from here.
Without autograd installed (`pip install autograd`) only the part after runs.

    python examples/migrate_autograd.py
"""

import argparse
import importlib.util
import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as onp

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def data():
    """Inputs and noisy targets."""
    rng = onp.random.RandomState(0)
    x = onp.linspace(-3, 3, 60)[:, None]
    return x, onp.sin(2 * x) * onp.exp(-(x**2) / 8) + 0.05 * rng.randn(*x.shape)


def initial():
    """Weights and biases of two hidden layers of 20 units."""
    rng = onp.random.RandomState(1)
    sizes = [1, 20, 20, 1]
    return [
        (rng.randn(m, n) / onp.sqrt(m), 0.5 * rng.randn(n)) for m, n in itertools.pairwise(sizes)
    ]


def before(steps: int):
    """The script as it was, with HIPS autograd."""
    import autograd.numpy as np
    from autograd import value_and_grad

    x, y = data()

    def predict(layers, inputs):
        for weight, bias in layers[:-1]:
            inputs = np.tanh(np.dot(inputs, weight) + bias)
        weight, bias = layers[-1]
        return np.dot(inputs, weight) + bias

    def loss(layers):
        return np.mean((predict(layers, x) - y) ** 2)

    layers, losses = initial(), []
    step = value_and_grad(loss)
    for _ in range(steps):
        value, slopes = step(layers)
        losses.append(float(value))
        layers = [
            (w - 0.05 * dw, b - 0.05 * db) for (w, b), (dw, db) in zip(layers, slopes, strict=True)
        ]
    return losses, predict(layers, x)


def after(steps: int):
    """The same with autograd_gpu: NumPy itself, and `value_and_grad` from here."""
    import numpy as np

    from autograd_gpu import value_and_grad

    x, y = data()

    def predict(layers, inputs):
        for weight, bias in layers[:-1]:
            inputs = np.tanh(np.dot(inputs, weight) + bias)
        weight, bias = layers[-1]
        return np.dot(inputs, weight) + bias

    def loss(layers):
        return np.mean((predict(layers, x) - y) ** 2)

    layers, losses = initial(), []
    step = value_and_grad(loss)
    for _ in range(steps):
        value, slopes = step(layers)
        losses.append(float(value))
        layers = [
            (w - 0.05 * dw, b - 0.05 * db) for (w, b), (dw, db) in zip(layers, slopes, strict=True)
        ]
    return losses, predict(layers, x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    args = parser.parse_args()

    losses, curve = after(args.steps)
    print(f"autograd_gpu: loss {losses[0]:.6f} at first, {losses[-1]:.6f} after {args.steps} steps")
    if importlib.util.find_spec("autograd") is None:
        print("autograd is not installed, so there is nothing to compare: pip install autograd")
    else:
        reference, _ = before(args.steps)
        print(f"HIPS autograd: loss {reference[0]:.6f} at first, {reference[-1]:.6f}")
        distance = onp.max(onp.abs(onp.array(losses) / reference - 1))
        print(f"largest relative difference of a loss on the way: {distance:.1e}")

    x, y = data()
    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "migrate_autograd.png"
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(x, y, ".", color="tab:gray", label="data")
    axes.plot(x, curve, color="tab:orange", label="fit")
    axes.legend()
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
