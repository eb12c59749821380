"""Acting when a module is imported, without importing it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def when_imported(name: str, action: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Calls ``action`` with the module ``name``, now or right after it is imported.

    Returns what stops waiting.
    """
    module = sys.modules.get(name)
    if module is not None and not _is_being_imported(module):
        action(module)
        return lambda: None
    watching = (one for one in sys.meta_path if isinstance(one, Watch) and one.is_for(name, action))
    watch = next(watching, None)
    if watch is None:
        watch = Watch(name, action)
        sys.meta_path.insert(0, watch)
    return watch.step_aside


# Modules whose code has run, though their import is still on its way: actions are called then.
_ran: set[str] = set()


def _is_being_imported(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False)) and module.__name__ not in _ran


class Watch:
    """Finds nothing; sees one module being looked for, and steps aside when it is loaded."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._action = action
        # Looking for a module is not importing it: libraries ask whether another is there.
        self._looking = threading.local()

    def is_for(self, name: str, action: Callable[[ModuleType], None]) -> bool:
        """Whether it waits for ``name`` to do ``action``."""
        return (self._name, self._action) == (name, action)

    def waits_for(self, name: str) -> bool:
        """Whether it is the module ``name`` that it waits for."""
        return self._name == name

    def step_aside(self) -> None:
        """Waits no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.now = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec

    def loaded(self, module: ModuleType) -> None:
        """The module is there."""
        if self not in sys.meta_path:
            return
        self.step_aside()
        try:
            self._action(module)
        except Exception as error:
            from hodo._control import _log

            _log().warning("this %s is not as hodo knows it: %r", module.__name__, error)


class _Loader:
    """Loads as another does, then tells."""

    def __init__(self, loader: Any, watch: Watch) -> None:
        self._loader = loader
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _ran.add(module.__name__)
        try:
            # Some modules put another in their place.
            there = sys.modules.get(module.__name__, module)
            self._watch.loaded(there)
            # Those that began to wait while it was being imported.
            for watch in list(sys.meta_path):
                if isinstance(watch, Watch) and watch.waits_for(module.__name__):
                    watch.loaded(there)
        finally:
            _ran.discard(module.__name__)
