"""What has to be as it was when a step was recorded: the source of the questions that a replay asks
about Variables, or one call of the compiled core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from autograd_gpu.extension import extension

SAME = 2
"""What the core's `unchanged` answers where everything is as it was; 1 is for other arrays."""

_TESTS = 20
"""Questions in one line."""


class Leaf(NamedTuple):
    """A Variable from outside, and what a backward looks at, as it was when the step read it."""

    variable: Any
    requires_grad: bool
    hooks: tuple[Any, ...]

    @classmethod
    def of(cls, variable: Any) -> Leaf:
        return cls(variable, variable._requires_grad, hooks_of(variable))


def hooks_of(variable: Any) -> tuple[Any, ...]:
    """The hooks of a leaf: those for its gradient, and those for afterwards."""
    return tuple(variable._hooks or ()), tuple(variable._post_hooks or ())


class Guards:
    """Source for `return None` unless a backward would be that of the recording, and `fixed`
    Variables hold what `references` refer to, weakly, or `link()` is content with what they hold.

    `name` gives names to objects.
    """

    def __init__(
        self,
        leaves: Iterable[Leaf],
        fixed: Sequence[Any],
        link: Callable[[], bool],
        name: Callable[[Any, str], str],
    ) -> None:
        self._leaves, self._fixed = list(leaves), fixed
        self._name, self._link = name, link
        self.references: list[Any] = [_nothing] * len(fixed)
        """To nothing at first, so that the first call links."""

    def lines(self) -> Iterator[str]:
        if not self._leaves and not self._fixed:
            return
        call = self._call()
        for leaf in self._leaves:
            if call is None or any(leaf.hooks):
                yield f"if {self._differs(leaf)}:\n        return None"
        link = f"{self._name(self._link, 'c')}()"
        if call is not None:
            yield f"s = {call}"
            yield f"if s != {SAME}:\n        if not s or not {link}:\n            return None"
            return
        references = self._name(self.references, "c")
        tests = [
            f"{self._name(x, 'v')}.value is not {references}[{i}]()"
            for i, x in enumerate(self._fixed)
        ]
        for start in range(0, len(tests), _TESTS):
            some = " or ".join(tests[start : start + _TESTS])
            yield f"if {some}:\n        if not {link}:\n            return None"

    def _call(self) -> str | None:
        """All of it but hooks in one call; None where the core does not serve these Variables."""
        plain = [leaf for leaf in self._leaves if not any(leaf.hooks)]
        required = tuple([leaf.variable for leaf in plain if leaf.requires_grad])
        frozen = tuple([leaf.variable for leaf in plain if not leaf.requires_grad])
        given = (required, frozen, tuple(self._fixed), self.references)
        if extension is None or extension.unchanged(*given) is None:
            return None
        names = [self._name(x, "c") for x in given]
        return f"{self._name(extension.unchanged, 'c')}({', '.join(names)})"

    def _differs(self, leaf: Leaf) -> str:
        """Source for whether a backward would be another one than that of the recording."""
        name = self._name(leaf.variable, "v")
        if not leaf.requires_grad:
            return f"{name}._requires_grad"
        if any(leaf.hooks):
            hooks = f"{self._name(hooks_of, 'c')}({name}) != {self._name(leaf.hooks, 'c')}"
            return f"not {name}._requires_grad or {hooks}"
        return f"not {name}._requires_grad or {name}._hooks or {name}._post_hooks"


def _nothing() -> None:
    """A reference to nothing."""
