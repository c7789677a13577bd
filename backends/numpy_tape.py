"""The tape of a step: every call of NumPy, which arrays it read and wrote, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from autograd_gpu.backends import numpy_known as known
from autograd_gpu.backends.numpy_values import (
    OUT,
    HostNumber,
    Into,
    LiveFloat,
    LiveInt,
    Step,
    Value,
)
from autograd_gpu.backends.traced import Traced, TracedScalar
from autograd_gpu.recorder import recorder

Array = np.ndarray[Any, Any]


LOOKED_AT = 1 << 26
"""Bytes of an array from outside up to which its contents are compared."""


class Tape:
    """Writes down what it is asked to compute; once there is a `reason`, it computes only."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.reason: str | None = None
        self.slots: list[Value] = []
        """The slots that were read, as they were when the step began."""
        self.arrays: dict[int, Value] = {}
        """The arrays from outside, by their ids; they are kept, so that ids stay theirs."""
        self.before: dict[int, Array] = {}
        """What was in them when they were first seen."""
        self.readers: list[Callable[[], tuple[Any, ...]]] = []
        self.alive: list[ref[Traced]] = []
        """All stand-ins: none should outlive the step."""
        self._raising = _raising()
        self._expected: dict[int, tuple[ref[Array], bytes]] = {}

    def refuse(self, reason: str) -> None:
        """Give up: the step can't be replayed."""
        if self.reason is None:
            self.reason = reason

    def add(self, step: Step) -> None:
        if self.reason is None:
            self.steps.append(step)

    # What others write ------------------------------------------------------------------------

    def watch(self, array: Array) -> None:
        """Remember what is in an array from outside, or look whether it still is.

        NumPy's calls on such arrays alone are not seen, and must not change them.
        """
        owner = _owner(array)
        if not isinstance(owner, np.ndarray):
            owner = array
        known = self._expected.get(id(owner))
        if known is not None and known[0]() is owner:
            self.check(array)
        else:
            self._expect(owner)

    def _expect(self, owner: Array) -> None:
        if owner.nbytes <= LOOKED_AT:
            # Not held, since who holds an array decides whether it is written in place.
            self._expected[id(owner)] = (ref(owner), owner.tobytes())

    def check(self, array: Array | None = None) -> None:
        """Look whether an array from outside, or all, are as they were left."""
        known = self._expected
        places = list(known) if array is None else [id(_owner(array)), id(array)]
        for place in places:
            owner = known[place][0]() if place in known else None
            if owner is not None and owner.tobytes() != known[place][1]:
                self.refuse(
                    f"NumPy alone, with no array of the step, changes an array from outside of "
                    f"shape {owner.shape}; make it a Variable, or do it elsewhere"
                )

    def written(self, array: Array | None = None) -> None:
        """The step has changed an array, or an optimiser has."""
        for owner in [owner() for owner, _ in self._expected.values()]:
            if owner is not None and (array is None or np.may_share_memory(owner, array)):
                self._expect(owner)

    def forget(self) -> None:
        """Let go of what only recordings need."""
        self.before.clear()
        self._expected.clear()

    # Arrays -----------------------------------------------------------------------------------

    def root(self, array: Array, kind: str, content: Any = None) -> Traced:
        """A stand-in for an array that the step gets from somewhere."""
        return self._traced(array, Value(array, kind, content))

    def _traced(self, array: Array, value: Value, viewed: Any = None) -> Traced:
        traced = Traced(array, self, value, viewed)
        self.alive.append(ref(traced))
        return traced

    def outside(self, array: Array) -> Value:
        """The Value of an array that no step has computed."""
        value = self.arrays.get(id(array))
        if value is None:
            value = self.arrays[id(array)] = Value(array, "array", array)
            if array.nbytes <= LOOKED_AT:
                self.before[id(array)] = array.copy("K")
        self.watch(array)
        return value

    def adopted(self, array: Array) -> Traced:
        """A stand-in for an array from outside."""
        return self._traced(array, self.outside(array))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Traced:
        """Memory to write into."""
        return self.root(np.empty(shape, dtype), "empty")

    # Calls ------------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        *,
        into: Callable[..., Into] | None = None,
        writes: Sequence[Any] = (),
        whole: bool = False,
    ) -> Any:
        """`function(*args, **kwargs)`, written down.

        `into` makes of the arguments the form of the call that writes into an array; `writes` are
        the arguments that are changed.  Within a `whole` function nothing is recorded.
        """
        operands: list[Any] = []
        if _raising() != self._raising:  # a replay runs under what its caller has set
            self.refuse("it lets NumPy raise errors of floating-point numbers (np.errstate)")
        real_args, args = self._apart(args, operands)
        real_kwargs, kwargs = self._apart(kwargs or {}, operands)
        roots = [x.value.root if isinstance(x, Traced) else self.outside(x) for x in writes]
        token = recorder.set(None if whole else recorder.get())
        try:
            result = function(*real_args, **real_kwargs)
        except Exception:  # what comes of it depends on values
            self.refuse(f"{_name(function)} raises an error that it goes on from")
            raise
        finally:
            recorder.reset(token)
        if writes:
            self.add(Step("effect", function, args, kwargs, writes=tuple(roots)))
            for x, root in zip(writes, roots, strict=True):
                if root.kind in ("array", "given", "late", "slot"):
                    self.written(x.array if isinstance(x, Traced) else x)
            return None
        step = Step("made", function, args, kwargs)
        new: list[Value] = []
        y = self._wrapped(result, operands, step, new)
        if into is not None and len(new) == 1 and type(y) is Traced and result.base is None:
            y.value.kind = "temp"
            step.how, step.into = "into", into(args, kwargs)
        if not isinstance(y, Traced):
            step.how = "made"
        if new or y is None:  # and not an operand as it is
            step.result = _values(y, new)
            self.add(step)
        return y

    def _apart(self, x: Any, operands: list[Any]) -> tuple[Any, Any]:
        """Arguments for now, with the arrays themselves, and for the tape, with their Values."""
        if isinstance(x, Traced):
            operands.append(x)
            return x.array, x.value
        if type(x) in (tuple, list):
            pairs = [self._apart(item, operands) for item in x]
            real, noted = [a for a, _ in pairs], [b for _, b in pairs]
            return (real, noted) if type(x) is list else (tuple(real), tuple(noted))
        if type(x) is dict:
            items = {key: self._apart(item, operands) for key, item in x.items()}
            return {k: a for k, (a, _) in items.items()}, {k: b for k, (_, b) in items.items()}
        if isinstance(x, np.ndarray):
            operands.append(x)
            return x, self.outside(x)
        if isinstance(x, (LiveInt, LiveFloat)):
            return x, x.source
        if type(x) is slice:
            (real, noted) = self._apart((x.start, x.stop, x.step), operands)
            return slice(*real), (slice(*noted) if real != noted else x)
        return x, x

    def _wrapped(self, result: Any, operands: list[Any], step: Step, new: list[Value]) -> Any:
        """Stand-ins for the arrays in a result."""
        if isinstance(result, np.ndarray):
            for x in operands:
                if (x.array if isinstance(x, Traced) else x) is result:
                    return x if isinstance(x, Traced) else self.adopted(x)
            owner = _owner(result)
            for x in operands:
                array = x.array if isinstance(x, Traced) else x
                if isinstance(array, np.ndarray) and _owner(array) is owner:
                    value = x.value if isinstance(x, Traced) else self.outside(x)
                    step.how = "view"
                    new.append(Value(result, "view", root=value.root))
                    return self._traced(result, new[-1], _holder(x))
            new.append(Value(result, "made"))
            return self._traced(result, new[-1])
        if isinstance(result, np.generic):
            new.append(Value(result, "made"))
            return TracedScalar(result, self, new[-1])
        if isinstance(result, (tuple, list)):
            items = [self._wrapped(item, operands, step, new) for item in result]
            if hasattr(result, "_fields"):
                return type(result)(*items)
            return tuple(items) if isinstance(result, tuple) else items
        # NotImplemented: a kernel that declines these dtypes, as it will at each replay
        if result is not None and result is not NotImplemented:
            self.refuse(f"{_name(step.function)} returns a {type(result).__name__} to Python")
        return result

    # What stand-ins ask for -------------------------------------------------------------------

    def operator(self, function: Any, ufunc: np.ufunc, args: tuple[Any, ...]) -> Any:
        """A Python operator, which is a ufunc unless NumPy takes a short cut."""
        if ufunc is np.power and not isinstance(args[1], Traced):
            if type(args[1]) in (int, float) and args[1] == 2 and args[0].dtype.kind == "f":
                ufunc = np.square
            else:
                return self.call(function, args)

        def into(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Into:
            return Into(ufunc, (*args[: ufunc.nin], OUT), kwargs)

        return self.call(function, args, into=into)

    def ufunc(
        self, ufunc: np.ufunc, method: str, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        args = tuple(args)
        out = kwargs.get("out")
        if method == "at":
            return self.call(function, args, kwargs, writes=args[:1])
        if out is not None:
            outs = out if isinstance(out, tuple) else (out,)
            # a function, and not a scalar that the call would return
            self.call(function, args, {**kwargs, "out": outs}, writes=outs)
            return outs[0] if len(outs) == 1 else outs
        if method not in ("__call__", "reduce", "accumulate") or ufunc.nout > 1:
            return self.call(function, args, kwargs)

        def into(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Into:
            # of these two NumPy deprecates the positional form
            if method == "__call__" and ufunc not in (np.maximum, np.minimum):
                return Into(ufunc, (*args, OUT), kwargs)
            return Into(function, args, {**kwargs, "out": OUT})

        return self.call(function, args, kwargs, into=into)

    def method(
        self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A method of ndarray."""
        x = args[0]
        if type(x) is TracedScalar:  # a method of its own type
            return self.call(known.scalar_method(name), args, kwargs)
        if name in known.REDUCTIONS:
            return self._reduction(name, function, args, kwargs)
        if name == "astype" and not args[2:] and not kwargs.keys() - {"dtype", "copy"}:
            return self.call(function, args, kwargs, into=lambda a, k: _copied_into(a[0]))
        if name == "copy" and not args[1:] and not kwargs:
            # K keeps the order of the axes, C is the default
            return self.call(function, args, kwargs, into=lambda a, k: _copied_into(a[0]))
        if name == "clip" and len(args) == 3 and not kwargs:
            return self.call(function, args, into=lambda a, k: Into(function, (*a, OUT), k))
        if name in ("flatten", "ravel", "reshape"):
            return self._reshaped(function, args, kwargs)
        if name == "repeat" and any(isinstance(x, Traced) for x in (*args[1:], *kwargs.values())):
            self.refuse("it repeats elements as often as an array says")
        return self.call(function, args, kwargs)

    def _reduction(
        self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`x.sum(axis, dtype, out, keepdims)` and the like, which call a ufunc's `reduce`."""
        names = known.REDUCTIONS[name].parameters
        given = dict(zip(names, args[1:], strict=False)) | kwargs
        out = given.pop("out", None)
        if out is not None or given.keys() - {"axis", "dtype", "initial", "keepdims"}:
            if out is not None:
                self.call(function, args, kwargs, writes=(out,))
                return out
            return self.call(function, args, kwargs)
        options = [given.get("axis"), given.get("dtype"), None, given.get("keepdims", False)]
        if "initial" in given:
            options.append(given["initial"])

        def into(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Into:
            return Into(reduce, (*args[:3], OUT, *args[4:]), kwargs)

        reduce = known.REDUCTIONS[name].reduce
        return self.call(reduce, (args[0], *options), into=into)

    def _reshaped(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Where a new shape takes a copy, one into memory of the recording."""
        x = args[0]
        y = function(x.array, *args[1:], **kwargs)
        if _owner(y) is _owner(x.array) or not y.flags.c_contiguous or kwargs:
            return self.call(function, args, kwargs)
        if not all(type(part) in (int, tuple) for part in args[1:]):
            return self.call(function, args, kwargs)
        out = self.empty(y.shape, y.dtype)
        target = out.reshape(x.shape)
        self.call(np.copyto, (target, x), writes=(target,))
        return out

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One of NumPy's functions, called with a stand-in."""
        name = known.name_of(function)
        if name in known.METADATA:
            real_args, _ = self._apart(args, [])
            real_kwargs, _ = self._apart(kwargs, [])
            return function(*real_args, **real_kwargs)
        if name in known.FILLED:
            return self._filled(name, function, args, kwargs)
        if name in known.WRITING:
            return self.call(function, args, kwargs, writes=args[:1])
        out = kwargs.get("out")
        if out is not None:
            self.call(function, args, kwargs, writes=(out,))
            return out
        if not known.is_known(name) or (name == "where" and len(args) != 3):
            self.refuse(f"numpy.{name} is not known to depend on shapes only")
        if name in known.JOINING and set(kwargs) <= {"axis"}:
            return self._joined(name, function, args, kwargs)
        if name in known.METHODS:
            return getattr(args[0], name)(*args[1:], **kwargs)
        return self.call(function, args, kwargs)

    def _joined(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """A stack or concatenation, as copies into its parts: most of them are left out later."""
        real_args, _ = self._apart(args, [])
        result = function(*real_args, **kwargs)
        parts = list(args[0]) if isinstance(args[0], (tuple, list)) else []
        axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
        if not all(isinstance(x, Traced) for x in parts) or not isinstance(axis, int) or not parts:
            return self.call(function, args, kwargs)
        if not result.flags.c_contiguous:  # NumPy keeps the order of the parts, and sums keep to it
            return self.call(function, args, kwargs)
        out = self.empty(result.shape, result.dtype)
        before = (slice(None),) * (axis % result.ndim)
        start = 0
        for x in parts:
            size = 1 if name == "stack" else x.shape[axis]
            place = start if name == "stack" else slice(start, start + size)
            view = out[(*before, place, Ellipsis)]
            self.call(np.copyto, (view, x), writes=(view,))
            start += size
        return out

    def _filled(self, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        real_args, _ = self._apart(args, [])
        real_kwargs, _ = self._apart(kwargs, [])
        y = self.root(function(*real_args, **real_kwargs), "empty")
        if name == "full_like":
            fill = args[1] if len(args) > 1 else kwargs["fill_value"]
            _, noted = self._apart(fill, [])
            self.add(
                Step(
                    "effect", np.copyto, (y.value, noted), {"casting": "unsafe"}, writes=(y.value,)
                )
            )
        elif name != "empty_like":
            fill = 0 if name == "zeros_like" else 1
            self.add(Step("effect", np.ndarray.fill, (y.value, fill), {}, writes=(y.value,)))
        return y

    # Host -------------------------------------------------------------------------------------

    def numbers(self, read: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        found = read()
        reader = len(self.readers)
        self.readers.append(read)
        self.add(Step("numbers", read, (reader, len(found)), {}))
        return tuple([_live(x, HostNumber(reader, i)) for i, x in enumerate(found)])


def _raising() -> list[str]:
    """The errors of floating-point numbers that NumPy raises or hands to somebody."""
    return [kind for kind, what in np.geterr().items() if what in ("raise", "call")]


def _live(x: Any, source: HostNumber) -> Any:
    live: Any = LiveFloat(x) if isinstance(x, float) else LiveInt(x)
    live.source = source
    return live


def _copied_into(x: Value) -> Into:
    return Into(np.copyto, (OUT, x, "unsafe"), {})


def _values(y: Any, new: Sequence[Value]) -> Any:
    """The Values in a result, None for what was there before."""
    if isinstance(y, Traced):
        return y.value if any(y.value is value for value in new) else None
    if isinstance(y, (tuple, list)):
        return tuple([_values(item, new) for item in y])
    return None


def _owner(array: Any) -> Any:
    """What owns the memory of an array."""
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


def _holder(x: Any) -> Any:
    """What a view of `x` holds, as NumPy's views hold the owner of their memory."""
    return x.viewed if isinstance(x, Traced) and x.viewed is not None else x


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
