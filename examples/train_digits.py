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
    ag.manual_seed(args.seed)
    train_images, test_images, train_labels, test_labels = load(args.seed)
    test_images, test_labels = (
        ag.Variable(x).to(ag.get_backend()) for x in (test_images, test_labels)
    )
    batches = ag.data.Batches(
        train_images, train_labels, batch_size=args.batch, seed=args.seed, prefetch=2
    )
    model = build()
    optimizer = ag.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    n = len(train_images)
    schedule = ag.optim.CosineAnnealingLR(optimizer, args.epochs * len(batches))

    args.out.mkdir(parents=True, exist_ok=True)
    log = ag.data.Log(args.out / "digits.jsonl", upto={"epoch": 0})
    losses, accuracies = [], []
    start = time.perf_counter()
    progress = tqdm(range(args.epochs), unit="epoch", desc=f"training on {ag.get_backend()}")
    for epoch in progress:
        total = 0.0
        for images, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            total = total + loss.detach() * len(images)  # stays on the device: nothing waits
        losses.append(total.item() / n)
        accuracies.append(accuracy(model, test_images, test_labels))
        log.write(epoch=epoch + 1, loss=losses[-1], accuracy=accuracies[-1])
        rate = (epoch + 1) * n / (time.perf_counter() - start)
        progress.set_postfix(
            loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.2%}", images=f"{rate:.0f}/s"
        )
    seconds = time.perf_counter() - start

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
