"""One run of a function that carries tangents of its arguments along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograd_gpu.backend import BACKENDS, backend_mismatch
from autograd_gpu.forward import Level
from autograd_gpu.graph import Carrier, gradient_edge, make_result
from autograd_gpu.modes import enable_grad, levels, recording
from autograd_gpu.placement import copied
from autograd_gpu.transforms.run import require_differentiable, seed
from autograd_gpu.transforms.tree import raw, tree_leaves, tree_map, zeros_like
from autograd_gpu.variable import Variable


class ForwardRun:
    """`f(*xs)` with the tangents `vs` of the leaves of `xs`; `y` is what it returned."""

    def __init__(self, f: Callable[..., Any], xs: Sequence[Any], vs: Sequence[Any]) -> None:
        self.name = getattr(f, "__name__", type(f).__name__)
        self.recording = recording.get()
        self.level = Level()
        given = tree_leaves(list(xs))
        self.has_variables = any(isinstance(x, Variable) for x in [*given, *vs])
        left = iter(vs)
        opened = tree_map(lambda x: self._open(x, next(left)), list(xs))
        with self.level, enable_grad():
            self.y = f(*opened)

    def _open(self, x: Any, v: Any) -> Variable:
        """A Variable in place of `x`, whose Node has the tangent `v`."""
        node = Carrier()
        node.edges, node.tangents = (), {}
        if isinstance(x, Variable) and self.recording and x.requires_grad:
            node.edges = (gradient_edge(x),)
        x = x if isinstance(x, Variable) else Variable(x)
        require_differentiable(x, self.name)
        v = self._tangent(v, x)
        opened = make_result(x.value, node)
        carrier = opened.grad_fn  # another one, perhaps, if there are runs around this
        assert isinstance(carrier, Carrier)
        carrier.tangents[self.level.key] = v
        return opened

    def _tangent(self, v: Any, x: Variable) -> Any:
        """`v` as a raw array, or as a Variable if it has a graph."""
        if isinstance(v, Variable) and self.recording and v.requires_grad:
            return v
        v = raw(seed(v, x))
        v = v if type(v) in BACKENDS else Variable(v, dtype=x.dtype).value
        if type(v) is not type(x.value):
            raise backend_mismatch("jvp: an argument and its tangent", [x.value, v])
        return v

    def values(self) -> Any:
        """What `f` returned, as the caller wants it: without what was needed in this run."""

        def close(y: Any) -> Any:
            if not isinstance(y, Variable):
                return y
            if self.recording and not self.level.is_inner(gradient_edge(y), levels.get()):
                return y
            return y.detach() if self.has_variables else y.writable()

        return tree_map(close, self.y)

    def tangents(self) -> Any:
        """The tangents of what `f` returned, zeros where there is none."""

        def tangent(y: Any) -> Any:
            y = y if isinstance(y, Variable) else Variable(y)
            node = y.grad_fn
            v = self.level.tangent(node)
            if v is None:
                v = zeros_like(y)
            if isinstance(v, Variable):
                if self.recording and v.requires_grad:
                    return v
                v = v.value
            v = copied(v)  # nobody else's, whatever ops make of tangents
            return Variable(v) if self.has_variables else v

        return tree_map(tangent, self.y)
