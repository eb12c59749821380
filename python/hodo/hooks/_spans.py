"""The scopes that hooks open: with GPU time and memory where they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo
from hodo.hooks._events import Events


NOTHING: Mapping[type, tuple[str, str]] = MappingProxyType({})


class State:
    """What the hooks know of a thread: an object of its own, since each look at a thread's local
    variables costs more than one at these."""

    __slots__ = (
        "backwards",
        "depth",
        "forwards",
        "is_backward",
        "is_foreign",
        "is_optimizing",
        "modules",
        "stepped",
        "trained",
        "usual",
    )

    def __init__(self) -> None:
        self.depth = 0
        """How many modules are being called, up to the deepest that has a scope."""
        self.modules: list[Any] = []
        """Those modules."""
        self.is_backward = False
        self.is_optimizing = False
        self.stepped = False
        """Whether the optimizer that a scaler has was stepped."""
        self.forwards = 0
        """Outermost calls of modules since the last backward pass."""
        self.backwards = 0
        """Backward passes since the last step of an optimizer."""
        self.trained: Any = None
        """Weak reference to the module that was last called with gradients."""
        self.usual: Mapping[type, tuple[str, str]] = NOTHING
        """Name and tag of the scope of an outermost module by its class, where nothing else is to be
        said or asked; nothing where that does not hold."""
        # Autograd's own threads work for the thread that called backward.
        self.is_foreign = isinstance(threading.current_thread(), threading._DummyThread)


class Here(threading.local):
    """The state of the thread that asks."""

    def __init__(self) -> None:
        self.state = State()


here = Here()


class Spans:
    """Opens scopes, measured or not."""

    def __init__(self, torch: Any, settings: Settings, undo: Undo) -> None:
        self.events = Events(torch, undo)
        self._memory = Memory(torch.cuda) if settings.memory else None

        self.are_plain = False
        """Whether scopes were nothing but scopes when it was last looked."""

    def open(self, name: str, **attrs: Any) -> Any:
        """A scope, to be entered with ``with``."""
        events = self.events
        # Written out, as what every step does.
        if self.are_plain and events.left > 0:
            events.left -= 1
            return _hodo.scope(name, **attrs)
        self.are_plain = self._memory is None and not events.are_wanted()
        scope = _hodo.scope(name, **attrs)
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

    def begin(self) -> list[int] | None:
        """What is held now; None before CUDA is used."""
        if not self._cuda.is_initialized():
            return None
        self._fold()
        held = int(self._cuda.memory_allocated())
        mine = [held, held]
        self._open().append(mine)
        return mine

    def end(self, mine: list[int]) -> dict[str, int]:
        """What changed since, and the most that was held."""
        self._fold()
        held, peak = mine
        if mine in self._open():
            self._open().remove(mine)
        now = int(self._cuda.memory_allocated())
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
