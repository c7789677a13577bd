"""The same function on every backend of this machine, and an array moved from one to another.

python examples/switch_backends.py
"""

import numpy as np

import autograd_gpu as ag


def energy(positions: ag.Variable) -> ag.Variable:
    """The Lennard-Jones energy of particles at `positions` [N, 3]."""
    difference = positions[:, None] - positions[None]
    # a particle's distance from itself does not count: it is made large
    distance2 = ag.sum(difference**2, axis=-1) + 1e6 * ag.eye(len(positions), dtype="float64")
    inverse6 = distance2**-3
    return 2 * ag.sum(inverse6**2 - inverse6)


def main() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    start = 1.1 * grid + 0.05 * np.random.default_rng(0).standard_normal(grid.shape)
    forces = {}
    for backend in ag.available_backends():
        with ag.use_backend(backend):
            positions = ag.Variable(start).to(backend).detach()
            positions.requires_grad = True
            e = energy(positions)
            e.backward()
            forces[backend] = -ag.Variable(positions.grad).numpy()  # .numpy() copies to the host
            print(
                f"{backend}: energy {e.item():.6f}, gradient is a {type(positions.grad).__module__}"
                f".{type(positions.grad).__name__} on {positions.device}"
            )
    if "cupy" in forces:
        difference = np.abs(forces["cupy"] - forces["numpy"]).max()
        print(f"largest difference of the forces: {difference:.2e}")
    else:
        print("CuPy sees no GPU here, so NumPy was the only backend")
    print(f"sum of all forces, which must be 0: {np.abs(forces['numpy'].sum(axis=0)).max():.2e}")


if __name__ == "__main__":
    main()
