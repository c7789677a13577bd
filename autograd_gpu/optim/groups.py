"""The parameters of an optimiser, in groups with options of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograd_gpu.callers import described
from autograd_gpu.placement import backend_beside
from autograd_gpu.variable import Variable

Group = dict[str, Any]


def moment_options(group: Group) -> dict[str, Any]:
    """The options of a step of Adam or one of its relatives that all of them have."""
    beta1, beta2 = group["betas"]
    return {
        "lr": group["lr"],
        "beta1": beta1,
        "beta2": beta2,
        "eps": group["eps"],
        "weight_decay": group["weight_decay"],
    }


class Groups:
    """Groups of parameters: `param_groups` is a list of dicts with 'params' and the options.

    `params` is a sequence of Variables, or of dicts with 'params' and options that differ from the
    `defaults`.
    """

    def __init__(
        self, params: Iterable[Variable] | Iterable[Mapping[str, Any]], defaults: Mapping[str, Any]
    ) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        if isinstance(params, (Variable, Mapping)):
            raise TypeError(
                f"{type(self).__name__}: params is a sequence of Variables or of groups, "
                f"not one {type(params).__name__}"
            )
        items: list[Any] = list(params)
        if not items:
            raise ValueError(f"{type(self).__name__}: there are no parameters")
        if not isinstance(items[0], Mapping):
            items = [{"params": items}]
        for group in items:
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own."""
        name = type(self).__name__
        if not isinstance(group, Mapping) or "params" not in group:
            raise TypeError(
                f"{name}: a group of parameters is a dict with 'params' and options, "
                f"not {described(group)}"
            )
        unknown = group.keys() - self.defaults.keys() - {"params"}
        if unknown:
            raise TypeError(f"{name}: unknown options {sorted(unknown)}")
        given = group["params"]
        params = [given] if isinstance(given, Variable) else list(given)
        known = set(self.parameters())
        for x in params:
            if not isinstance(x, Variable):
                raise TypeError(f"{name}: a parameter is a Variable, not {type(x).__name__}")
            if not x.is_leaf:
                raise ValueError(f"{name}: a parameter is a leaf, not the result of an op")
            if x in known:
                raise ValueError(f"{name}: a parameter is in two groups, or twice in one")
            known.add(x)
        full = {**self.defaults, **group, "params": params}
        self.check(full)
        self.param_groups.append(full)

    def check(self, group: Group) -> None:
        """Raise ValueError for options that make no sense, TypeError for what is no number."""
        name = type(self).__name__
        self.refuse_negative(group, *[x for x in ("lr", "weight_decay", "eps") if x in group])
        if not all(0 <= beta < 1 for beta in group.get("betas", ())):
            raise ValueError(f"{name}: betas={group['betas']} must be in [0, 1)")

    def refuse_negative(self, group: Group, *options: str) -> None:
        """Raise ValueError for options that are negative or NaN, TypeError for no numbers."""
        name = type(self).__name__
        for option in options:
            value = group[option]
            try:
                fits = value >= 0
            except TypeError:
                raise TypeError(f"{name}: {option} is a number, not {described(value)}") from None
            if not fits:
                what = "NaN" if value != value else "negative"
                raise ValueError(f"{name}: {option}={value} is {what}")

    def parameters(self) -> Iterator[Variable]:
        """The parameters of all groups."""
        return (x for group in self.param_groups for x in group["params"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients: `.grad` is None afterwards, or zeros unless `set_to_none`."""
        for x in self.parameters():
            if set_to_none or x.grad is None:
                x.grad = None
            else:
                x.grad = backend_beside(x.grad).xp.zeros_like(x.grad)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            options = ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            lines.append(f"  group {i}: {len(group['params'])} parameters, {options}")
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])
