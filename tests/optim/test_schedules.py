"""Learning rates over time, against PyTorch's."""

import math

import pytest

import autograd_gpu as ag
from autograd_gpu import optim

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:Detected call", "ignore:The epoch", "ignore:To get")


def optimizers(lr=0.5, **options):
    x, t = ag.Variable([1.0], True), torch.ones(1, requires_grad=True)
    y, u = ag.Variable([1.0], True), torch.ones(1, requires_grad=True)
    ours = optim.SGD([{"params": [x]}, {"params": [y], "lr": lr / 2}], lr=lr, **options)
    theirs = torch.optim.SGD([{"params": [t]}, {"params": [u], "lr": lr / 2}], lr=lr, **options)
    return ours, theirs


SCHEDULES = {
    "LambdaLR": (lambda n: 1 / (1 + n),),
    "StepLR": (3, 0.5),
    "MultiStepLR": ([2, 5, 5, 9], 0.3),
    "ExponentialLR": (0.9,),
    "LinearLR": (0.1, 0.8, 6),
    "CosineAnnealingLR": (12, 0.01),
    "CosineAnnealingWarmRestarts": (3, 2, 0.01),
    "ConstantLR": (0.3, 4),
    "PolynomialLR": (7, 2.0),
    "MultiplicativeLR": (lambda n: 0.9 + n / 100,),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    ours, theirs = optimizers()
    a = getattr(optim, name)(ours, *SCHEDULES[name])
    b = getattr(torch.optim.lr_scheduler, name)(theirs, *SCHEDULES[name])
    for _ in range(13):
        assert a.get_last_lr() == pytest.approx([g["lr"] for g in theirs.param_groups], rel=1e-9)
        a.step()
        b.step()


def test_restarts_of_equal_length():
    ours, theirs = optimizers()
    a = optim.CosineAnnealingWarmRestarts(ours, 4)
    b = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(theirs, 4)
    for _ in range(10):
        assert a.get_last_lr() == pytest.approx(b.get_last_lr(), rel=1e-9)
        a.step()
        b.step()


@pytest.mark.parametrize("options", [
    {}, {"pct_start": 0.5, "anneal_strategy": "linear", "div_factor": 10.0}, {"pct_start": 0.0},
    {"base_momentum": 0.6, "max_momentum": 0.9, "final_div_factor": 100.0}, {"pct_start": 1.0},
    {"three_phase": True}, {"three_phase": True, "pct_start": 0.4, "anneal_strategy": "linear"},
])  # fmt: skip
def test_one_cycle(options):
    ours, theirs = optimizers(momentum=0.9)
    a = optim.OneCycleLR(ours, 0.4, 10, **options)
    b = torch.optim.lr_scheduler.OneCycleLR(theirs, 0.4, 10, **options)
    for n in range(10):
        for mine, group in zip(ours.param_groups, theirs.param_groups, strict=True):
            assert mine["lr"] == pytest.approx(group["lr"], rel=1e-9), n
            assert mine["momentum"] == pytest.approx(group["momentum"], rel=1e-9), n
        if n < 9:
            a.step()
            b.step()
    with pytest.raises(ValueError, match="step 11 of 10"):
        a.step()


def test_one_cycle_moves_the_first_beta():
    adam = optim.Adam([ag.Variable([1.0], True)])
    optim.OneCycleLR(adam, 0.1, 10)
    assert adam.param_groups[0]["betas"] == pytest.approx((0.95, 0.999))


@pytest.mark.parametrize("options", [
    {}, {"mode": "max", "cooldown": 2}, {"threshold": 0.2, "threshold_mode": "abs"},
    {"min_lr": 0.2}, {"mode": "max", "threshold_mode": "abs"},
])  # fmt: skip
def test_plateau(options):
    ours, theirs = optimizers()
    a = optim.ReduceLROnPlateau(ours, factor=0.5, patience=1, **options)
    b = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, factor=0.5, patience=1, **options)
    for i in range(30):
        value = math.sin(i * i) + 1.5
        a.step(ag.Variable(value) if i % 2 else value)
        b.step(torch.tensor(value, dtype=torch.float32).item() if i % 2 else value)
        assert a.get_last_lr() == pytest.approx([g["lr"] for g in theirs.param_groups])


def test_a_warm_up_and_then_a_decay():
    ours, theirs = optimizers()
    L = torch.optim.lr_scheduler
    a = optim.SequentialLR(
        ours, [optim.LinearLR(ours, 0.1, 1.0, 3), optim.CosineAnnealingLR(ours, 6)], [3]
    )
    b = L.SequentialLR(
        theirs, [L.LinearLR(theirs, 0.1, 1.0, 3), L.CosineAnnealingLR(theirs, 6)], [3]
    )
    for _ in range(8):
        assert a.get_last_lr() == pytest.approx([g["lr"] for g in theirs.param_groups], rel=1e-9)
        a.step()
        b.step()


@pytest.mark.parametrize("make", [
    lambda o: optim.CosineAnnealingLR(o, 9),
    lambda o: optim.OneCycleLR(o, 0.4, 20),
    lambda o: optim.SequentialLR(o, [optim.LinearLR(o), optim.StepLR(o, 2)], [5]),
])  # fmt: skip
def test_schedules_go_on_where_they_were_saved(make):
    ours, _ = optimizers(momentum=0.9)
    whole = make(ours)
    for _ in range(6):
        whole.step()
    state, groups = whole.state_dict(), ours.state_dict()
    other, _ = optimizers(lr=9.0, momentum=0.9)
    other.load_state_dict(groups)
    resumed = make(other)
    resumed.load_state_dict(state)
    for _ in range(6):
        assert resumed.get_last_lr() == whole.get_last_lr()
        whole.step()
        resumed.step()


def test_a_plateau_goes_on_where_it_was_saved():
    ours, _ = optimizers()
    plateau = optim.ReduceLROnPlateau(ours, patience=2)
    plateau.step(1.0)
    plateau.step(2.0)
    other = optim.ReduceLROnPlateau(ours, patience=2)
    other.load_state_dict(plateau.state_dict())
    assert (other.best, other.bad) == (1.0, 1)


def test_what_is_refused():
    ours, _ = optimizers()
    other, _ = optimizers()
    step = optim.StepLR(ours, 2)
    for call, error, message in [
        (lambda: optim.StepLR(ours, 0), ValueError, "step_size=0 must be positive"),
        (lambda: optim.StepLR([1], 1), TypeError, "Optimizer"),
        (lambda: optim.LinearLR(ours, total_iters=0), ValueError, "total_iters"),
        (lambda: optim.CosineAnnealingLR(ours, 0), ValueError, "T_max"),
        (lambda: optim.OneCycleLR(ours, 1.0, 10), ValueError, "momentum"),
        (
            lambda: optim.OneCycleLR(ours, [1.0] * 3, 5, cycle_momentum=False),
            ValueError, "3 max_lr",
        ),
        (lambda: optim.OneCycleLR(ours, 1.0, 5, pct_start=2), ValueError, "pct_start"),
        (lambda: optim.OneCycleLR(ours, 1.0, 5, anneal_strategy="up"), ValueError, "'cos' or"),
        (lambda: optim.ReduceLROnPlateau(ours, factor=1.0), ValueError, "factor"),
        (lambda: optim.ReduceLROnPlateau(ours, mode="up"), ValueError, "mode is"),
        (lambda: optim.SequentialLR(ours, [step], [1]), ValueError, "0 growing milestones"),
        (lambda: optim.SequentialLR(other, [step], []), ValueError, "another optimizer"),
        (lambda: step.load_state_dict({"steps": 1, "initial": [1]}), ValueError, "of 1 groups"),
    ]:  # fmt: skip
        with pytest.raises(error, match=message):
            call()


def in_step(ours, theirs, a, b, steps, *more):
    """Compare learning rates and momenta step by step."""
    for n in range(steps):
        for mine, group in zip(ours.param_groups, theirs.param_groups, strict=True):
            for option in ("lr", *more):
                assert mine[option] == pytest.approx(group[option], rel=1e-9, abs=1e-15), n
        a.step()
        b.step()


def test_a_function_for_each_group():
    ours, theirs = optimizers()
    factors = [lambda n: 0.9**n, lambda n: 1 / (n + 1)]
    in_step(ours, theirs, optim.LambdaLR(ours, factors),
            torch.optim.lr_scheduler.LambdaLR(theirs, factors), 5)  # fmt: skip
    with pytest.raises(ValueError, match="3 lr_lambda for 2 groups"):
        optim.LambdaLR(ours, [*factors, abs])


@pytest.mark.parametrize("options", [
    {}, {"mode": "triangular2", "step_size_down": 5}, {"mode": "exp_range", "gamma": 0.9},
    {"scale_fn": lambda n: 1 / n}, {"scale_fn": lambda n: 0.8**n, "scale_mode": "iterations"},
    {"base_momentum": 0.5, "max_momentum": 0.7},
])  # fmt: skip
def test_cyclic(options):
    ours, theirs = optimizers(momentum=0.9)
    a = optim.CyclicLR(ours, 0.1, [0.4, 0.7], 3, **options)
    b = torch.optim.lr_scheduler.CyclicLR(theirs, 0.1, [0.4, 0.7], 3, **options)
    in_step(ours, theirs, a, b, 20, "momentum")


def test_one_cycle_of_epochs():
    ours, theirs = optimizers(momentum=0.9)
    a = optim.OneCycleLR(ours, 0.4, epochs=2, steps_per_epoch=5)
    b = torch.optim.lr_scheduler.OneCycleLR(theirs, 0.4, epochs=2, steps_per_epoch=5)
    in_step(ours, theirs, a, b, 9, "momentum")
    with pytest.raises(ValueError, match="total_steps, or epochs and steps_per_epoch"):
        optim.OneCycleLR(ours, 0.4, epochs=2)


def test_restarts_at_fractions_of_epochs():
    ours, theirs = optimizers()
    a = optim.CosineAnnealingWarmRestarts(ours, 2, 2, 0.01)
    b = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(theirs, 2, 2, 0.01)
    for epoch in (0.3, 1.9, 2.0, 4.7, 6.1):
        a.step(epoch)
        b.step(epoch)
        assert a.get_last_lr() == pytest.approx(b.get_last_lr(), rel=1e-9)


def test_several_at_once():
    ours, theirs = optimizers()
    s = torch.optim.lr_scheduler
    a = optim.ChainedScheduler(
        [optim.ConstantLR(ours, 0.1, 4), optim.ExponentialLR(ours, 0.9), optim.StepLR(ours, 3)]
    )
    b = s.ChainedScheduler(
        [s.ConstantLR(theirs, 0.1, 4), s.ExponentialLR(theirs, 0.9), s.StepLR(theirs, 3)]
    )
    in_step(ours, theirs, a, b, 8)
    with pytest.raises(ValueError, match="there are no schedules"):
        optim.ChainedScheduler([])
    with pytest.raises(ValueError, match="another optimizer"):
        optim.ChainedScheduler([optim.StepLR(ours, 3), optim.StepLR(optimizers()[0], 3)])


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_the_learning_rate_of_averaging(strategy):
    ours, theirs = optimizers()
    a = optim.SWALR(ours, 0.05, 4, strategy)
    b = torch.optim.swa_utils.SWALR(theirs, 0.05, 4, strategy)
    for _ in range(7):
        for mine, group in zip(ours.param_groups, theirs.param_groups, strict=True):
            assert mine["lr"] == pytest.approx(group["lr"], rel=1e-9)
        a.step()
        b.step()


def test_a_least_rate_for_each_group():
    ours, theirs = optimizers()
    options = {"patience": 0, "min_lr": [0.2, 0.01]}
    a = optim.ReduceLROnPlateau(ours, **options)
    b = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    for _ in range(5):
        a.step(1.0)
        b.step(1.0)
        assert a.get_last_lr() == pytest.approx([g["lr"] for g in theirs.param_groups], rel=1e-9)


MADE = {
    "cyclic": lambda o: optim.CyclicLR(o, 0.1, 0.4, 3, cycle_momentum=False),
    "chained": lambda o: optim.ChainedScheduler([optim.StepLR(o, 3), optim.ExponentialLR(o, 0.9)]),
    "multiplicative": lambda o: optim.MultiplicativeLR(o, lambda n: 0.9),
    "averaging": lambda o: optim.SWALR(o, 0.05),
    "restarts": lambda o: optim.CosineAnnealingWarmRestarts(o, 3),
}


@pytest.mark.parametrize("name", MADE)
def test_more_schedules_go_on_where_they_were_saved(name):
    first, second = optimizers()[0], optimizers()[0]
    a, b = MADE[name](first), MADE[name](second)
    for _ in range(5):
        a.step()
    b.load_state_dict(a.state_dict())
    for _ in range(4):
        assert b.get_last_lr() == pytest.approx(a.get_last_lr(), rel=1e-12)
        a.step()
        b.step()
