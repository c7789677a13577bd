"""A variational autoencoder of scikit-learn's handwritten digits, out of convolutions.

The encoder gives each image a normal distribution of 8 numbers, the decoder images for numbers.
Draws digits, their reconstructions, digits that nobody wrote, and the learning curve.

    python examples/autoencoder.py
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

LATENT = 8


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", choices=["auto", "numpy", "cupy"], default="auto")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


class Enlarge(nn.Module):
    """Every pixel twice in both directions."""

    def forward(self, x):
        return ag.repeat(ag.repeat(x, 2, axis=2), 2, axis=3)


class Reshape(nn.Module):
    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(-1, *self.shape)


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2, padding=1),  # 4 x 4 are left
            nn.SiLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),  # 2 x 2
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(256, 2 * LATENT),
        )
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, 256),
            nn.SiLU(),
            Reshape(64, 2, 2),
            Enlarge(),
            nn.Conv2d(64, 32, 3, padding=1),
            nn.SiLU(),
            Enlarge(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(32, 1, 3, padding=1),  # the logits of the pixels
        )

    def loss(self, images, noise):
        """Minus the evidence lower bound and its part from the pixels, nats per image."""
        mean, log_variance = ag.split(self.encoder(images), 2, axis=1)
        logits = self.decoder(mean + ag.exp(log_variance / 2) * noise)
        pixels = nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        divergence = ag.sum(mean**2 + ag.exp(log_variance) - 1 - log_variance) / 2
        return (pixels + divergence) / len(images), pixels / len(images)


def normal(generator: ag.Generator, n: int) -> ag.Variable:
    numbers = generator.normal((n, LATENT)).astype(np.float32)
    return ag.Variable(numbers).to(ag.get_backend())


def main() -> None:
    args = arguments()
    ag.set_backend(args.backend)
    generator = ag.manual_seed(args.seed)
    images = (load_digits().images[:, None] / 16).astype(np.float32)
    train, test = train_test_split(images, test_size=0.2, random_state=args.seed)
    held_out = ag.Variable(test).to(ag.get_backend())
    batches = ag.data.Batches(train, batch_size=args.batch, seed=args.seed, prefetch=2)
    model = VAE()
    optimizer = ag.optim.Adam(model.parameters(), lr=2e-3)
    args.out.mkdir(parents=True, exist_ok=True)
    log = ag.data.Log(args.out / "autoencoder.jsonl", upto={"epoch": 0})

    start = time.perf_counter()
    progress = tqdm(range(args.epochs), unit="epoch", desc=f"training on {ag.get_backend()}")
    for epoch in progress:
        total = 0.0
        for batch in batches:
            loss, _ = model.loss(batch, normal(generator, len(batch)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = total + loss.detach() * len(batch)  # stays on the device: nothing waits
        with ag.no_grad():
            unseen, pixels = model.loss(held_out, normal(generator, len(test)))
        entry = {"train": total.item() / len(train), "test": unseen.item(), "pixels": pixels.item()}
        log.write(epoch=epoch + 1, **entry)
        rate = (epoch + 1) * len(train) / (time.perf_counter() - start)
        progress.set_postfix(loss=f"{entry['test']:.2f}", images=f"{rate:.0f}/s")

    with ag.no_grad():
        mean = model.encoder(held_out)[:, :LATENT]
        again = ag.sigmoid(model.decoder(mean)).numpy()
        new = ag.sigmoid(model.decoder(normal(generator, 10))).numpy()
    error = np.sqrt(np.mean((again - test) ** 2))
    blank = np.sqrt(np.mean((train.mean(0) - test) ** 2))
    seconds = time.perf_counter() - start
    print(f"{args.epochs} epochs of {len(train)} images in {seconds:.0f} s")
    print(f"unseen digits: {entry['test']:.2f} nats per image")
    print(f"error of a pixel: {error:.3f} of the full range; {blank:.3f} for the mean image")
    draw(test, again, new, ag.data.read_log(log.path), args.out / "autoencoder.png")


def draw(test, again, new, entries, picture: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
    framed = [np.pad(x[:10, 0], ((0, 0), (1, 1), (1, 1))) for x in (test, again, new)]
    rows = [np.concatenate(list(x), axis=1) for x in framed]
    left.imshow(np.concatenate(rows), cmap="gray_r", vmin=0, vmax=1)
    left.set_yticks([4.5, 14.5, 24.5], ["digits", "decoded", "invented"])
    left.set_xticks([])
    epochs = [entry["epoch"] for entry in entries]
    for name in ("train", "test"):
        right.plot(epochs, [entry[name] for entry in entries], label=name)
    right.set(xlabel="epoch", ylabel="nats per image")
    right.legend()
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
