"""Weights that are computed from other parameters whenever they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_gpu import ops
from autograd_gpu.modes import no_grad
from autograd_gpu.nn import init
from autograd_gpu.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from autograd_gpu.nn.functional import normalize
from autograd_gpu.nn.module import Module, Parameter
from autograd_gpu.random import Generator
from autograd_gpu.variable import Variable


class Parametrization(Module):
    """The base of weights' definitions: `forward()` computes the weight from own parameters."""


def register_parametrization(module: Module, name: str, parametrization: Parametrization) -> None:
    """Let `module.<name>`, a Parameter, be what `parametrization` computes from now on.

    Its parameters are those of the module, under "parametrizations.<name>".
    """
    if not isinstance(module._parameters.get(name), Parameter):
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    if "parametrizations" not in module._modules:
        module.__class__ = _class_for_one(type(module), ())
        module.parametrizations = Module()
    del module._parameters[name]
    setattr(module.parametrizations, name, parametrization)
    setattr(type(module), name, _computed(name))


def _class_for_one(kind: type[Module], names: Iterable[str]) -> type[Module]:
    """A class of its own for one object, so that these attributes can be computed."""
    computed = {name: _computed(name) for name in names}
    return type(f"Parametrized{kind.__name__}", (kind,), {"__reduce_ex__": _reduce, **computed})


def _computed(name: str) -> property:
    return property(lambda self: getattr(self.parametrizations, name)())


def _reduce(self: Module, protocol: Any) -> Any:
    # a copy gets another class, for `remove_parametrizations` takes the attribute from the class
    return _blank, (type(self).__bases__[0], tuple(self.parametrizations._modules)), self.__dict__


def _blank(kind: type[Module], names: Iterable[str]) -> Module:
    made = _class_for_one(kind, names)
    return made.__new__(made)


def remove_parametrizations(module: Module, name: str) -> Module:
    """Make `module.<name>` a Parameter again, with the value that it has now.  Returns `module`."""
    if not isinstance(getattr(type(module), name, None), property):
        raise ValueError(f"{type(module).__name__}.{name} has no parametrization")
    with no_grad():
        value = getattr(module, name).value.copy()
    delattr(type(module), name)
    del module.parametrizations._modules[name]
    if not module.parametrizations._modules:
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    setattr(module, name, Parameter(value))
    return module


class _WeightNorm(Parametrization):
    def __init__(self, weight: Parameter, dim: int | None) -> None:
        super().__init__()
        if dim is not None and not -weight.ndim <= dim < weight.ndim:
            raise ValueError(f"weight_norm: dim={dim} is outside weight {list(weight.shape)}")
        axes = set(range(weight.ndim)) - ({dim % weight.ndim} if dim is not None else set())
        self.axes = tuple(sorted(axes))
        with no_grad():
            norm = self._norm(weight).value
        self.original0 = Parameter(norm if dim is not None else norm.reshape(()))
        self.original1 = weight

    def _norm(self, v: Any) -> Any:
        return ops.sqrt(ops.sum_(v * v, axis=self.axes, keepdims=True))

    def forward(self) -> Any:
        return self.original1 * (self.original0 / self._norm(self.original1))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into length and direction, g · v / norm(v), both trained (Salimans and Kingma,
    2016).

    The norm is that of each slice along `dim`, or of the whole weight for None.  Returns `module`.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(_parameter(module, name), dim))
    return module


class _SpectralNorm(Parametrization):
    def __init__(
        self, weight: Parameter, iterations: int, eps: float, dim: int, generator: Any
    ) -> None:
        super().__init__()
        if iterations < 1:
            raise ValueError(f"spectral_norm: n_power_iterations={iterations} must be positive")
        self.iterations, self.eps, self.dim = iterations, eps, dim
        self.original = weight
        vectors = Module()
        setattr(self, "0", vectors)  # named so in PyTorch's files
        with no_grad():
            matrix = self._matrix()
            for side, like in (("_u", matrix[:, 0]), ("_v", matrix[0])):
                start = init.normal_(Variable(like.value.copy()), generator=generator)
                vectors.register_buffer(side, normalize(start, dim=0, eps=eps).detach())
            self._iterate(matrix, 15)

    @property
    def vectors(self) -> Any:
        """The left and the right singular vector, as far as they are known."""
        return self._modules["0"]

    def _matrix(self) -> Any:
        weight = ops.moveaxis(self.original, self.dim, 0) if self.dim else self.original
        return ops.reshape(weight, (weight.shape[0], -1))

    def _iterate(self, matrix: Any, times: int) -> None:
        with no_grad():
            u, v = self.vectors._u, self.vectors._v
            for _ in range(times):
                u = normalize(matrix @ v, dim=0, eps=self.eps)
                v = normalize(ops.matrix_transpose(matrix) @ u, dim=0, eps=self.eps)
            self.vectors._u.writable()[...] = u.value
            self.vectors._v.writable()[...] = v.value

    def forward(self) -> Any:
        matrix = self._matrix()
        if self.training:
            self._iterate(matrix, self.iterations)
        # the vectors are constants: the gradient of the largest singular value is u vᵀ
        return self.original / ops.sum_(self.vectors._u * (matrix @ self.vectors._v))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
    *,
    generator: Generator | None = None,
) -> Module:
    """Divide a weight by its largest singular value, as a matrix whose rows are along `dim` (Miyato
    et al., 2018).

    The value is followed by `n_power_iterations` steps each time the weight is read in training.
    `dim` is 0 unless given, and 1 for transposed convolutions.  Returns `module`.
    """
    weight = _parameter(module, name)
    if weight.ndim < 2:
        raise ValueError(f"spectral_norm: a weight of two axes or more, not {list(weight.shape)}")
    if dim is None:
        transposed = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, eps, dim, generator)
    )
    return module


def _parameter(module: Module, name: str) -> Parameter:
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    return weight
