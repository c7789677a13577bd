"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.nn.state import check_name


class Sequential(Module):
    """Calls its modules one after the other.

    >>> Sequential(Linear(2, 3), ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named: Iterable[tuple[str, Any]] = modules[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(modules))
        for name, module in named:
            _check(self, module)
            self._modules[name] = module

    def forward(self, x: Any) -> Any:
        """The result of the last module."""
        for module in self._modules.values():
            x = module(x)  # type: ignore[misc]
        return x

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        _check(self, module)
        self._modules[str(len(self))] = module
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential(dict(list(self.named_children())[index]))
        return list(self.children())[index]


class ModuleList(Module):
    """A list of modules whose parameters are found."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        _check(self, module)
        self._modules[str(len(self))] = module
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int | slice) -> Any:
        modules = list(self.children())[index]
        return ModuleList(modules) if isinstance(modules, list) else modules


class ModuleDict(Module):
    """Modules by names, whose parameters are found.

    >>> ModuleDict({"head": Linear(2, 3)})["head"]
    Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, or replace those of the same names."""
        for name, module in modules.items():
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        _check(self, module)
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of names and modules."""
        return self._modules.items()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Any] = ()) -> None:
        super().__init__()
        for i, x in enumerate(parameters):
            self._parameters[str(i)] = x if isinstance(x, Parameter) else Parameter(x)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter | None]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Parameter | None:
        return list(self._parameters.values())[index]


class ParameterDict(Module):
    """Parameters by names; arrays become Parameters.

    >>> list(ParameterDict({"scale": [1.0]}))
    ['scale']
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Any]) -> None:
        """Add parameters, or replace those of the same names."""
        for name, x in parameters.items():
            self[name] = x

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __setitem__(self, name: str, x: Any) -> None:
        check_name(name)
        self._parameters[name] = x if isinstance(x, Parameter) else Parameter(x)

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def keys(self) -> Any:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Any:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Any:
        """Pairs of names and parameters."""
        return self._parameters.items()


def _check(owner: Module, module: Any) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{type(owner).__name__} holds Modules, not {type(module).__name__}")
