"""Watching Variables: reads and writes of `value` and `grad` pass through the recorder.

The slots of the class are replaced by properties for as long as a recording lasts, so that nothing
is paid for at any other time.  Other threads see no difference but speed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from autograd_gpu.modes import replaced_slots
from autograd_gpu.recorder import Recorder, recorder
from autograd_gpu.variable import Variable

_slots = {name: Variable.__dict__[name] for name in ("value", "grad")}

# One recording at a time: the properties are the whole process's.
_lock = threading.RLock()


@dataclass
class Seen:
    """What a step did with Variables."""

    new: set[int] = field(default_factory=set)
    """The ids of those that it made.  An older one, which was there all the time, has another."""
    elsewhere: set[int] = field(default_factory=set)
    """The ids of those that other threads have made meanwhile."""
    changed: list[Variable] = field(default_factory=list)
    """Older ones that it set the value of."""

    def reason(self) -> str | None:
        """Why the step can't be replayed."""
        for x in self.changed:
            if x.grad_fn is not None and x.grad_fn.shape is not None:
                return f"it leaves a graph behind, in a Variable of shape {x.shape} from outside"
        return None


@contextmanager
def watched(watcher: Recorder) -> Iterator[Seen]:
    """Let `watcher` see what this thread does with Variables."""
    seen = Seen()
    with _lock:
        watching = {name: _property(name, seen) for name in _slots}
        for name, member in {**watching, "writable": _writable(seen)}.items():
            setattr(Variable, name, member)
        token = recorder.set(watcher)
        replaced_slots.append(None)
        try:
            yield seen
        finally:
            replaced_slots.pop()
            recorder.reset(token)
            for name, member in {**_slots, "writable": _plain_writable}.items():
                setattr(Variable, name, member)


def _property(name: str, seen: Seen) -> property:
    slot = _slots[name]
    load, store = slot.__get__, slot.__set__

    def read(variable: Variable) -> Any:
        array = load(variable)  # AttributeError where it is unset, as from the slot itself
        watcher = recorder.get()
        if watcher is None:  # another thread, to which arrays are what they always are
            return getattr(array, "untraced", array)
        if id(variable) in seen.elsewhere:
            watcher.refuse("it reads a Variable that another thread has made meanwhile")
        given = watcher.reads(variable, name, array)
        if given is not array:
            store(variable, given)
        return given

    def write(variable: Variable, array: Any) -> None:
        watcher = recorder.get()
        if watcher is not None:
            if name == "value" and not _is_set(variable):
                seen.new.add(id(variable))
                seen.elsewhere.discard(id(variable))
            is_new = id(variable) in seen.new
            if name == "value" and not is_new:
                seen.changed.append(variable)
            watcher.writes(variable, name, array, is_new)
        elif name == "value" and not _is_set(variable):
            seen.elsewhere.add(id(variable))
            seen.new.discard(id(variable))
        store(variable, array)

    return property(read, write)


_plain_writable = Variable.writable


def _writable(seen: Seen) -> Callable[[Variable], Any]:
    """`Variable.writable` that tells the recorder, since its array is about to be written into."""

    def writable(variable: Variable) -> Any:
        array = _plain_writable(variable)
        watcher = recorder.get()
        if watcher is not None:
            watcher.writes(variable, "value", array, id(variable) in seen.new)
        return array

    return writable


def _is_set(variable: Variable) -> bool:
    """Whether the Variable has a value; one that is being made has none yet."""
    try:
        _slots["value"].__get__(variable)
    except AttributeError:
        return False
    return True
