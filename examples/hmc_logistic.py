"""Bayesian logistic regression by Hamiltonian Monte Carlo, on scikit-learn's breast cancer data.

The potential energy is minus the log posterior, written in plain NumPy; its gradient comes from
`ag.value_and_grad`.  All chains run side by side as rows of one array.

    python examples/hmc_logistic.py
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import autograd_gpu as ag

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--warm-up", type=int, default=300)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--leaps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def load():
    """Standardised features with a column of ones, and labels ±1; for training and testing."""
    data = load_breast_cancer()
    split = train_test_split(
        data.data, 2.0 * data.target - 1, test_size=0.3, random_state=0, stratify=data.target
    )
    train, test = split[:2]
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    for i, x in enumerate((train, test)):
        split[i] = np.column_stack([np.ones(len(x)), (x - mean) / deviation])
    return (*split, ["(constant)", *data.feature_names])


def energies(weights, x, y):
    """Minus the log posterior of each row of weights, whose prior is normal, up to a constant."""
    margins = y[:, None] * (x @ weights.T)  # [rows of x, chains]
    return np.sum(np.logaddexp(0, -margins), axis=0) + np.sum(weights**2, axis=1) / 2


def sample(energy, start, rng, warm_up: int, draws: int, leaps: int):
    """Draws [draws, chains, weights], the mean rate of acceptance and the final step size."""
    # chains do not meet in the sum, so its gradient has that of each
    slope = ag.grad(lambda q: np.sum(energy(q)))
    q, size = start, 0.05
    kept, rates = [], []
    progress = tqdm(range(warm_up + draws), unit="step")
    for i in progress:
        p = rng.standard_normal(q.shape)
        before = energy(q) + np.sum(p**2, axis=1) / 2
        step = size * rng.uniform(0.8, 1.2)  # so that no orbit closes
        moved = q
        p = p - step / 2 * slope(moved)
        for leap in range(leaps):
            moved = moved + step * p
            p = p - (step if leap < leaps - 1 else step / 2) * slope(moved)
        after = energy(moved) + np.sum(p**2, axis=1) / 2
        chance = np.exp(np.minimum(0, before - after))
        q = np.where((rng.random(len(q)) < chance)[:, None], moved, q)
        if i < warm_up:  # towards four acceptances out of five
            size *= np.exp((chance.mean() - 0.8) / (1 + i) ** 0.6)
        else:
            kept.append(q)
            rates.append(chance.mean())
        if i % 20 == 0:
            progress.set_postfix(size=f"{size:.3f}", acceptance=f"{chance.mean():.2f}")
    return np.stack(kept), np.mean(rates), size


def r_hat(draws: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's ratio for each weight, of halves of chains: near 1 if they agree."""
    half = len(draws) // 2
    halves = np.concatenate([draws[:half], draws[half : 2 * half]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    between = halves.mean(axis=0).var(axis=0, ddof=1)
    return np.sqrt((half - 1) / half + between / within)


def main() -> None:
    args = arguments()
    ag.set_backend("numpy")
    x, x_test, y, y_test, names = load()
    rng = np.random.default_rng(0)
    clock = time.perf_counter()
    draws, rate, size = sample(
        lambda weights: energies(weights, x, y),
        0.1 * rng.standard_normal((args.chains, x.shape[1])),
        rng,
        args.warm_up,
        args.draws,
        args.leaps,
    )
    seconds = time.perf_counter() - clock
    weights = draws.reshape(-1, x.shape[1])
    benign = (1 / (1 + np.exp(-x_test @ weights.T))).mean(axis=1)  # averaged over the posterior
    right = np.mean((benign > 0.5) == (y_test > 0))
    log_loss = -np.mean(np.log(np.where(y_test > 0, benign, 1 - benign)))
    print(f"{args.chains} chains of {args.draws} draws in {seconds:.0f} s, step {size:.3f}")
    print(f"acceptance {rate:.2f}, largest R-hat {r_hat(draws).max():.3f}")
    print(f"test accuracy {right:.2%}, log loss {log_loss:.3f} on {len(y_test)} unseen patients")
    draw(draws, weights, names, args.out)


def draw(draws, weights, names, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.5), layout="constrained")
    order = np.argsort(weights.mean(axis=0))
    low, middle, high = np.quantile(weights, [0.05, 0.5, 0.95], axis=0)[:, order]
    left.hlines(range(len(order)), low, high, color="tab:gray")
    left.plot(middle, range(len(order)), "o", ms=4)
    left.axvline(0, lw=0.5, color="black")
    left.set_yticks(range(len(order)), [names[i] for i in order], fontsize=7)
    left.set(title="weights: medians and 90 % of the posterior", xlabel="towards benign")
    right.plot(draws[:, :, order[0]], lw=0.4)
    right.set(title=f"chains of '{names[order[0]]}'", xlabel="draw")
    picture = out / "hmc_logistic.png"
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
