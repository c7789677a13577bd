"""Variable: a value, a gradient slot, and a pointer to the Node that produced the value.

What is computed with Variables (operators, NumPy's methods, backward) is defined in the layers
above and bound to this class in `autograd_gpu.ops.methods`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ReferenceType, ref

from autograd_gpu.backend import BACKENDS, Array, backend_of
from autograd_gpu.placement import copied
from autograd_gpu.values import as_value, is_differentiable

if TYPE_CHECKING:
    from autograd_gpu.graph import AccumulateGrad, Node
    from autograd_gpu.variable_methods import Methods
else:
    Methods = object

F = TypeVar("F", bound=Callable[..., Any])

# What getrefcount says of an object that only one container holds.
_probe = {0: object()}
ALONE = sys.getrefcount(_probe[0])

_UNSET: dict[str, Any] = {
    "grad": None,
    "name": None,
    "_requires_grad": False,
    "_accumulator": None,
    "_hooks": None,
    "_post_hooks": None,
}


class RemovableHandle(Generic[F]):
    """Removes a hook that was registered; removing it twice does nothing."""

    __slots__ = ("_hook", "_hooks")

    def __init__(self, hooks: list[F], hook: F) -> None:
        self._hooks = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Take the hook off again."""
        for i, hook in enumerate(self._hooks):
            if hook is self._hook:
                del self._hooks[i]
                return


class Variable(Methods):
    """An array that takes part in differentiation.

    Parameters
    ----------
    data
        A NumPy or CuPy array, which is kept and not copied, or a number or (nested) list, which
        becomes an array of the current backend: floating point in the default dtype (float32),
        integers in int64, complex numbers in the complex dtype of the same precision.
    requires_grad
        Whether `backward` collects a gradient in `.grad`.  Only floating-point and complex dtypes
        can: others raise TypeError.
    dtype
        The dtype of `.value`; the default keeps an array's own.
    name
        A label for `repr`, error messages and drawings.

    A Variable has value semantics: `x[i] = v` and `x += y` change this Variable only, never an
    array or another Variable that shared its memory before.

    >>> x = Variable([1.0, 2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    array([2., 4., 6.], dtype=float32)
    """

    # An op sets only what differs from the defaults in _UNSET; reading an unset slot ends in
    # __getattr__.  That saves five stores for each result.
    __slots__ = (
        "__weakref__",
        "_accumulator",
        "_hooks",
        "_post_hooks",
        "_requires_grad",
        "grad",
        "grad_fn",
        "name",
        "value",
    )

    value: Array
    grad: Array | None
    grad_fn: Node | None
    name: str | None
    _requires_grad: bool
    _accumulator: ReferenceType[AccumulateGrad] | None
    _hooks: list[Callable[[Any], Any]] | None
    _post_hooks: list[Callable[[Variable], None]] | None

    __hash__ = object.__hash__

    def __init__(
        self,
        data: Any,
        requires_grad: bool = False,
        *,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if isinstance(data, Variable):
            raise TypeError(
                "Variable(data): data is a Variable already; use .detach() for a new leaf"
            )
        self.value = as_value(data, dtype)
        self.grad_fn = None
        self._requires_grad = False
        if name is not None:
            self.name = name
        if requires_grad:
            self.grad = self._accumulator = self._hooks = self._post_hooks = None
            self.requires_grad = True

    def __getattr__(self, attribute: str) -> Any:
        try:
            return _UNSET[attribute]
        except KeyError:
            raise AttributeError(f"Variable has no attribute {attribute!r}") from None

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to or through this Variable.  Can be set on leaves."""
        return self.grad_fn is not None or self._requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if self.grad_fn is not None:
            raise RuntimeError(
                f"requires_grad can be changed on leaves only; this is the result of "
                f"{self.grad_fn.name}, use .detach() to get a leaf"
            )
        if flag and not is_differentiable(self.value.dtype):
            raise TypeError(
                f"only floating-point and complex Variables can require a gradient, "
                f"this one is {self.value.dtype}; use .astype('float32') or dtype='float32'"
            )
        self._requires_grad = bool(flag)
        if flag:  # the engine reads these for every leaf
            self.grad = self.grad
            self._accumulator = self._accumulator
            self._hooks = self._hooks
            self._post_hooks = self._post_hooks

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op produced this Variable."""
        return self.grad_fn is None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.value.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self.value.size  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        return self.value.itemsize  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self.value.nbytes  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def device(self) -> Any:
        """'cpu', or the CUDA device."""
        return backend_of(self.value).device(self.value)

    def zero_grad(self) -> None:
        """Forget the gradient: `.grad` is None afterwards."""
        self.grad = None

    def detach(self) -> Variable:
        """A leaf with the same value that no gradient flows through."""
        return Variable(self.value)

    def numpy(self) -> Any:
        """A NumPy copy of the value; waits for the device."""
        return backend_of(self.value).to_host(self.value)

    def item(self) -> Any:
        """The value of a Variable of one element as a Python number; waits for the device."""
        if self.size != 1:
            raise ValueError(f"item: one element is needed, the shape is {self.shape}")
        return self.value.item()

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers; waits for the device."""
        return self.value.tolist()

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle[Callable[[Any], Any]]:
        """Call `hook(gradient)` each time a gradient for this Variable is complete.

        What it returns, unless None, takes the gradient's place: an array of the same shape and
        dtype.  It must not change the one it gets, which others may share.  The handle's `remove()`
        takes the hook off again.
        """
        if self.grad_fn is not None:
            return self.grad_fn.register_prehook(hook)
        if not self._requires_grad:
            raise RuntimeError("register_hook: this Variable does not require a gradient")
        if self._hooks is None:
            self._hooks = []
        return RemovableHandle(self._hooks, hook)

    def register_post_accumulate_grad_hook(
        self, hook: Callable[[Variable], None]
    ) -> RemovableHandle[Callable[[Variable], None]]:
        """Call `hook(variable)` as soon as a backward has added into this leaf's `.grad`.

        Such a leaf's gradient is written while the backward still runs, so an error later in the
        same backward does not take it back.
        """
        if self.grad_fn is not None or not self._requires_grad:
            raise RuntimeError(
                "register_post_accumulate_grad_hook: only leaves that require a gradient "
                "accumulate one; use register_hook or retain_grad"
            )
        if self._post_hooks is None:
            self._post_hooks = []
        return RemovableHandle(self._post_hooks, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this result in `.grad` too.  Leaves keep theirs anyway."""
        if self.grad_fn is not None:
            self.grad_fn.keep_gradient_for(ref(self))
        elif not self._requires_grad:
            raise RuntimeError("retain_grad: this Variable does not require a gradient")

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The value for another library, as a DLPack capsule; see `from_dlpack`.

        Raises TypeError for a Variable that requires a gradient, which would be lost.
        """
        if self.requires_grad:
            raise TypeError(
                "a Variable that requires a gradient can't be handed to another library, which "
                "would lose it; use .detach()"
            )
        return self.value.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers of the device."""
        return self.value.__dlpack_device__()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if not self.value.ndim:
            raise TypeError("len() of a 0-d Variable")
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __index__(self) -> int:
        if self.value.ndim or self.value.dtype.kind not in "iu":
            raise TypeError(
                f"only 0-d integer Variables can be an index, not {self.dtype} of shape "
                f"{self.shape}"
            )
        return int(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and not self.ndim else format(str(self), spec)

    def __repr__(self) -> str:
        parts = [repr(self.value)]
        if self.grad_fn is not None:
            parts.append(f"grad_fn={self.grad_fn.name}")
        elif self._requires_grad:
            parts.append("requires_grad=True")
        if self.name is not None:
            parts.append(f"name={self.name!r}")
        return f"Variable({', '.join(parts)})"

    def __reduce__(self) -> Any:
        if self.grad_fn is not None:
            raise TypeError("a result of recorded ops can't be pickled; pickle x.detach()")
        return _restored, (self.value, self._requires_grad, self.name, self.grad)

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        if self.grad_fn is not None:
            raise RuntimeError(
                f"a result of recorded ops ({self.grad_fn.name}) can't be copied with its graph; "
                f"copy x.detach() instead"
            )
        other = type(self)(copied(self.value))
        other._requires_grad = self._requires_grad
        other.name = self.name
        other.grad = None if self.grad is None else copied(self.grad)
        memo[id(self)] = other
        return other

    def writable(self) -> Array:
        """This Variable's buffer, to be written into in place.

        Where anything else holds the buffer (a saved tensor, a view, a user's name), the Variable
        gets a copy of its own first; that is what gives it value semantics.
        """
        value = self.value
        backend = BACKENDS.get(value.__class__) or backend_of(value)
        if sys.getrefcount(value) != ALONE + 1 or backend.is_shared(value):
            self.value = value = copied(value)
        return value


def _restored(value: Array, requires_grad: bool, name: str | None, grad: Array) -> Variable:
    variable = Variable(value, requires_grad, name=name)
    variable.grad = grad
    return variable
