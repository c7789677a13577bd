"""Ops as a user writes them."""

import numpy as np

from autograd_gpu.function import Function


class Cube(Function):
    """Saves its input."""

    def forward(self, x, *, scale=1.0):
        self.save(x)
        self.scale = scale
        return scale * x**3

    def backward(self, g):
        (x,) = self.saved
        return 3 * self.scale * g * x * x


class Exp(Function):
    """Saves its output."""

    def forward(self, x):
        y = np.exp(x)
        self.save(y)
        return y

    def backward(self, g):
        (y,) = self.saved
        return g * y


class Product(Function):
    """Two inputs; keeps only what is needed."""

    def forward(self, a, b):
        self.save(a if self.needs_input_grad[1] else None, b if self.needs_input_grad[0] else None)
        return a * b

    def backward(self, g):
        a, b = self.saved
        return (
            g * b if self.needs_input_grad[0] else None,
            g * a if self.needs_input_grad[1] else None,
        )


class Pair(Function):
    """Two outputs, both saved."""

    def forward(self, x, y):
        outputs = np.tanh(x), np.tanh(y)
        self.save(*outputs)
        return outputs

    def backward(self, g):
        a, b = self.saved
        return g[0] * (1 - a * a), g[1] * (1 - b * b)


class PlainSquare(Function):
    """Keeps its input as a member."""

    def forward(self, x):
        self.x = x
        return x * x

    def backward(self, g):
        return 2 * self.x * g
