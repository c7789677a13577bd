"""Optimisers with options, and a small problem for them."""

import numpy as np

import autograd_gpu as ag
from autograd_gpu import optim

CASES = {
    "sgd": (optim.SGD, {"lr": 0.1}),
    "momentum": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "nesterov": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (optim.Adam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "adamw": (optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    "rmsprop": (optim.RMSprop, {"lr": 0.1, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop centred": (optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}),
    "adagrad": (
        optim.Adagrad,
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
    ),
    "lion": (optim.Lion, {"lr": 0.1, "weight_decay": 0.1}),
}
MORE = {
    "sgd up": (optim.SGD, {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    "adam up": (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    "rmsprop up": (optim.RMSprop, {"lr": 0.01, "maximize": True}),
    "adagrad up": (optim.Adagrad, {"lr": 0.01, "maximize": True}),
    "amsgrad": (optim.Adam, {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    "amsgrad decoupled": (optim.AdamW, {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True}),
    "adamax": (optim.Adamax, {"lr": 0.1, "weight_decay": 0.1}),
    "nadam": (optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    "nadam decoupled": (
        optim.NAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "radam": (optim.RAdam, {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "radam decoupled": (
        optim.RAdam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "adadelta": (optim.Adadelta, {"lr": 0.5, "weight_decay": 0.1, "maximize": True}),
    "rprop": (optim.Rprop, {"lr": 0.1, "etas": (0.4, 1.3), "step_sizes": (1e-3, 0.2)}),
    "lamb": (optim.LAMB, {"lr": 0.1, "weight_decay": 0.1}),
}  # fmt: skip


def parameters(backend="numpy"):
    rng = np.random.default_rng(0)
    made = []
    for shape in ((3, 4), (4,), ()):
        x = ag.Variable(np.asarray(rng.standard_normal(shape))).to(backend).detach()
        x.requires_grad = True
        made.append(x)
    return made


def loss(params):
    a, b, c = params
    return ag.sum((a * b) ** 2) + ag.sum(ag.sin(b) * c)


def train(params, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss(params).backward()
        optimizer.step()
