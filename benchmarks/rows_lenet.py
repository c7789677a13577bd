"""LeNet on MNIST's shapes: convolution, pooling and a classifier, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from programs import Step, ag, torch
from rows import Data, Row, normal
from rows_mlp import log_softmax, uniform

SHAPES = {
    "w1": (6, 1, 5, 5),
    "b1": (6,),
    "w2": (16, 6, 5, 5),
    "b2": (16,),
    "w3": (120, 400),
    "b3": (120,),
    "w4": (84, 120),
    "b4": (84,),
    "w5": (10, 84),
    "b5": (10,),
}


def windows(x: np.ndarray) -> np.ndarray:
    """All 5x5 patches as columns: [N, C, H, W] to [N, C*25, (H-4)*(W-4)]."""
    n, c, h, w = x.shape
    patches = sliding_window_view(x, (5, 5), axis=(2, 3)).transpose(0, 1, 4, 5, 2, 3)
    return patches.reshape(n, c * 25, (h - 4) * (w - 4))


def windows_backward(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The transpose of `windows`: each patch is added where it came from."""
    n, c, h, w = shape
    g = g.reshape(n, c, 5, 5, h - 4, w - 4)
    grad = np.zeros(shape, g.dtype)
    for i in range(5):
        for j in range(5):
            grad[:, :, i : i + h - 4, j : j + w - 4] += g[:, :, i, j]
    return grad


def quarters(x: np.ndarray) -> list[np.ndarray]:
    """The four numbers of every 2x2 window, as views."""
    return [x[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]


def relu_pool(x: np.ndarray) -> np.ndarray:
    """relu and max pooling at once: they commute."""
    a, b, c, e = quarters(x)
    y = np.maximum(a, b)
    np.maximum(y, c, out=y)
    np.maximum(y, e, out=y)
    return np.maximum(y, 0, out=y)


def relu_pool_backward(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """To the largest of each window, where it is positive."""
    g = g * (y > 0)
    grad = np.empty_like(x)
    for source, target in zip(quarters(x), quarters(grad), strict=True):
        np.multiply(g, source == y, out=target)
    return grad


class LeNet(Row):
    name, family = "LeNet, 64x1x28x28", "networks, forward and backward"
    leaves = tuple(SHAPES)
    seconds = 0.25

    def data(self, rng: np.random.Generator, dtype: type, small: bool) -> Data:
        n = 2 if small else 64
        d = Data(x=normal(rng, dtype, n, 1, 28, 28), labels=rng.integers(0, 10, n))
        fan_in = 1
        for name, shape in SHAPES.items():
            fan_in = int(np.prod(shape[1:])) if name[0] == "w" else fan_in
            setattr(d, name, uniform(rng, dtype, fan_in, *shape))
        return d

    def by_hand(self, d: Data) -> Step:
        n = len(d.x)
        rows = np.arange(n)
        w1, w2 = d.w1.reshape(6, 25), d.w2.reshape(16, 150)
        padded = np.pad(d.x, ((0, 0), (0, 0), (2, 2), (2, 2)))

        def step() -> list[np.ndarray]:
            cols1 = windows(padded)
            y1 = (w1 @ cols1).reshape(n, 6, 28, 28)
            y1 += d.b1[:, None, None]
            p1 = relu_pool(y1)  # [N, 6, 14, 14]
            cols2 = windows(p1)
            y2 = (w2 @ cols2).reshape(n, 16, 10, 10)
            y2 += d.b2[:, None, None]
            p2 = relu_pool(y2)  # [N, 16, 5, 5]
            h2 = p2.reshape(n, 400)
            h3 = np.maximum(h2 @ d.w3.T + d.b3, 0)
            h4 = np.maximum(h3 @ d.w4.T + d.b4, 0)
            g5 = h4 @ d.w5.T + d.b5
            g5 -= g5.max(1, keepdims=True)
            np.exp(g5, out=g5)
            g5 /= g5.sum(1, keepdims=True)
            g5[rows, d.labels] -= 1
            g5 *= 1 / n
            g4 = (g5 @ d.w5) * (h4 > 0)
            g3 = (g4 @ d.w4) * (h3 > 0)
            g2 = relu_pool_backward((g3 @ d.w3).reshape(p2.shape), p2, y2).reshape(n, 16, 100)
            gp1 = windows_backward(w2.T @ g2, p1.shape)
            g1 = relu_pool_backward(gp1, p1, y1).reshape(n, 6, 784)
            return [
                *((g1 @ cols1.mT).sum(0).reshape(d.w1.shape), g1.sum((0, 2))),
                *((g2 @ cols2.mT).sum(0).reshape(d.w2.shape), g2.sum((0, 2))),
                *(g3.T @ h2, g3.sum(0)),
                *(g4.T @ h3, g4.sum(0)),
                *(g5.T @ h4, g5.sum(0)),
            ]

        return step

    def ours(self, d: Data, *leaves: Any) -> Any:
        F = ag.nn.functional
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = leaves
        h = F.max_pool2d(F.relu(F.conv2d(d.x, w1, b1, padding=2)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, w2, b2)), 2)
        h = F.relu(F.linear(h.reshape(-1, 400), w3, b3))
        return F.cross_entropy(F.linear(F.relu(F.linear(h, w4, b4)), w5, b5), d.labels)

    def torch(self, d: Data, *leaves: Any) -> Any:
        F = torch.nn.functional
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = leaves
        h = F.max_pool2d(F.relu(F.conv2d(d.x, w1, b1, padding=2)), 2)
        h = F.max_pool2d(F.relu(F.conv2d(h, w2, b2)), 2)
        h = F.relu(F.linear(h.reshape(-1, 400), w3, b3))
        return F.cross_entropy(F.linear(F.relu(F.linear(h, w4, b4)), w5, b5), d.labels)

    def jax(self, xp: Any, d: Data, *leaves: Any) -> Any:
        from jax import lax

        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = leaves

        def block(x: Any, w: Any, b: Any, padding: int) -> Any:
            y = lax.conv_general_dilated(x, w, (1, 1), [(padding, padding)] * 2)
            y = xp.maximum(y + xp.reshape(b, (-1, 1, 1)), 0)
            return lax.reduce_window(y, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

        h = xp.reshape(block(block(d.x, w1, b1, 2), w2, b2, 0), (-1, 400))
        h = xp.maximum(h @ w3.T + b3, 0)
        z = log_softmax(xp, xp.maximum(h @ w4.T + b4, 0) @ w5.T + b5)
        return -xp.mean(z[np.arange(len(d.labels)), d.labels])

    def autograd(self, xp: Any, d: Data, *leaves: Any) -> Any:
        from autograd.scipy.signal import convolve

        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = leaves

        def conv(x: Any, w: Any, b: Any) -> Any:
            # convolve flips the kernel, the deep learning convention does not
            flipped = xp.transpose(w, (1, 0, 2, 3))[:, :, ::-1, ::-1]
            axes = ([2, 3], [2, 3])
            y = convolve(x, flipped, axes=axes, dot_axes=([1], [0]), mode="valid")
            return y + xp.reshape(b, (-1, 1, 1))

        def pool(x: Any) -> Any:
            n, c, h, w = x.shape
            return xp.max(xp.max(xp.reshape(x, (n, c, h // 2, 2, w // 2, 2)), axis=3), axis=4)

        x = np.pad(d.x, ((0, 0), (0, 0), (2, 2), (2, 2)))
        h = pool(xp.maximum(conv(x, w1, b1), 0))
        h = xp.reshape(pool(xp.maximum(conv(h, w2, b2), 0)), (-1, 400))
        h = xp.maximum(xp.dot(h, w3.T) + b3, 0)
        z = log_softmax(xp, xp.dot(xp.maximum(xp.dot(h, w4.T) + b4, 0), w5.T) + b5)
        return -xp.mean(z[np.arange(len(d.labels)), d.labels])

    def mygrad(self, xp: Any, d: Data, *leaves: Any) -> Any:
        nn = xp.nnet
        w1, b1, w2, b2, w3, b3, w4, b4, w5, b5 = leaves
        h = nn.conv_nd(d.x, w1, stride=1, padding=2) + b1.reshape(-1, 1, 1)
        h = nn.max_pool(nn.relu(h), (2, 2), 2)
        h = nn.conv_nd(h, w2, stride=1) + b2.reshape(-1, 1, 1)
        h = nn.max_pool(nn.relu(h), (2, 2), 2).reshape(-1, 400)
        h = nn.relu(nn.relu(h @ w3.T + b3) @ w4.T + b4)
        return nn.softmax_crossentropy(h @ w5.T + b5, d.labels)


ROWS: list[Row] = [LeNet()]
