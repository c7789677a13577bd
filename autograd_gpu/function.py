"""Function: ops that users define, with a forward and a backward of their own."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from autograd_gpu.backend import (
    BACKENDS,
    SEVERAL_DEVICES,
    Array,
    backend_mismatch,
    find_backend,
    same_home,
)
from autograd_gpu.batching import each
from autograd_gpu.forward import connected_to
from autograd_gpu.graph import (
    Edges,
    FunctionNode,
    Gradient,
    Node,
    edges_of,
    gradient_edge,
    make_result,
    make_results,
    reconnected,
    selected,
)
from autograd_gpu.hooks import check_gradient
from autograd_gpu.modes import no_grad, recording
from autograd_gpu.operands import unify
from autograd_gpu.placement import elsewhere
from autograd_gpu.values import DIFFERENTIABLE, from_python
from autograd_gpu.variable import Variable

_OWN = ("_saved", "needs_input_grad")  # what Function itself keeps in an instance
_UNCONNECTED = (
    "{name} can't be differentiated twice: {what}, which the graph knows nothing of; "
    "keep inputs and outputs with self.save(...) in forward, and compute the rest from self.saved "
    "in backward"
)


class Function:
    """Base class of ops that users define.

    A subclass has a `forward(self, *arrays, **params)` and a `backward(self, g)`.

    - `forward` gets raw arrays, and records nothing: the library's functions may be used inside.
      It returns an array or a Variable, or a tuple of them for several outputs.
    - It keeps what `backward` needs as members, or through `self.save(...)`.
    - `backward` gets the gradient of the output, a tuple for several outputs, and returns one
      gradient for each positional argument of `apply`: of that argument's shape and dtype, or None.
      These are raw arrays, or Variables under create_graph.  It must not change `g`, which others
      may share.
    - `self.needs_input_grad` says which arguments need a gradient.
    - `jvp(self, *tangents)` is optional: it gets the tangent of each argument, None where there is
      none, and returns that of the output, a tuple for several outputs.  Without it, `jvp` calls
      `backward` under create_graph.

    Only what went through `self.save` is connected to the graph, so only a Function that saves
    inputs and outputs in that way can be differentiated twice; one that kept floating-point arrays
    otherwise raises RuntimeError then.

    >>> class Cube(Function):
    ...     def forward(self, x, *, scale=1.0):
    ...         self.save(x)
    ...         self.scale = scale
    ...         return scale * x**3
    ...     def backward(self, g):
    ...         (x,) = self.saved
    ...         return 3 * self.scale * g * x * x
    >>> x = Variable(2.0, requires_grad=True)
    >>> Cube.apply(x, scale=10.0).backward()
    >>> x.grad
    array(120., dtype=float32)
    """

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[Any, ...] = ()

    def forward(self, *arrays: Any, **params: Any) -> Any:
        """The value, or a tuple of values."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def backward(self, g: Any) -> Any:
        """One gradient for each input; a tuple where there are several."""
        raise NotImplementedError(f"{type(self).__name__} defines no backward")

    def jvp(self, *tangents: Any) -> Any:
        """The tangent of the output; a tuple where there are several."""
        return NotImplemented

    def save(self, *values: Any) -> None:
        """Keep inputs, outputs and other values for the backward, in `self.saved`."""
        self._saved += tuple([_raw(x) for x in values])

    @property
    def saved(self) -> tuple[Any, ...]:
        """What was saved: raw arrays, or under create_graph Variables connected to the graph."""
        return self._saved

    @classmethod
    def apply(cls, *inputs: Any, **params: Any) -> Any:
        """Run the forward and record it as one node, named after the class.

        Returns a Variable, or a tuple of them.  Arrays and Variables are passed on to `forward` as
        arrays, other objects as they are; only positional arguments have gradients.
        """
        name = cls.__name__
        for key, param in params.items():
            params[key] = _raw(_constant(param, name, key))
        arrays = _arrays(name, inputs)
        if SEVERAL_DEVICES:
            backend = next((BACKENDS[type(x)] for x in arrays if type(x) in BACKENDS), None)
            place = elsewhere(name, backend, arrays) if backend is not None else None
            if place is not None:
                with place:
                    return cls.apply(*inputs, **params)
        edges = edges_of(inputs)
        function = cls()
        function.needs_input_grad = tuple(
            [edge is not None for edge in edges or (None,) * len(inputs)]
        )
        before = dict(_members(function))
        token = recording.set(False)
        try:
            returned = function.forward(*arrays, **params)
        except BaseException as error:
            error.add_note(f"raised in the forward of {name}")
            raise
        finally:
            recording.reset(token)
        several = isinstance(returned, (tuple, list))
        returned = [_raw(x) for x in (returned if several else (returned,))]
        values = [_output(name, x, arrays) for x in returned]
        if not values:
            raise ValueError(f"{name}: forward returned no output")
        if edges is None or not any(_is_differentiable(x) for x in values):
            plain = tuple([make_result(x) for x in values])
            return plain if several else plain[0]
        known = [x for x, edge in zip(arrays, edges, strict=True) if edge is None]
        known += params.values()
        node = UserNode()
        node.edges = edges
        node.function = function
        node.function_name = name
        node.origins = [_origin(x, arrays, returned) for x in function._saved]
        function._saved = tuple(
            [
                values[origin[1]] if origin is not None and origin[0] == "output" else x
                for x, origin in zip(function._saved, node.origins, strict=True)
            ]
        )
        node.unconnected = _unconnected(function, before, known, node.origins)
        node.several = several
        return make_results(values, node) if several else make_result(values[0], node)


class UserNode(FunctionNode):
    """The node of a Function: it owns the Function, and so what that saved."""

    __slots__ = ("function", "function_name", "origins", "several", "unconnected")

    function: Function | None
    function_name: str
    origins: list[tuple[str, int] | None]
    unconnected: list[str]
    several: bool

    @property
    def name(self) -> str:
        """The name of the Function."""
        return self.function_name

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        # User code gets arrays as they are: a batch of gradients comes one by one.
        return each(self._backward, g, edges)  # type: ignore[no-any-return]

    def _backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        function = self._function()
        if edges is not self.edges:
            function = copy.copy(function)
            function.needs_input_grad = tuple([edge is not None for edge in edges])
        g = self._filled(g)
        with no_grad():
            grads = self._counted(function.backward(g))
        like = g[0] if self.several else g
        return tuple(
            [
                None if edge is None or grad is None else self._checked(grad, edge, i, like)
                for i, (grad, edge) in enumerate(zip(grads, edges, strict=True))
            ]
        )

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        g = self._filled(g)
        with connected_to(edges):
            grads = self._counted(self._connected_function(edges).backward(g))
        flowing = tuple(g) if self.several else (g,)
        results: list[Gradient] = []
        for i, (grad, edge) in enumerate(zip(grads, edges, strict=True)):
            if edge is None or grad is None:
                results.append(None)
                continue
            result = self._checked(grad, edge, i, flowing[0])
            what = f"backward returned a plain array for input {i}"
            results.append(self._known(grad, result, flowing, what))
        return tuple(results)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        function = self._function()
        if type(function).jvp is Function.jvp:
            return NotImplemented
        return each(self._jvp, tangents)

    def _jvp(self, tangents: Sequence[Gradient]) -> Gradient:
        with no_grad():
            return self._checked_tangents(self._function().jvp(*tangents), tangents)

    def tangent_recorded(self, tangents: Sequence[Gradient]) -> Gradient:
        if type(self._function()).jvp is Function.jvp:
            return NotImplemented
        with connected_to(self.edges):
            returned = self._connected_function(self.edges).jvp(*tangents)
        results = self._checked_tangents(returned, tangents)
        if not self.several:
            returned, results = (returned,), (results,)
        connected = tuple(
            [
                None if x is None else self._known(given, x, tangents, "jvp returned a plain array")
                for given, x in zip(returned, results, strict=True)
            ]
        )
        return connected if self.several else connected[0]

    def release(self) -> None:
        self.function = None
        self.shape = None

    def _function(self) -> Function:
        assert self.function is not None  # the engine refuses released nodes
        return self.function

    def _connected_function(self, edges: Edges) -> Function:
        """A copy with what was saved as Variables: the Function itself must not own these, as they
        own this node."""
        function = copy.copy(self._function())
        function.needs_input_grad = tuple([edge is not None for edge in edges])
        function._saved = tuple(map(self._connected, function._saved, self.origins))
        return function

    def _filled(self, g: Gradient) -> Gradient:
        """`g` with zeros for the outputs that no gradient reached."""
        if not self.several:
            return g
        first = next(x for x in g if x is not None)
        recorded = isinstance(first, Variable)
        xp = BACKENDS[type(_raw(first))].xp
        filled = []
        for x, shape, dtype in zip(g, self.shape, self.dtype, strict=True):
            if x is None:
                x = xp.zeros(shape, dtype=dtype)
                x = Variable(x) if recorded else x
            filled.append(x)
        return tuple(filled)

    def _counted(self, returned: Any) -> Sequence[Any]:
        n = len(self.edges)
        grads: Sequence[Any] = returned if isinstance(returned, (tuple, list)) else (returned,)
        if len(grads) != n:
            raise ValueError(
                f"the backward of {self.name} returned {len(grads)} gradients for {n} inputs; "
                f"return one for each, None where there is none"
            )
        return grads

    def _checked(self, grad: Any, edge: Node, i: int, like: Any) -> Gradient:
        what = f"the backward of {self.name} for input {i}"
        if not hasattr(grad, "dtype"):
            raise TypeError(f"{what} returned {type(grad).__name__}; an array or None is needed")
        return check_gradient(grad, edge.shape, edge.dtype, what, like=like)

    def _checked_tangents(self, returned: Any, tangents: Sequence[Gradient]) -> Gradient:
        """What `jvp` returned, if it has the kind, shape and dtype of the output."""
        what = f"the jvp of {self.name}"
        like = next(t for t in tangents if t is not None)
        if not self.several:
            return check_gradient(returned, self.shape, self.dtype, what, like=like)
        if not isinstance(returned, (tuple, list)) or len(returned) != len(self.shape):
            raise ValueError(f"{what} must return {len(self.shape)} tangents, one for each output")
        return tuple(
            [
                None if x is None else check_gradient(x, shape, dtype, what, like=like)
                for x, shape, dtype in zip(returned, self.shape, self.dtype, strict=True)
            ]
        )

    def _known(self, given: Any, result: Variable, flowing: Sequence[Any], what: str) -> Variable:
        """`result`, which raises when it is differentiated by more than its graph knows of."""
        if not isinstance(given, Variable):
            edges = [gradient_edge(x) for x in flowing if x is not None]
            return self._once(result, [None, *edges], f"under create_graph its {what}")
        if self.unconnected:
            kept = f"its forward kept {', '.join(self.unconnected)}"
            return self._once(result, [gradient_edge(result)], kept)
        return result

    def _connected(self, value: Any, origin: tuple[str, int] | None) -> Any:
        """A saved value as backward sees it under create_graph."""
        if not _is_differentiable(value):
            return value
        if origin is None:
            return Variable(value)
        kind, i = origin
        if kind == "input":
            edge = self.edges[i]
            return Variable(value) if edge is None else reconnected(value, edge)
        return selected(value, self, i) if self.several else reconnected(value, self)

    def _once(self, result: Variable, edges: list[Node | None], what: str) -> Variable:
        """`result` such that its derivative by the inputs raises."""
        node = Once()
        node.edges = (*edges, *self.edges)
        node.what = _UNCONNECTED.format(name=self.name, what=what)
        return make_result(result.value, node) if any(node.edges) else result


class Once(FunctionNode):
    """A gradient that is known to depend on more than its graph shows: the identity along its first
    edge, an error along the others."""

    __slots__ = ("what",)

    label = "once_differentiable"
    what: str

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        if any(edges[1:]):
            raise RuntimeError(self.what)
        return (g,) + (None,) * (len(edges) - 1)

    def tangent(self, tangents: Sequence[Gradient]) -> Gradient:
        if any(t is not None for t in tangents[1:]):
            raise RuntimeError(self.what)
        return tangents[0]

    backward_recorded = backward
    tangent_recorded = tangent


def _raw(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _is_differentiable(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and (dtype.kind in DIFFERENTIABLE or dtype.name == "bfloat16")


def _arrays(name: str, inputs: tuple[Any, ...]) -> list[Any]:
    """What forward gets: one object per input, no two of them the same array."""
    arrays: list[Any] = []
    backend = None
    for i, x in enumerate(inputs):
        value = _raw(x)
        kind: type = type(value)
        found = BACKENDS.get(kind)
        if found is None:
            _constant(x, name, i)
            if hasattr(value, "dtype"):  # other array types of the backends
                found = find_backend(value)
        if found is not None and found.array_type is kind:
            if backend is not None and not same_home(found, backend):
                raise backend_mismatch(name, [_raw(v) for v in inputs if find_backend(_raw(v))])
            backend = found
            if any(value is other for other in arrays):
                value = value.view()  # so that self.save(...) knows which input is meant
        arrays.append(value)
    if backend is None and arrays and all(isinstance(x, (int, float, complex)) for x in arrays):
        arrays = list(unify(name, *arrays)[1:])
    return arrays


def _constant(x: Any, name: str, key: str | int) -> Any:
    """`x` if no gradient would have to flow into it."""
    items = x.values() if isinstance(x, Mapping) else x if isinstance(x, (list, tuple)) else (x,)
    if recording.get() and any(isinstance(v, Variable) and v.requires_grad for v in items):
        raise TypeError(
            f"{name}.apply: argument {key!r} has a Variable that requires a gradient, which would "
            f"be lost; pass Variables one by one as positional arguments, or detach them"
        )
    return x


def _output(name: str, x: Any, arrays: list[Any]) -> Array:
    """One output of forward as an array of the backend of the inputs."""
    value = _raw(x)
    expected = next((BACKENDS[type(v)] for v in arrays if type(v) in BACKENDS), None)
    found = find_backend(value)
    if found is None:
        if not isinstance(value, (bool, int, float, complex)):
            raise TypeError(
                f"{name}: forward returned {type(value).__name__}; an array, a Variable or a tuple "
                f"of them is needed"
            )
        return from_python(value, backend=expected)
    if type(value) is found.array_type:
        if expected is not None and found is not expected:
            _mixed(name, found.name, expected.name)
        return value
    return (expected or found).asarray(value)


def _mixed(name: str, found: str, expected: str) -> NoReturn:
    raise TypeError(
        f"{name}: forward returned a {found} array for {expected} inputs; nothing is moved silently"
    )


def _origin(x: Any, arrays: list[Any], values: list[Any]) -> tuple[str, int] | None:
    """Which input or output of the forward a saved value is."""
    for kind, candidates in (("input", arrays), ("output", values)):
        for i, candidate in enumerate(candidates):
            if x is candidate:
                return kind, i
    return None


def _unconnected(
    function: Function,
    before: Mapping[str, Any],
    constants: list[Any],
    origins: list[tuple[str, int] | None],
) -> list[str]:
    """The names of what forward kept that may depend on the inputs, unknown to the graph.

    Integers and bools have no derivative, and parameters and inputs without a gradient are
    constant.
    """

    def may_depend(x: Any) -> bool:
        if any(x is constant for constant in constants):
            return False
        if isinstance(x, Mapping):
            return any(map(may_depend, x.values()))
        if isinstance(x, (list, tuple)):
            return any(map(may_depend, x))
        return _is_differentiable(x)

    names = [
        f"self.{name}"
        for name, x in _members(function)
        if not (name in before and before[name] is x) and may_depend(x)
    ]
    names += [
        f"self.saved[{i}]"
        for i, (x, origin) in enumerate(zip(function._saved, origins, strict=True))
        if origin is None and may_depend(x)
    ]
    return names


def _members(function: Any) -> Iterator[tuple[str, Any]]:
    for name, x in vars(function).items():
        if name not in _OWN:
            yield name, x
    cls: Any = type(function)
    for name in _slots(cls):
        if hasattr(function, name):
            yield name, getattr(function, name)


@functools.cache
def _slots(cls: type) -> tuple[str, ...]:
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += (slots,) if isinstance(slots, str) else slots
    return tuple([name for name in names if name not in ("__dict__", "__weakref__")])
