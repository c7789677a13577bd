"""A sample run on one backend: outputs, gradients, and gradients of these."""

import numpy as np

from autograd_gpu.engine import gradients
from samples.calling import call, converted, cotangents, differentiable, variables


class Side:
    """What one backend makes of a sample: outputs, gradients, and second derivatives."""

    def __init__(self, backend, name, sample, operands, second):
        self.backend = backend
        self.name = name
        self.second = second
        self.needs = differentiable(name, sample)
        self.statics = {key: converted(v, backend) for key, v in sample.statics.items()}
        self.xs = variables(operands, self.needs, backend)
        # The cotangents are made here, from the shapes of a first run, for the counts' sake.
        ys = call(name, self.xs, self.statics, backend)
        self.seeds = cotangents(ys, False, backend)
        self.more = [self._cotangent(self.xs[i]) for i in self.needs] if second else []

    def _cotangent(self, x):
        rng = np.random.default_rng(1)
        return self.backend.from_host(rng.uniform(0.5, 1, x.shape).astype(x.dtype))

    def run(self):
        self.ys = call(self.name, self.xs, self.statics, self.backend)
        pairs = [(y, g) for y, g in zip(self.ys, self.seeds, strict=True) if g is not None]
        if not self.needs or not pairs:
            return
        outs, seeds = ([p[k] for p in pairs] for k in (0, 1))
        ins = [self.xs[i] for i in self.needs]
        self.grads = gradients(outs, ins, seeds, create_graph=self.second, allow_unused=True)
        if not self.second:
            return
        again = [
            (g, c)
            for g, c in zip(self.grads, self.more, strict=True)
            if g is not None and g.requires_grad
        ]
        if again:
            outs, seeds = ([p[k] for p in again] for k in (0, 1))
            self.seconds = gradients(outs, ins, seeds, allow_unused=True)

    grads: list = []  # noqa: RUF012
    seconds: list = []  # noqa: RUF012

    def results(self):
        for what in ("ys", "grads", "seconds"):
            for i, x in enumerate(getattr(self, what)):
                yield f"{what}[{i}]", x
