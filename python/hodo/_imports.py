"""Acting when a module is imported, without importing it."""

from __future__ import annotations

import sys
from _thread import _local

# Every program that imports hodo imports this: what only types need is not loaded for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def when_imported(name: str, action: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Calls ``action`` with the module ``name``, now or right after it is imported.

    Returns what stops waiting.
    """
    module = sys.modules.get(name)
    if module is not None and not _is_being_imported(name, module):
        _tell(action, name, module)
        return lambda: None
    watching = (one for one in sys.meta_path if isinstance(one, Watch) and one.is_for(name, action))
    watch = next(watching, None)
    if watch is None:
        watch = Watch(name, action)
        sys.meta_path.insert(0, watch)
    return watch.step_aside


# Modules whose code has run, though their import may still be on its way: actions are called then.
_ran: set[str] = set()


def _is_being_imported(name: str, module: ModuleType) -> bool:
    # What a test puts in a module's place may have no spec, or one that answers everything.
    spec = getattr(module, "__spec__", None)
    return getattr(spec, "_initializing", False) is True and name not in _ran


def _tell(action: Callable[[ModuleType], None], name: str, module: ModuleType) -> None:
    """Whatever becomes of the action, the program goes on."""
    try:
        action(module)
    except Exception as error:
        from hodo._control import _log

        _log().warning("this %s is not as hodo knows it: %r", name, error)


class Watch:
    """Finds nothing; sees one module being looked for, and steps aside when it is loaded."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._action = action
        # Looking for a module is not importing it: libraries ask whether another is there.
        self._looking = _local()

    def is_for(self, name: str, action: Callable[[ModuleType], None]) -> bool:
        """Whether it waits for ``name`` to do ``action``."""
        return (self._name, self._action) == (name, action)

    def waits_for(self, name: str) -> bool:
        """Whether it is the module ``name`` that it waits for."""
        return self._name == name

    def step_aside(self) -> None:
        """Waits no longer."""
        if self in sys.meta_path:
            # Another list: a thread that is going through this one would miss the finder after it.
            others = sys.meta_path.copy()
            others.remove(self)
            sys.meta_path = others

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            from importlib.util import find_spec

            spec = find_spec(name)
        finally:
            self._looking.now = False
        # One of the old kind has `load_module` alone, and Python has words of its own for one that is not whole.
        if spec is not None and all(hasattr(spec.loader, name) for name in _LOADS):
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec

    def loaded(self, module: ModuleType) -> None:
        """The module is there."""
        if self not in sys.meta_path:
            return
        self.step_aside()
        _tell(self._action, self._name, module)


_LOADS = ("create_module", "exec_module")


class _Loader:
    """Loads as another does, then tells. Else it is the other, for whoever looks, compares, copies or pickles."""

    __slots__ = ("_loader", "_watch")

    def __init__(self, loader: Any, watch: Watch) -> None:
        object.__setattr__(self, "_loader", loader)
        object.__setattr__(self, "_watch", watch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._loader, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._loader.__class__

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self._loader.__dict__

    def __eq__(self, other: object) -> bool:
        return bool(self._loader == (other._loader if type(other) is _Loader else other))

    def __hash__(self) -> int:
        return hash(self._loader)

    def __repr__(self) -> str:
        return repr(self._loader)

    def __reduce__(self) -> tuple[Any, ...]:
        # Loaded where there may be no hodo.
        from operator import getitem

        return (getitem, ((self._loader,), 0))

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        _ran.discard(module.__name__)
        self._loader.exec_module(module)
        _ran.add(module.__name__)
        # Some modules put another in their place.
        there = sys.modules.get(module.__name__, module)
        self._watch.loaded(there)
        # Those that began to wait while it was being imported.
        for watch in list(sys.meta_path):
            if isinstance(watch, Watch) and watch.waits_for(module.__name__):
                watch.loaded(there)
