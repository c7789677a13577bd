"""What a backend provides: all that the layers above may ask of an array library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from autograd_gpu.recorder import Recorder

Array: TypeAlias = Any
"""A backend's own array: numpy.ndarray or cupy.ndarray."""

Namespace: TypeAlias = Any
"""A module-like object with the array API's functions; see `Backend.xp`."""


class BackendError(ImportError):
    """A backend was asked for that cannot work on this machine; the message says why."""


class Uploader(Protocol):
    """Copies from the host that run beside what the thread that made it computes."""

    def working(self) -> AbstractContextManager[None]:
        """For other threads: what they compute inside is ordered with the maker's work."""
        ...

    def send(self, x: Any) -> Any:
        """Begin to copy a NumPy array; `receive` takes what this returns."""
        ...

    def receive(self, sent: Any) -> Array:
        """The array on the device, which later work of the maker sees complete."""
        ...


class Backend(Protocol):
    """An array library, as far as this project uses one.

    `xp` is the backend's array_api_compat namespace with a few names added or replaced, which the
    forwards and derivatives of ops use like any other:

    - `assign(x, index, v)`: `x[index] = v` in place; where the index repeats an element, the last
      write wins
    - `conj(x)`: real arrays and Python numbers come back as they are, not copied
    - `matmul(a, b)`, NumPy's rules; transposed views are multiplied as they are
    - `scatter_add(g, index, shape)`: zeros of `shape` with `g` added at `index` (anything that
      indexes an array); repeated indices add up, in the same order every time
    - `masked(x, mask)`: `x` where the mask holds, or numbers in its place are not 0; 0 elsewhere
    - `windows(x, size, stride, dilation)`: a read-only view [..., *out, *size] of the windows over
      the last `len(size)` axes
    - `special.name(...)`: the functions of scipy.special, or a clear ImportError
    - `conv`, `conv_input`, `conv_weight` and the pooling functions of `ops.convolution` and
      `ops.pooling`, with the same arguments
    - optionally, faster forms of the steps that `ops.kernels.kernel` marks, by their names
    """

    @property
    def name(self) -> str:
        """'numpy' or 'cupy'."""
        ...

    @property
    def xp(self) -> Namespace:
        """The namespace in which forwards and derivatives are computed."""
        ...

    @property
    def array_type(self) -> type:
        """The exact type of this backend's arrays, also of 0-d ones."""
        ...

    def asarray(self, data: Any, dtype: Any = None) -> Array:
        """An array of this backend from a number, a list or its own arrays and scalars.

        Never moves an array from another backend: that raises TypeError.
        """
        ...

    def constant(self, data: Any, dtype: Any = None) -> Array:
        """An array from numbers, a list or a NumPy array that follow from shapes and options alone.

        Small ones are not copied to the device but written there, also in a recorded step, where
        they are constants.
        """
        ...

    def to_host(self, x: Array) -> Any:
        """A NumPy copy of `x`; waits for the device."""
        ...

    def from_host(self, x: Any, device: Any = None) -> Array:
        """A copy of the NumPy array `x` on this backend."""
        ...

    def uploader(self) -> Uploader:
        """For copies to the device that current computation does not wait for."""
        ...

    def recorder(self) -> Recorder:
        """For one run of a step that is to be replayed; see `compile`."""
        ...

    def device(self, x: Array) -> Any:
        """Where `x` lives, as the array API's `device` attribute says it."""
        ...

    def device_count(self) -> int:
        """How many devices arrays may live on."""
        ...

    def device_number(self, x: Array) -> int:
        """The number of the device of `x`."""
        ...

    def current_device(self) -> int:
        """The number of the device on which this thread computes."""
        ...

    def use_device(self, number: int) -> int:
        """Let this thread compute on that device from now on; the number of the one before."""
        ...

    def to_device(self, x: Array, device: Any) -> Array:
        """A copy of `x` on another device of this backend; waits for nothing."""
        ...

    def synchronize(self) -> None:
        """Wait until all work submitted to the current device is done."""
        ...

    def memory(self) -> Mapping[str, int]:
        """Bytes in use and reserved by the allocator; empty where there is no pool."""
        ...

    def advice(self, error: BaseException) -> str | None:
        """What to do about an error that comes from this library's device or compiler."""
        ...

    def index_report(self) -> Any:
        """Looks at indices on the device (`add`, `error`); None where indexing raises by itself."""
        ...

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """Within it a singular matrix and the like raise LinAlgError, which may wait."""
        ...

    def is_shared(self, x: Array) -> bool:
        """Whether `x` is a view of another buffer, or has a layout that cannot be written into."""
        ...

    def host_generator(self, seed: int) -> Any:
        """A numpy.random.Generator: it draws on the host, the same numbers on every backend."""
        ...

    def steps(
        self,
        name: str,
        arrays: Sequence[Sequence[Array | None]],
        options: Callable[[], Mapping[str, Any]],
        copies: Sequence[Array | None] | None = None,
        skip: tuple[Array | None, Array] | None = None,
    ) -> None:
        """The step `name` in place for each of `arrays`, with one call of `options`.

        Each of `arrays` is a parameter, its gradient and what the optimiser keeps for it, all of
        one shape; `copies[i]`, where given, takes the new value of the parameter.  In a recorded
        step `options` is called again for each repetition.  `skip`, in a recorded step that is
        not executed meanwhile, is a bool with which nothing is changed, or None, and the number of
        earlier steps in which nothing was, which is taken off the option `step`; 0-d arrays.

        - `sgd`: momentum or None; lr, momentum, dampening, weight_decay, nesterov, first
        - `adam`: m, v; `amsgrad`: m, v, largest; lr, beta1, beta2, eps, weight_decay, decoupled,
          step (from 1 on); so too `radam`; `nadam` with momentum_decay besides
        - `adamax`, `lamb`: m, v; lr, beta1, beta2, eps, weight_decay, step
        - `rmsprop`: square, momentum or None, average or None; lr, alpha, eps, weight_decay,
          momentum
        - `adagrad`: sum of squares; lr, lr_decay, eps, weight_decay, step
        - `adadelta`: means of squares of gradients and of steps; lr, rho, eps, weight_decay
        - `rprop`: gradient before, lengths of steps; less, more, least, most
        - `lion`: m; lr, beta1, beta2, weight_decay
        - `average`: an average and the value that it follows by 1 - decay of the distance
        """
        ...

    def unscale(self, grads: Sequence[Array], inverse: Any) -> Array:
        """Multiply `grads` by `inverse` in place; a 0-d bool: whether any of them was not finite.

        `inverse` is a number, or, in a recorded step that is not executed meanwhile, a 0-d float64
        array.
        """
        ...
