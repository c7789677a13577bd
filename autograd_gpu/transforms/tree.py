"""Nested tuples, lists and dicts of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.backend import Array
from autograd_gpu.placement import backend_beside
from autograd_gpu.variable import Variable


def tree_map(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with `f` of each leaf; None is no leaf."""
    if isinstance(tree, dict):
        return {key: tree_map(f, item) for key, item in tree.items()}
    if isinstance(tree, (tuple, list)):
        items = [tree_map(f, item) for item in tree]
        if hasattr(tree, "_fields"):  # a named tuple
            return type(tree)(*items)
        return tuple(items) if isinstance(tree, tuple) else items
    return None if tree is None else f(tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves in the order of `tree_map`."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [x for item in tree for x in tree_leaves(item)]
    return [] if tree is None else [tree]


def tree_like(tree: Any, leaves: list[Any]) -> Any:
    """The structure of `tree` with other leaves."""
    left = iter(leaves)
    return tree_map(lambda _: next(left), tree)


def raw(x: Any) -> Any:
    """The array of a Variable; anything else as it is."""
    return x.value if isinstance(x, Variable) else x


def zeros_like(x: Variable) -> Array:
    """A raw array of zeros."""
    return backend_beside(x.value).xp.zeros_like(x.value)
