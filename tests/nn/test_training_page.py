"""docs/training.md names what there is."""

import inspect
import re
from pathlib import Path

import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
TABLE = PAGE.partition("## What is there")[2].partition("Recurrent layers are")[0]
OURS = PAGE.partition("These names differ")[2].partition("Weights load by name")[0]


ROOTS = [ag, nn, nn.functional, nn.utils, nn.utils.parametrizations, optim]


def resolved(root, name):
    for part in name.split("."):
        root = getattr(root, part, None)
    return root


def known(name):
    # also max_pool, of max_pool2d, and mse, of mse_loss
    names = [name + suffix for suffix in ("", "1d", "_loss")]
    return any(resolved(root, n) is not None for root in ROOTS for n in names)


OPTIONS = {
    "padding_mode": nn.Conv2d, "proj_size": nn.LSTM, "output_size": nn.ConvTranspose2d.forward,
    "return_indices": nn.functional.max_pool2d, "antialias": nn.functional.interpolate,
    "enable_gqa": nn.functional.scaled_dot_product_attention,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w.]+?)(?:1d/2d/3d)?`", TABLE))))
def test_what_is_there_is_there(name):
    if name in OPTIONS:
        assert name in inspect.signature(OPTIONS[name]).parameters
    else:
        assert known(name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(ag\.[a-zA-Z_.]+)", OURS))))
def test_our_names_for_pytorchs_exist(name):
    assert callable(resolved(ag, name.removeprefix("ag.")))


def test_every_optimiser_and_schedule_is_named():
    classes = [name for name, value in vars(optim).items() if inspect.isclass(value)]
    for name in set(classes) - {"Optimizer", "Schedule", "GradScaler"}:
        assert f"`{name}`" in PAGE, name
