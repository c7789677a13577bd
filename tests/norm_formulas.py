"""Values and gradients of norms in float64, by formulas."""

import numpy as np

EPS = 1e-5


def layer_norm(x, g, weight, bias):
    """Of rows: the value, and the gradients for x, weight and bias."""
    x, g, weight, bias = (v.astype("f8") for v in (x, g, weight, bias))
    d = x - x.mean(1, keepdims=True)
    inverse = 1 / np.sqrt((d * d).mean(1, keepdims=True) + EPS)
    h, normal = g * weight, d * inverse
    along = (h * normal).mean(1, keepdims=True)
    grad = (h - h.mean(1, keepdims=True) - normal * along) * inverse
    return normal * weight + bias, grad, (g * normal).sum(0), g.sum(0)


def rms_norm(x, g, weight):
    """Of rows: the value, and the gradients for x and weight."""
    x, g, weight = (v.astype("f8") for v in (x, g, weight))
    inverse = 1 / np.sqrt((x * x).mean(1, keepdims=True) + EPS)
    h, normal = g * weight, x * inverse
    grad = (h - normal * (h * normal).mean(1, keepdims=True)) * inverse
    return normal * weight, grad, (g * normal).sum(0)
