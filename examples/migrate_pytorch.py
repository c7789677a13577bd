"""From PyTorch to autograd_gpu: one script before and after, which prints the same numbers.

The script trains a small network on scikit-learn's digits with Adam, in double precision and from
the same initial weights, which are PyTorch's and load by name.  Without PyTorch installed
(`pip install torch`) only the part after runs, from weights of its own.

    python examples/migrate_pytorch.py
"""

import argparse
import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def data():
    """Images [N, 1, 8, 8] and labels."""
    digits = load_digits()
    return digits.images[:, None] / 16, digits.target


def before(steps: int):
    """The script as it was, with PyTorch; the initial weights, the losses and the logits."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    images, labels = (torch.from_numpy(x) for x in data())
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(128),
        nn.Linear(128, 10),
    ).double()
    initial = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        batch = slice(step * 100 % 1700, step * 100 % 1700 + 100)
        loss = F.cross_entropy(model(images[batch]), labels[batch], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return initial, losses, model(images).numpy()


def after(steps: int, initial):
    """The same with autograd_gpu: other imports, no `from_numpy`, and dtypes named as NumPy's."""
    import autograd_gpu as ag
    from autograd_gpu import nn
    from autograd_gpu.nn import functional as F

    images, labels = data()
    ag.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(128),
        nn.Linear(128, 10),
    ).to("float64")
    if initial is not None:
        model.load_state_dict(initial)
    optimizer = ag.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        batch = slice(step * 100 % 1700, step * 100 % 1700 + 100)
        loss = F.cross_entropy(model(images[batch]), labels[batch], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        ag.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    with ag.no_grad():
        return losses, model(images).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    args = parser.parse_args()

    initial = reference = None
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed, so there is nothing to compare: pip install torch")
    else:
        initial, reference, their_logits = before(args.steps)
    losses, logits = after(args.steps, initial)
    accuracy = np.mean(logits.argmax(axis=1) == data()[1])
    print(f"autograd_gpu: loss {losses[0]:.6f} at first, {losses[-1]:.6f} after {args.steps} steps")
    print(f"accuracy on these digits: {accuracy:.2%}")
    if reference is not None:
        print(f"PyTorch:      loss {reference[0]:.6f} at first, {reference[-1]:.6f}")
        distance = np.max(np.abs(np.array(losses) / reference - 1))
        print(f"largest relative difference of a loss on the way: {distance:.1e}")
        print(f"largest difference of a logit in the end: {np.max(abs(logits - their_logits)):.1e}")

    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "migrate_pytorch.png"
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    if reference is not None:
        axes.plot(reference, lw=4, alpha=0.4, label="PyTorch")
    axes.plot(losses, lw=1, label="autograd_gpu")
    axes.set(xlabel="step", ylabel="loss")
    axes.legend()
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
