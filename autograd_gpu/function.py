"""Function: ops that users define, with a forward and a backward of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from autograd_gpu.backend import (
    BACKENDS,
    SEVERAL_DEVICES,
    Array,
    backend_mismatch,
    find_backend,
    same_home,
)
from autograd_gpu.function_node import UserNode
from autograd_gpu.function_state import is_differentiable_array, members, origin_of, unconnected
from autograd_gpu.graph import (
    edges_of,
    make_result,
    make_results,
)
from autograd_gpu.modes import recording
from autograd_gpu.operands import unify
from autograd_gpu.placement import elsewhere
from autograd_gpu.values import from_python
from autograd_gpu.variable import Variable


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

    def _has_jvp(self) -> bool:
        return type(self).jvp is not Function.jvp

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
        before = dict(members(function))
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
        if edges is None or not any(is_differentiable_array(x) for x in values):
            plain = tuple([make_result(x) for x in values])
            return plain if several else plain[0]
        known = [x for x, edge in zip(arrays, edges, strict=True) if edge is None]
        known += params.values()
        node = UserNode()
        node.edges = edges
        node.function = function
        node.function_name = name
        node.origins = [origin_of(x, arrays, returned) for x in function._saved]
        function._saved = tuple(
            [
                values[origin[1]] if origin is not None and origin[0] == "output" else x
                for x, origin in zip(function._saved, node.origins, strict=True)
            ]
        )
        node.unconnected = unconnected(function, before, known, node.origins)
        node.several = several
        return make_results(values, node) if several else make_result(values[0], node)


def _raw(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


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
