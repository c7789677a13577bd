"""What `fuse` makes of a function for one signature: a program, and the kernel of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from autograd_gpu import engine
from autograd_gpu.backend import BACKENDS, Backend
from autograd_gpu.graph import alias, gradient_edge, make_result
from autograd_gpu.modes import recording
from autograd_gpu.ops.shape import reshape
from autograd_gpu.precision import casting
from autograd_gpu.primitive import PRIMITIVES
from autograd_gpu.program import NotFusable, Program, equal, joint
from autograd_gpu.summing import split
from autograd_gpu.symbol_backend import symbol_type
from autograd_gpu.tracing import Trace, tracing
from autograd_gpu.variable import Variable


class Plan:
    """The kernel of a function for one signature."""

    def __init__(
        self,
        function: Callable[..., Any],
        backend: Backend,
        kinds: Sequence[Any],
        call: Any,
        is_gradient: bool,
    ) -> None:
        compiled = getattr(backend.xp, "fused_kernel", None)
        if compiled is None:
            raise NotFusable(f"{backend.name} has no fused kernels")
        traced = function if call is None else Call(function, *call)
        kind, dtypes = symbol_type(backend.name), [dtype for dtype, _ in kinds]
        shapes = [shape for _, shape in kinds]
        self.shape = joint(shapes)
        own = any(shape != self.shape for shape in shapes) and not is_gradient
        if own:
            # The kernel has one shape for all.  With those that the arguments have, the function
            # must come to the same.
            program, _, results = _traced(traced, Trace(kind, shapes, dtypes))
            if any(shape != self.shape for shape in results):
                raise NotFusable("a result has not the shape of all arguments together")
        trace = Trace(kind, [self.shape] * len(shapes), dtypes, spread=is_gradient)
        whole, self.wrap, _ = _traced(traced, trace)
        if own and not equal(program, whole):
            raise NotFusable("what it computes depends on the shape of an argument")
        self.several = self.wrap is not _only
        op = _own_kernel(backend, kinds, whole)
        if op is not None:
            raise NotFusable(f"it is {op} alone, for which {backend.name} has a kernel of its own")
        self.dtypes = [whole.dtypes[y.index] for y in whole.outputs]
        self.program, self.sums = split(whole)
        self.kernels: dict[Any, Any] = {}
        self.kernel = compiled(self.program, self.sums, ())

    @property
    def seed(self) -> tuple[int, ...] | None:
        """The shape of a result's gradient with the axes that a sum has lost, if it has lost some
        but not all, which broadcasts to the arguments' shape."""
        of = self.sums and self.sums.of
        return of.kept if of and of.result not in ((), of.kept) else None


def _own_kernel(backend: Backend, kinds: Sequence[Any], program: Program) -> str | None:
    """The op that a program of one array is, if `backend` has a kernel of its own for it."""
    known = getattr(backend.xp, "OWN_KERNELS", {})
    if len(kinds) != 1 or kinds[0][0] not in known:
        return None
    (dtype, shape), kind = kinds[0], symbol_type(backend.name)
    name: str
    for name in known[dtype]:
        if equal(_traced(PRIMITIVES[name].op, Trace(kind, [shape], [dtype]))[0], program):
            return name
    return None


def _traced(
    function: Callable[..., Any], trace: Trace
) -> tuple[Program, Any, list[tuple[int, ...]]]:
    """The program of a function, what makes of a list of results what it returns, and the shapes
    of the results, or of what they are sums of."""
    inputs = trace.inputs()
    variables = [make_result(x) for x in inputs]
    tokens = recording.set(False), tracing.set(trace)
    try:
        returned = function(*variables)
    finally:
        recording.reset(tokens[0])
        tracing.reset(tokens[1])
    given = zip(variables, inputs, strict=True)
    if any(v.value is not x or x.index != i for i, (v, x) in enumerate(given)):
        raise NotFusable("it writes into its arguments")
    several = isinstance(returned, (tuple, list))
    values = [
        y.value if isinstance(y, Variable) else y for y in (returned if several else (returned,))
    ]
    if any(type(y) is not trace.kind for y in values):
        raise NotFusable("it returns something else than what it computes of its arguments")
    sums = [trace.summed[y.index] for y in values]
    shapes = [y.shape if of is None else of.shape for y, of in zip(values, sums, strict=True)]
    return trace.program(values), type(returned) if several else _only, shapes


class Call:
    """A call with its arrays taken out: a function of these alone."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.function = function
        self.args = [None if is_array(x) else x for x in args]
        self.kwargs = {k: None if is_array(x) else x for k, x in kwargs.items()}
        self.places: list[Any] = [i for i, x in enumerate(args) if is_array(x)]
        self.places += [k for k, x in kwargs.items() if is_array(x)]

    def __call__(self, *arrays: Any) -> Any:
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, x in zip(self.places, arrays, strict=True):
            if isinstance(place, int):
                args[place] = x
            else:
                kwargs[place] = x
        return self.function(*args, **kwargs)


class Gradients:
    """The function of the outputs' gradients and the arrays of a call that gives the gradients of
    those arrays that it `needs`.  It computes with the casts of `autocast` as the call did."""

    __slots__ = ("call", "cast", "flows", "needs", "outputs")

    def __init__(self, call: Call, needs: Sequence[bool], outputs: int) -> None:
        self.call, self.needs, self.outputs, self.cast = call, needs, outputs, casting.get()
        self.flows: list[bool] = []
        """For each output whether it depends on such an array, as far as gradients go."""

    def __call__(self, *given: Any) -> tuple[Variable, ...]:
        again = recording.get()
        seeds, arrays = given[: self.outputs], list(given[self.outputs :])
        inputs = []
        tokens = recording.set(True), casting.set(self.cast)
        try:
            for i, need in enumerate(self.needs):
                if not need:
                    continue
                # under create_graph the results have to depend on the arrays that were given
                edge = gradient_edge(arrays[i]) if again else None
                if edge is not None:
                    arrays[i] = alias(arrays[i].value, edge)
                else:
                    arrays[i] = make_result(arrays[i].value)
                    arrays[i].requires_grad = True
                inputs.append(arrays[i])
            returned = self.call(*arrays)
            results = returned if isinstance(returned, (tuple, list)) else (returned,)
            self.flows = [y.requires_grad for y in results]
            pairs = [
                (y, _fitted(g, y.shape))
                for y, g in zip(results, seeds, strict=True)
                if y.requires_grad
            ]
            if not again:
                pairs = [(y, _plain(g)) for y, g in pairs]
            found = [None] * len(inputs)
            if pairs:
                outputs, grads = zip(*pairs, strict=True)
                found = engine.gradients(
                    outputs, inputs, grads, create_graph=again, allow_unused=True
                )
        finally:
            recording.reset(tokens[0])
            casting.reset(tokens[1])
        return tuple(
            [
                make_result(BACKENDS[type(x.value)].xp.zeros_like(x.value)) if grad is None
                else grad
                for grad, x in zip(found, inputs, strict=True)
            ]
        )  # fmt: skip


def _fitted(g: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of a result that a kernel had in a larger shape: with the axes that a sum has
    lost, or, as the gradient of an argument that was broadcast, repeated along some axes."""
    if g.shape == shape:
        return g
    if prod(g.shape) == prod(shape):
        return reshape(g, shape)
    lead = g.ndim - len(shape)
    sizes = zip(shape, g.shape[lead:], strict=True)
    kept = [slice(None) if n == m else slice(0, 1) for n, m in sizes]
    return g[(*[0] * lead, *kept)]


def is_array(x: Any) -> bool:
    return isinstance(x, Variable) or type(x) in BACKENDS


def _only(results: Sequence[Variable]) -> Variable:
    return results[0]


def _plain(g: Any) -> Any:
    return g.value if isinstance(g, Variable) else g
