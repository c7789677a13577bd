"""Parameters that are moved to another backend after their optimiser has begun."""

import pytest

import autograd_gpu as ag
from autograd_gpu import nn, optim

pytestmark = pytest.mark.skipif(
    "cupy" not in ag.available_backends(), reason="no GPU and not run with --cupy-on-cpu"
)

OPTIMISERS = {
    "Adam": lambda params: optim.Adam(params, lr=0.1),
    "NAdam": lambda params: optim.NAdam(params, lr=0.1),
    "SGD": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
}


@pytest.mark.parametrize("way", ["to cupy", "to numpy"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_state_that_was_left_behind_is_named_on_cupy(name, way):
    here, there = ("numpy", "cupy") if way == "to cupy" else ("cupy", "numpy")
    with ag.use_backend(here):
        model = nn.Linear(3, 2)
    optimizer = OPTIMISERS[name](model.parameters())

    def step(place):
        optimizer.zero_grad()
        model(ag.ones((4, 3), dtype="float32").to(place)).sum().backward()
        optimizer.step()

    step(here)
    model.to(there)
    with pytest.raises(TypeError, match=rf"{name}: a parameter was moved.*load_state_dict"):
        step(there)
    optimizer.load_state_dict(optimizer.state_dict())
    step(there)
    assert model.weight.value.__class__.__module__.startswith(there)
