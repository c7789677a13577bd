"""Train a small convolutional network on scikit-learn's handwritten digits.

The same lines run on an NVIDIA GPU and on a laptop: only the backend differs.  Prints the accuracy
on digits that the network has not seen, and draws the learning curve into examples/out/.

    python examples/train_digits.py --epochs 15
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import autograd_gpu as ag
from autograd_gpu import nn

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", choices=["auto", "numpy", "cupy"], default="auto")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def load(seed: int) -> list[np.ndarray]:
    """Images [N, 1, 8, 8] in [0, 1] and labels, for training and for testing."""
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    return train_test_split(
        images, digits.target, test_size=0.2, random_state=seed, stratify=digits.target
    )


def build() -> nn.Module:
    return nn.Sequential(
        *block(1, 16),
        *block(16, 16),
        nn.MaxPool2d(2),  # 4 x 4 are left
        *block(16, 32),
        nn.MaxPool2d(2),  # 2 x 2
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(128, 10),
    )


def block(channels: int, more: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, more, 3, padding=1), nn.BatchNorm2d(more), nn.ReLU()]


def accuracy(model: nn.Module, images: ag.Variable, labels: ag.Variable) -> float:
    model.eval()
    with ag.no_grad():
        guesses = model(images).argmax(axis=1)
        result = ag.mean((guesses == labels).astype("float32")).item()
    model.train()
    return result


def main() -> None:
    args = arguments()
    ag.set_backend(args.backend)
    generator = ag.manual_seed(args.seed)
    train_images, test_images, train_labels, test_labels = (
        ag.Variable(x).to(ag.get_backend()) for x in load(args.seed)
    )
    model = build()
    optimizer = ag.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    n = len(train_images)
    steps = -(-n // args.batch)
    schedule = ag.optim.CosineAnnealingLR(optimizer, args.epochs * steps)

    losses, accuracies = [], []
    start = time.perf_counter()
    progress = tqdm(range(args.epochs), unit="epoch", desc=f"training on {ag.get_backend()}")
    for _ in progress:
        order = ag.Variable(generator.permutation(n)).to(ag.get_backend())
        total = 0.0
        for i in range(0, n, args.batch):
            batch = order[i : i + args.batch]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(train_images[batch]), train_labels[batch])
            loss.backward()
            optimizer.step()
            schedule.step()
            total = total + loss.detach() * len(batch)  # stays on the device: nothing waits
        losses.append(total.item() / n)
        accuracies.append(accuracy(model, test_images, test_labels))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.2%}")
    seconds = time.perf_counter() - start

    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "digits.png"
    draw(losses, accuracies, picture)
    count = sum(x.size for x in model.parameters())
    print(f"{count} parameters, {args.epochs} epochs of {n} images in {seconds:.1f} s")
    print(f"test accuracy: {accuracies[-1]:.2%}")
    print(f"learning curve: {picture}")


def draw(losses: list[float], accuracies: list[float], picture: Path) -> None:
    figure, left = plt.subplots(figsize=(6, 4), layout="constrained")
    right = left.twinx()
    epochs = range(1, len(losses) + 1)
    left.semilogy(epochs, losses, color="tab:blue")
    left.set(xlabel="epoch")
    left.set_ylabel("training loss", color="tab:blue")
    right.plot(epochs, [100 * a for a in accuracies], color="tab:orange")
    right.set_ylabel("test accuracy, %", color="tab:orange")
    figure.savefig(picture, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
