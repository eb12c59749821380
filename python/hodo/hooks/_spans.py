"""The scopes that hooks open: with GPU time and memory where they are asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hodo import _control, _hodo
from hodo.hooks import Settings, Undo
from hodo.hooks._events import Events

if TYPE_CHECKING:
    from hodo.hooks._loop import Loop

_scope = _hodo.scope
NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})
NONE_CLEARED: Mapping[int, int] = MappingProxyType({})
NOTHING: Mapping[int, tuple[str, str, Any]] = MappingProxyType({})


def nobody() -> None:
    """In the place of a weak reference."""


class State:
    """What the hooks know of a thread: an object of its own, since each look at a thread's local
    variables costs more than one at these."""

    __slots__ = (
        "backward",
        "backwards",
        "cleared",
        "depth",
        "evals",
        "evaluating",
        "fetching",
        "forwards",
        "is_foreign",
        "is_optimizing",
        "is_tracing",
        "loops",
        "modules",
        "stepped",
        "tasks",
        "trained",
        "trained_in_eval",
        "usual",
    )

    def __init__(self) -> None:
        self.depth = 0
        """How many modules are being called, up to the deepest that has a scope."""
        self.modules: list[Any] = []
        """Those modules."""
        self.backward: _hodo.Link | None = None
        """The scope of the backward pass that this thread makes."""
        self.is_optimizing = False
        self.is_tracing = False
        """Whether torch is compiling: passes that it makes to see what they do are none of the program's."""
        self.stepped = False
        """Whether the optimizer that a scaler has was stepped."""
        self.forwards = 0
        """Outermost calls of modules since the last backward pass."""
        self.evals = 0
        """Calls of outermost modules in the mode of evaluation."""
        self.backwards = 0
        """Backward passes since the last step of an optimizer, or since it cleared its gradients."""
        self.cleared: Mapping[int, int] = NONE_CLEARED
        """How many of those there were when a module cleared the gradient of a parameter, by its number."""
        self.trained: Callable[[], Any] = nobody
        """Weak reference to the module that was last called with gradients."""
        self.trained_in_eval: Callable[[], Any] = nobody
        """The same where that was in the mode of evaluation when an optimizer made a step: so its
        mode does not tell, as that of a frozen model which the loss is of."""
        self.usual: Mapping[int, tuple[str, str, Any]] = NOTHING
        """Name and tag of the scope of an outermost module by the number of its class, where nothing else
        is to be said, and a weak reference to the class; nothing where that does not hold."""
        self.loops: list[Loop] = []
        """Loops that call back, the innermost last."""
        self.tasks: WeakKeyDictionary[Any, list[Loop]] | None = None
        """Those of asyncio's tasks, which take turns on a thread; None where no task was in any."""
        self.fetching = 0
        """Whether data are waited for."""
        self.evaluating = 0
        """Whether a framework evaluates, whatever the mode of its model."""
        # Autograd's own threads work for the thread that called backward.
        self.is_foreign = isinstance(threading.current_thread(), threading._DummyThread)


class Here(threading.local):
    """The state of the thread that asks."""

    def __init__(self) -> None:
        self.state = State()


here = Here()
# A child is in none of its parent's modules and passes.
os.register_at_fork(after_in_child=here.__init__)  # type: ignore[misc]


class Spans:
    """Opens scopes, measured or not."""

    def __init__(self, torch: Any, settings: Settings, undo: Undo) -> None:
        self.events = Events(torch, undo)
        self._memory = Memory(torch.cuda) if settings.memory else None

        self.are_plain = False
        """Whether scopes were nothing but scopes when it was last looked."""

    def open(self, name: str, attrs: Mapping[str, Any] = NO_ATTRIBUTES) -> Any:
        """A scope, to be entered with ``with``."""
        events = self.events
        # Written out, as what every step does.
        if self.are_plain and events.left > 0:
            events.left -= 1
            return _scope(name, **attrs) if attrs else _scope(name)
        self.are_plain = self._memory is None and not events.are_wanted()
        scope = _scope(name, **attrs)
        return scope if self.are_plain else _Measured(scope, events, self._memory)


class _Measured:
    """A scope that also knows what the GPU did meanwhile."""

    __slots__ = ("_began", "_events", "_held", "_memory", "_scope")

    def __init__(self, scope: Any, events: Events, memory: Memory | None) -> None:
        self._scope, self._events, self._memory = scope, events, memory

    def __enter__(self) -> Any:
        scope = self._scope.__enter__()
        self._held = None if self._memory is None else self._memory.begin()
        self._began = self._events.begin()
        return scope

    def _cancel(self) -> None:
        """Takes it back as if it had not been opened."""
        if self._began is not None:
            self._events.give_back(self._began)
        if self._held is not None and self._memory is not None:
            self._memory.end(self._held)
        self._scope._cancel()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if self._began is not None:
                self._events.end(self._began, _hodo.current())
            if self._held is not None and self._memory is not None:
                self._scope.set(**self._memory.end(self._held))
        finally:
            self._scope.__exit__(kind, error, trace)


class Memory:
    """Bytes of torch's CUDA allocator, on the current device, by scope."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._here = threading.local()
        self._has_failed = False

    def begin(self) -> list[int] | None:
        """What is held now; None before CUDA is used, and where nobody can tell."""
        if self._has_failed or not self._cuda.is_initialized():
            return None
        try:
            self._fold()
            held = int(self._cuda.memory_allocated())
        except Exception as error:
            self._give_up(error)
            return None
        mine = [held, held]
        self._open().append(mine)
        return mine

    def end(self, mine: list[int]) -> dict[str, int]:
        """What changed since, and the most that was held."""
        try:
            self._fold()
            now = int(self._cuda.memory_allocated())
        except Exception as error:
            self._give_up(error)
            return {}
        finally:
            # By what they are: those that hold as much are equal.
            self._here.open = [each for each in self._open() if each is not mine]
        held, peak = mine
        return {"memory_delta_bytes": now - held, "memory_peak_bytes": max(peak, now)}

    def _open(self) -> list[list[int]]:
        if not hasattr(self._here, "open"):
            self._here.open = []
        scopes: list[list[int]] = self._here.open
        return scopes

    def _fold(self) -> None:
        """Tells the peak since the last time to every open scope, and begins a new one."""
        if self._open():
            peak = int(self._cuda.max_memory_allocated())
            for scope in self._open():
                scope[1] = max(scope[1], peak)
        self._cuda.reset_peak_memory_stats()

    def _give_up(self, error: Exception) -> None:
        """The allocator does not tell, as one that the program plugged in."""
        if not self._has_failed:
            self._has_failed = True
            _control._log().warning("no bytes of CUDA memory by scope: %r", error)
