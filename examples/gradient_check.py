"""Compare derivatives with central differences: a right one, a wrong one, a whole network.

python examples/gradient_check.py
"""

import numpy as np

import autograd_gpu as ag
from autograd_gpu import nn


class WrongSine(ag.Function):
    """sin(x) whose author forgot that the derivative of sin is cos."""

    def forward(self, x):
        self.save(x)
        return np.sin(x)

    def backward(self, g):
        (x,) = self.saved
        return g * ag.sin(x) if isinstance(x, ag.Variable) else g * np.sin(x)


def rosenbrock(x: ag.Variable) -> ag.Variable:
    return ag.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def main() -> None:
    x = np.array([0.3, -0.7, 1.2])
    print("Rosenbrock's function, first order: ", ag.grad_check(rosenbrock, [x]))
    print("Rosenbrock's function, second order:", ag.grad_check(rosenbrock, [x], order=2))

    try:
        ag.grad_check(WrongSine.apply, [x])
    except ag.GradCheckError as error:
        print("the wrong derivative is found:", error)

    # The parameters of a network are not arguments of a function; they are checked where they are.
    ag.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 2))
    images = np.random.default_rng(0).standard_normal((4, 3))

    def loss() -> ag.Variable:
        return nn.functional.cross_entropy(model(images), [0, 1, 1, 0])

    parameters = list(model.parameters())
    print(
        f"a network with {sum(p.size for p in parameters)} parameters:",
        ag.grad_check_variables(loss, parameters),
    )


if __name__ == "__main__":
    main()
