"""Fit a damped oscillator to noisy data: SciPy minimises, autograd_gpu supplies the gradient.

The model is plain NumPy: `np.exp` and `np.cos` of a Variable are recorded.  The Hessian at the
minimum gives the errors of the parameters.  Draws the fit into examples/out/.

    python examples/fit_a_physical_model.py
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.optimize import minimize

import autograd_gpu as ag

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt

NAMES = ["amplitude", "damping", "frequency", "phase"]
TRUE = np.array([1.5, 0.25, 2.8, 0.4])
NOISE = 0.1


def position(parameters, t):
    """A exp(-γ t) cos(ω t + φ)."""
    amplitude, damping, frequency, phase = parameters
    return amplitude * np.exp(-damping * t) * np.cos(frequency * t + phase)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    args = parser.parse_args()
    ag.set_backend("numpy")  # SciPy works on the host

    t = np.linspace(0, 10, args.points)
    data = position(TRUE, t) + NOISE * np.random.default_rng(0).standard_normal(t.size)

    def chi2(parameters):
        """Half the sum of the squared deviations, in units of the noise."""
        return np.sum(((position(parameters, t) - data) / NOISE) ** 2) / 2

    start = np.array([1.0, 0.1, 2.5, 0.0])
    fit = minimize(ag.value_and_grad(chi2), start, jac=True, method="BFGS")
    errors = np.sqrt(np.diag(np.linalg.inv(ag.hessian(chi2)(fit.x))))

    print(f"{args.points} points, {fit.nit} steps, chi² per degree of freedom ", end="")
    print(f"{2 * fit.fun / (t.size - len(TRUE)):.3f}")
    for name, value, error, true in zip(NAMES, fit.x, errors, TRUE, strict=True):
        print(f"{name:>9} = {value:.4f} ± {error:.4f}   (true: {true})")

    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "oscillator.png"
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.errorbar(t, data, NOISE, fmt=".", color="tab:gray", alpha=0.5, label="data")
    axes.plot(t, position(fit.x, t), color="tab:orange", label="fit")
    axes.set(xlabel="time, s", ylabel="position, m")
    axes.legend()
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
