"""Module: parameters, buffers and modules in a tree with names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from autograd_gpu.nn.parameter import Parameter as Parameter
from autograd_gpu.nn.state import array_of, check_name, join, load_state, move_state, named_state
from autograd_gpu.placement import backend_beside, copied
from autograd_gpu.recorder import recorder
from autograd_gpu.variable import RemovableHandle

M = TypeVar("M", bound="Module")


class Module:
    """The base of layers and networks.

    A subclass assigns Parameters and Modules to attributes in `__init__`, after
    `super().__init__()`, and computes in `forward`.

    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter([2.0])
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()([1.0, 2.0]).tolist()
    [2.0, 4.0]
    """

    # Entries of state_dicts from elsewhere that this class has no use for.
    ignored_state: ClassVar[tuple[str, ...]] = ()

    training: bool
    _changes: int
    """How often an attribute has been set, which a recorded step takes note of."""
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Any]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        set_ = super().__setattr__
        set_("training", True)
        set_("_parameters", {})
        set_("_buffers", {})
        set_("_temporary", set())
        set_("_modules", {})
        set_("_changes", 0)
        set_("_hooks", [])
        set_("_pre_hooks", [])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module computes."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        watcher = recorder.get()
        if watcher is not None:
            watcher.depends(lambda: (self.training, self._changes, *self._hooks, *self._pre_hooks))
        for hook in tuple(self._pre_hooks):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for after in tuple(self._hooks):
            changed = after(self, args, result)
            if changed is not None:
                result = changed
        return result

    # Attributes -------------------------------------------------------------------------------

    def _tables(self) -> tuple[dict[str, Any], ...]:
        tables = self.__dict__
        if "_modules" not in tables:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning attributes"
            )
        return tables["_parameters"], tables["_modules"], tables["_buffers"]

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_changes"] = self.__dict__.get("_changes", 0) + (name != "training")
        if isinstance(value, (Parameter, Module)):
            parameters, modules, buffers = self._tables()
            for table in (parameters, modules, buffers, self.__dict__):
                table.pop(name, None)
            (parameters if isinstance(value, Parameter) else modules)[name] = value
            return
        for table in self._tables() if "_modules" in self.__dict__ else ():
            if name in table:
                if value is not None and table is not self._buffers:
                    raise TypeError(
                        f"{type(self).__name__}.{name} is a {type(table[name]).__name__} and can't "
                        f"become a {type(value).__name__}; change its .value instead"
                    )
                table[name] = value
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_modules", "_buffers"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        self.__dict__["_changes"] += 1
        for table in self._tables():
            if name in table:
                del table[name]
                return
        super().__delattr__(name)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Add a parameter, or None to say that there is none of that name."""
        self._parameters[name] = parameter

    def register_buffer(self, name: str, buffer: Any, persistent: bool = True) -> None:
        """Add an array or Variable that belongs to the module's state but is not trained.

        It moves with `to`, and, if persistent, is part of the state_dict.
        """
        self._buffers[name] = buffer
        if not persistent:
            self._temporary.add(name)

    # The tree ---------------------------------------------------------------------------------

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module, '', and all beneath it with their paths, each once."""
        seen: set[int] = set()
        stack = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            stack += [(join(path, name), child) for name, child in module.named_children()][::-1]

    def modules(self) -> Iterator[Module]:
        """This module and all beneath it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly beneath this one."""
        return ((name, child) for name, child in self._modules.items() if child is not None)

    def children(self) -> Iterator[Module]:
        """The modules directly beneath this one, without names."""
        return (child for _, child in self.named_children())

    def _named(self, table: str, prefix: str) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix):
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield join(path, name), value

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths, each once, also where modules share it."""
        return self._named("_parameters", prefix)

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """All buffers with their paths."""
        return self._named("_buffers", prefix)

    def buffers(self) -> Iterator[Any]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "encoder.0"; '' is this one.  AttributeError for none."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name)
            if module is None:
                raise AttributeError(f"{type(self).__name__} has no module {target!r}")
        return module  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "encoder.0.weight".  AttributeError for none."""
        path, _, name = target.rpartition(".")
        parameter = self.get_submodule(path)._parameters.get(name)
        if parameter is None:
            raise AttributeError(f"{type(self).__name__} has no parameter {target!r}")
        return parameter

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name, or None to say that there is none of that name."""
        check_name(name)
        self._modules[name] = module

    def apply(self: M, function: Callable[[Module], Any]) -> M:
        """Call `function` with every module, children first; returns self."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # Modes ------------------------------------------------------------------------------------

    def train(self: M, mode: bool = True) -> M:
        """Set `training` of all modules: dropout and batch norm ask for it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: M) -> M:
        """The same as train(False)."""
        return self.train(False)

    def requires_grad_(self: M, flag: bool = True) -> M:
        """Whether the parameters require gradients: False freezes them."""
        for parameter in self.parameters():
            parameter.requires_grad = flag
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients: `.grad` is None afterwards, or zeros unless `set_to_none`."""
        for x in self.parameters():
            if set_to_none or x.grad is None:
                x.grad = None
            else:
                x.grad = backend_beside(x.grad).xp.zeros_like(x.grad)

    def to(self: M, target: Any) -> M:
        """Move all parameters, gradients and buffers to a backend, a device or a dtype, in place.

        A dtype changes floating-point parameters and buffers only.
        """
        move_state(self, target)
        return self

    def cuda(self: M, device: int | None = None) -> M:
        """Move to CuPy, onto the CUDA device of that number or the current one."""
        return self.to("cupy" if device is None else f"cuda:{device}")

    def cpu(self: M) -> M:
        """Move to NumPy."""
        return self.to("numpy")

    def float(self: M) -> M:
        """The same as to("float32")."""
        return self.to("float32")

    def double(self: M) -> M:
        """The same as to("float64")."""
        return self.to("float64")

    def half(self: M) -> M:
        """The same as to("float16")."""
        return self.to("float16")

    # State ------------------------------------------------------------------------------------

    def state_dict(self) -> OrderedDict[str, Any]:
        """Copies of all parameters and persistent buffers as arrays of their backend, by path.

        `save(path, module.state_dict())` writes them into a file.
        """
        return OrderedDict((name, copied(array_of(x))) for name, x in named_state(self))

    def load_state_dict(
        self, state: Mapping[str, Any], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copy `state` into parameters and buffers, in their dtype and place.

        Returns the names that are missing in `state` and those that are not known here; if strict,
        either raises ValueError.  So does a shape that differs, or a complex array for a real one;
        then nothing is changed.
        """
        return load_state(self, state, strict)

    # Hooks ------------------------------------------------------------------------------------

    def register_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle[Any]:
        """Call `hook(module, args, result)` after forward; what it returns, unless None, is the
        result."""
        return RemovableHandle(self._hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle[Any]:
        """Call `hook(module, args)` before forward; what it returns, unless None, are the
        arguments."""
        return RemovableHandle(self._pre_hooks, hook)

    def extra_repr(self) -> str:
        """What stands between the parentheses of repr before the children."""
        return ""

    def __repr__(self) -> str:
        extra, name = self.extra_repr(), type(self).__name__
        children = [f"({key}): {child!r}" for key, child in self.named_children()]
        if not children:
            return f"{name}({extra})"
        lines = ([extra] if extra else []) + [child.replace("\n", "\n  ") for child in children]
        body = "\n  ".join(lines)
        return f"{name}(\n  {body}\n)"
