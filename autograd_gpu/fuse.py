"""fuse: a function of elementwise ops becomes one op, and its derivative another one.

The function is run once on Symbols, which write down what it computes; so is the engine, through
the ops' own derivatives, for the gradients.  A backend makes one kernel of each.  Sums may come
last, since their gradients are those of all elements.  The gradients are a function of elementwise
ops again, and are fused, and differentiated, in the same way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograd_gpu.backend import BACKENDS, Array, Backend
from autograd_gpu.batching import each
from autograd_gpu.callers import require_function
from autograd_gpu.fuse_plan import Call, Gradients, Plan, is_array
from autograd_gpu.graph import (
    Edges,
    FunctionNode,
    Gradient,
    edges_of,
    make_result,
    make_results,
    reconnected,
)
from autograd_gpu.operands import filled
from autograd_gpu.ops.shape import reshape
from autograd_gpu.precision import casting
from autograd_gpu.program import NotFusable, sharing
from autograd_gpu.safety import safe
from autograd_gpu.values import get_default_dtype
from autograd_gpu.variable import Variable

KEPT = 256
"""Kernels that one function keeps; when there are more, all are forgotten."""


class Fused:
    """What `fuse` makes of a function."""

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, is_gradient: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or str(getattr(function, "__name__", "fused"))
        self.reason: str | None = None
        """Why the last call ran the function op by op; None if it was one kernel."""
        self._is_gradient = is_gradient
        self._plans: dict[Any, Any] = {}
        self._gradients: dict[Any, Fused] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if safe.get():
            self.reason = "nan_safe looks at the gradient of every op"
            return self.function(*args, **kwargs)
        try:
            backend, arrays, key = _signature(args, kwargs)
            plan = self._plan(backend, arrays, key, args, kwargs)
        except NotFusable as error:
            self.reason = str(error)
            return self.function(*args, **kwargs)
        edges = edges_of(arrays)
        raw = [x.value if isinstance(x, Variable) else x for x in arrays]
        if edges is not None:
            gradient = self._gradient(plan, args, kwargs, [edge is not None for edge in edges])
            kernels = gradient.kernels(plan, backend, raw, edges)
            if isinstance(kernels, str):
                self.reason = f"its gradient can't be fused: {kernels}"
                return self.function(*args, **kwargs)
        self.reason = None
        if edges is None or not any(kernels[2]):
            return plan.wrap([make_result(y) for y in plan.kernel(raw, plan.shape)])
        forward, backward, flows = kernels
        values = forward(raw, plan.shape)
        outputs = len(plan.dtypes)
        node = FusedNode()
        node.edges = edges
        node.function_name = self.name
        node.gradient = gradient
        node.kernel = backward
        node.saved = raw
        node.kept = (plan.shape, values[outputs:])
        node.seed = plan.seed
        values = values[:outputs]
        if not plan.several:
            return make_result(values[0], node)
        results = zip(make_results(values, node), values, flows, strict=True)
        return plan.wrap([y if flow else make_result(value) for y, value, flow in results])

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def kernels(
        self, forward: Plan, backend: Backend, arrays: Sequence[Array], edges: Edges
    ) -> Any:
        """For the gradient function `self` the kernels of the forward and of the backward, the
        first with what it keeps as further outputs, the second with gradients that it may sum to
        the shapes of their arrays, and which outputs have a gradient; or why there are none."""
        found = forward.kernels.get(self)
        if found is None:
            try:
                kinds = [(dtype, forward.shape) for dtype in forward.dtypes]
                kinds += [(x.dtype, x.shape) for x in arrays]
                plan = self._planned(backend, kinds, (backend, *kinds), None)
                # Memory is slow on a GPU, so that there all is computed anew.
                costly = getattr(backend.xp, "COSTLY", ())
                sums, outputs = forward.sums, len(forward.dtypes)
                first, second = sharing(
                    forward.program, plan.program, outputs, costly, are_stored=sums is None
                )
                assert isinstance(self.function, Gradients)
                flows = tuple(self.function.flows)
                targets = [x.shape for x, to in zip(arrays, edges, strict=True) if to is not None]
                compiled = backend.xp.fused_kernel
                found = compiled(first, sums, ()), compiled(second, None, targets), flows
            except NotFusable as error:
                found = str(error)
            forward.kernels[self] = found
        return found

    # Plans --------------------------------------------------------------------------------------

    def _plan(
        self,
        backend: Backend,
        arrays: Sequence[Any],
        key: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Plan:
        plan = self._plans.get(key)
        if plan.__class__ is Plan:
            return plan
        kinds = [(x.dtype, x.shape) for x in arrays]
        return self._planned(backend, kinds, key, (args, kwargs))

    def _planned(self, backend: Backend, kinds: Sequence[Any], key: Any, call: Any) -> Plan:
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= KEPT:
                self._plans.clear()
            try:
                plan = Plan(self.function, backend, kinds, call, self._is_gradient)
            except Exception as error:  # whatever stops it, op by op it may work, or say why not
                plan = str(error) or type(error).__name__
                if "fuse on" in plan:  # beside a Symbol
                    plan = "it uses an array that is no argument of the function"
            self._plans[key] = plan
        if isinstance(plan, str):
            raise NotFusable(plan)
        return plan

    def _gradient(
        self, plan: Plan, args: tuple[Any, ...], kwargs: Mapping[str, Any], needs: Sequence[bool]
    ) -> Fused:
        """The function of the outputs' gradients and the inputs that gives those of the inputs."""
        key = (tuple(needs), plan)
        fused = self._gradients.get(key)
        if fused is None:
            if len(self._gradients) >= KEPT:
                self._gradients.clear()
            gradients = Gradients(Call(self.function, args, kwargs), needs, len(plan.dtypes))
            fused = Fused(gradients, f"{self.name}_gradient", True)
            self._gradients[key] = fused
        return fused


class FusedNode(FunctionNode):
    """The node of a fused function: it keeps the inputs, and what is costly to compute anew."""

    __slots__ = ("function_name", "gradient", "kept", "kernel", "saved", "seed")

    function_name: str
    gradient: Fused
    kernel: Callable[..., tuple[Array, ...]]
    saved: Sequence[Array] | None
    kept: Any
    seed: tuple[int, ...] | None

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function_name

    def backward(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        return each(self._backward, g)  # type: ignore[no-any-return]

    def _backward(self, g: Gradient) -> tuple[Gradient, ...]:
        assert self.saved is not None  # the engine refuses released nodes
        if g.__class__ is tuple:
            _, g = filled(g, self)
        else:
            g = (g,)
        if self.seed is not None:
            g = [x.reshape(self.seed) for x in g]
        shape, kept = self.kept
        return self._spread(self.kernel([*g, *self.saved, *kept], shape))

    def backward_recorded(self, g: Gradient, edges: Edges) -> tuple[Gradient, ...]:
        assert self.saved is not None
        if g.__class__ is tuple:
            _, g = filled(g, self, Variable)
            g = [x if isinstance(x, Variable) else Variable(x) for x in g]
        else:
            g = (g,)
        if self.seed is not None:
            g = [reshape(x, self.seed) for x in g]
        inputs = [
            Variable(x) if edge is None else reconnected(x, edge)
            for x, edge in zip(self.saved, self.edges, strict=True)
        ]
        return self._spread(self.gradient(*g, *inputs))

    def _spread(self, grads: Sequence[Gradient]) -> tuple[Gradient, ...]:
        flowing = iter(grads)
        return tuple([None if edge is None else next(flowing) for edge in self.edges])

    def release(self) -> None:
        self.saved = self.kept = None
        self.shape = None


def fuse(function: Callable[..., Any]) -> Fused:
    """Make one kernel of a function of elementwise ops, and another one of its gradients.

    The function takes Variables or arrays that broadcast to one shape, besides numbers, strings
    and None, and returns a Variable or a tuple of them.  It may end in sums or means, over all axes
    or over the same ones, and compute with these: negate or scale them, add them to each other, or
    what needs no gradient anything else.

    It runs once for every combination of shapes, dtypes and other arguments, so what it computes
    must depend on these only.  Inputs are kept for the backward, and on a CPU what takes longer to
    compute anew (exponentials and such), or if it is no more memory, all that the gradients are
    multiplied by.

    It pays for several ops on large arrays, the memory of which each op by itself would read and
    write.  On a CPU it does not pay on small arrays: looking up the kernel takes longer there than
    the ops do, and the plain function is faster.  What helps a step of these is `compile`.

    Where a function can't be fused (it indexes, branches on values, goes on to compute elements
    with a sum, uses arrays that are no arguments, writes into its arguments, or has a result of
    another shape than all of them together), where the gradient needs the value of a sum (of its
    square root, say), or where it is one op that has a kernel of its own (`gelu` in its tanh form
    on a CPU), it runs op by op as if it were not decorated, and `.reason` says why.

    >>> @fuse
    ... def swish(x, beta=1.0):
    ...     return x * sigmoid(beta * x)
    >>> x = Variable([0.0, 1.0], requires_grad=True)
    >>> swish(x).sum().backward()
    >>> x.grad.round(3)
    array([0.5  , 0.928], dtype=float32)
    >>> print(swish.reason)
    None
    >>> import math
    >>> @fuse
    ... def log_cosh_loss(x, target):
    ...     return mean(logaddexp(x - target, target - x) - math.log(2))
    >>> loss = log_cosh_loss(x, Variable([0.0, 0.0]))
    >>> f"{loss.item():.3f}", log_cosh_loss.reason
    ('0.217', None)
    """
    require_function("fuse", function, "fuse(f)(x)")
    return Fused(function)


def _signature(
    args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Backend, list[Any], tuple[Any, ...]]:
    """The backend, the arrays among the arguments, and the key of the plan."""
    arrays: list[Any] = []
    key: list[Any] = []
    backend: Backend | None = None
    for name, x in (*enumerate(args), *kwargs.items()):
        if is_array(x):
            found = BACKENDS[type(x.value if isinstance(x, Variable) else x)]
            if backend is not None and found is not backend:
                raise NotFusable("its arguments live on two backends")
            backend = found
            arrays.append(x)
            key.append((x.dtype, x.shape))
        elif x is None or isinstance(x, (bool, int, float, complex, str)):
            key.append((name, type(x), repr(x)))
        else:
            raise NotFusable(f"argument {name!r} is of type {type(x).__name__}")
        if isinstance(name, str):
            key.append(name)
    if backend is None:
        raise NotFusable("no argument is an array")
    if backend.array_type not in BACKENDS or backend.name.startswith("fuse on"):
        raise NotFusable("it is part of another fused function")
    return backend, arrays, (backend, casting.get(), get_default_dtype(), *key)
