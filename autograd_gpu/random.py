"""Random numbers: draws on the host for initial values, a counter for masks on the device.

Both give the same numbers on every backend.
"""

from __future__ import annotations

from typing import Any

from autograd_gpu.backend import load_backend
from autograd_gpu.callers import require_keys
from autograd_gpu.recorder import live, recorder


class Generator:
    """A source of random numbers with a seed of its own.

    >>> a, b = Generator(1), Generator(1)
    >>> bool((a.normal((2, 3)) == b.normal((2, 3))).all())
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, an integer in [0, 2**64)."""
        watcher = recorder.get()
        if watcher is not None:
            watcher.refuse("it sets the state of a random generator")
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed is an integer in [0, 2**64), not {seed}")
        self.seed = int(seed)
        self._offset = 0
        self._host = load_backend("numpy").host_generator(self.seed)
        return self

    def uniform(self, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Any:
        """A float64 NumPy array, uniform in [low, high)."""
        _not_replayed()
        return self._host.uniform(low, high, shape)

    def normal(self, shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0) -> Any:
        """A float64 NumPy array from the normal distribution."""
        _not_replayed()
        return self._host.normal(mean, std, shape)

    def permutation(self, n: int) -> Any:
        """The numbers 0 to n - 1 in random order, a NumPy array."""
        _not_replayed()
        return self._host.permutation(n)

    def next_key(self) -> tuple[int, int]:
        """Seed and offset of the next array of counter-based numbers (`xp.random_unit`)."""
        watcher = recorder.get()
        if watcher is not None:
            watcher.on_failure(self._go_back)
        seed, offset = live(self._advance)
        return seed, offset

    def _advance(self) -> tuple[int, int]:
        self._offset += 1
        return self.seed, self._offset

    def _go_back(self) -> None:
        self._offset -= 1

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on from here."""
        return {
            "seed": self.seed,
            "offset": self._offset,
            "host": self._host.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken."""
        require_keys("Generator", state, ("seed", "offset", "host"))
        self.manual_seed(state["seed"])
        self._offset = state["offset"]
        self._host.bit_generator.state = state["host"]


def _not_replayed() -> None:
    """Numbers that are drawn on the host would be constants of a recorded step."""
    watcher = recorder.get()
    if watcher is not None:
        watcher.refuse("it draws random numbers on the host; pass them as arguments")


_default: list[Generator] = []


def default_generator() -> Generator:
    """The generator that is used where none is given; its seed is 0 at first."""
    if not _default:
        _default.append(Generator(0))
    return _default[0]


def manual_seed(seed: int) -> Generator:
    """Seed the default generator: initial values and dropout repeat from here on.

    >>> manual_seed(3).seed
    3
    """
    return default_generator().manual_seed(seed)
