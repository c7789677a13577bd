"""Modules that call one function with options that are fixed at construction."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from autograd_gpu.nn.module import Module


class FunctionModule(Module):
    """Calls `function(*inputs, **options)`.

    A subclass says in `names` which parameters of its function are options, in the order in which
    they may be given; defaults are the function's own.  Each becomes an attribute, an array a
    buffer, which moves with the module.  `shown` are those that repr has, all unless given.
    """

    function: ClassVar[Callable[..., Any]]
    names: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...] | None] = None
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "function" in vars(cls):
            of_function = inspect.signature(cls.function).parameters
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            cls.__signature__ = inspect.Signature(
                [of_function[name].replace(kind=kind) for name in cls.names]
            )

    def __init__(self, *values: Any, **options: Any) -> None:
        super().__init__()
        try:
            bound = self.__signature__.bind(*values, **options)
        except TypeError as error:
            takes = ", ".join(self.names) or "no options"
            raise TypeError(f"{type(self).__name__}: {error}; it takes {takes}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if getattr(value, "ndim", 0):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any) -> Any:
        """The function of `inputs`, with the options."""
        options = {name: getattr(self, name) for name in self.names}
        return type(self).function(*inputs, **options)

    def extra_repr(self) -> str:
        shown = self.names if self.shown is None else self.shown
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
