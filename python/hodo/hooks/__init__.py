"""Hooks: the scopes of frameworks, without a line in the program.

A framework is a module of this package with ``install(undo, settings)``, which is called once, right
after the framework is imported, and changes it through ``undo``. Nothing here imports a framework.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hodo import _control, _hodo
from hodo._imports import when_imported

# The modules that have a framework's hooks, and the module of the framework that each waits for.
FRAMEWORKS: dict[str, dict[str, str]] = {
    "torch": {
        "hodo.hooks.torch": "torch",
        "hodo.hooks.loader": "torch",
        "hodo.hooks.distributed": "torch",
        "hodo.hooks.dynamo": "torch._dynamo",
        "hodo.hooks.accelerate": "accelerate.data_loader",
    },
    "transformers": {
        "hodo.hooks.transformers": "transformers.trainer",
        "hodo.hooks.generate": "transformers.generation.utils",
    },
    "lightning": {
        "hodo.hooks.lightning": "lightning.pytorch",
        "hodo.hooks.pytorch_lightning": "pytorch_lightning",
    },
    "keras": {"hodo.hooks.keras": "keras"},
    "jax": {"hodo.hooks.jax": "jax"},
    "sklearn": {"hodo.hooks.sklearn": "sklearn.base", "hodo.hooks.joblib": "joblib.parallel"},
}
ALIASES = {"scikit-learn": "sklearn", "pytorch": "torch", "pytorch_lightning": "lightning"}
VARIABLE = "HODO_HOOKS"


@dataclass(frozen=True)
class Settings:
    """What the hooks record, besides what they always do."""

    layers: int = 0
    """How deep submodules have scopes of their own."""
    memory: bool = False
    """Whether scopes have the bytes that the framework's allocator holds."""

    def and_also(self, other: Settings) -> Settings:
        """What either asks for."""
        return Settings(max(self.layers, other.layers), self.memory or other.memory)


class Undo:
    """What was changed, to be put back."""

    def __init__(self) -> None:
        self.done = False
        """Whether it was put back. What somebody wrapped meanwhile stays in there, and looks here."""
        self._steps: list[Callable[[], None]] = []

    def patch(self, owner: Any, name: str, made: Any) -> None:
        """Sets an attribute of a module or class."""
        is_own, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, made)
        put = vars(owner).get(name)

        def back() -> None:
            if vars(owner).get(name) is not put:
                return
            if is_own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)

        self._steps.append(back)

    def later(self, step: Callable[[], None]) -> None:
        """Calls ``step`` when it is undone, before what was changed until now is put back."""
        self._steps.append(step)

    def undo(self) -> None:
        """Puts everything back, the latest first."""
        self.done = True
        while self._steps:
            step = self._steps.pop()
            try:
                step()
            except Exception as error:
                _control._log().warning("a hook could not be undone: %r", error)


class _Hook:
    """One module that is waited for, and what is changed in it."""

    def __init__(self, framework: str, module: str, home: str) -> None:
        self.framework, self.module, self.home = framework, module, home
        self.state = "waiting"
        self.undo = Undo()
        self._stop_waiting: Callable[[], None] | None = None

    def wait(self) -> None:
        self._stop_waiting = when_imported(self.module, self._install)

    def _install(self, _: ModuleType) -> None:
        if self.state != "waiting" or not _hodo.is_on():
            return
        try:
            importlib.import_module(self.home).install(self.undo, _settings)
            self.state = "hooked"
        except Exception as error:
            self.state = f"failed: {error!r}"
            self.undo.undo()
            _control._log().warning(
                "no hooks for %s: this %s is not as hodo knows it: %r",
                self.framework,
                self.module,
                error,
            )

    def remove(self) -> None:
        if self._stop_waiting is not None:
            self._stop_waiting()
        self.undo.undo()


_lock = threading.RLock()
_hooks: dict[str, _Hook] = {}
_settings = Settings()
_is_shared = False


def names(frameworks: Iterable[str] | str | None) -> list[str]:
    """The frameworks that are meant; a ValueError for one that is not known."""
    if frameworks is None:
        return list(FRAMEWORKS)
    if isinstance(frameworks, str):
        frameworks = [word for word in frameworks.split(",") if word.strip()]
    found = []
    for word in frameworks:
        name = ALIASES.get(str(word).strip().lower(), str(word).strip().lower())
        if name not in FRAMEWORKS:
            raise ValueError(f"frameworks are {', '.join(FRAMEWORKS)}, not {word!r}")
        found.append(name)
    return found


def install(frameworks: Iterable[str] | str | None, settings: Settings) -> None:
    """Hooks frameworks, each once: those that are imported now, the others when they are."""
    global _settings
    wanted = names(frameworks)
    with _lock:
        _settings = _settings.and_also(settings)
        for name in wanted:
            for home in FRAMEWORKS[name]:
                if importlib.util.find_spec(home) is not None:
                    install_part(name, home)
        _share(wanted)


def install_part(framework: str, home: str) -> None:
    """Hooks what one module of ours hooks of a framework, once."""
    with _lock:
        if home not in _hooks:
            _hooks[home] = _Hook(framework, FRAMEWORKS[framework][home], home)
            _hooks[home].wait()


def remove() -> None:
    """Undoes every hook."""
    global _is_shared, _settings
    with _lock:
        for hook in reversed(list(_hooks.values())):
            hook.remove()
        _hooks.clear()
        _settings = Settings()
        if _is_shared:
            os.environ.pop(VARIABLE, None)
            _is_shared = False


def state() -> dict[str, str]:
    """How each framework stands: "hooked", "waiting" for its import, or why it failed."""
    told: dict[str, str] = {}
    # A part that failed is told before those that did not, and these before what is not there yet.
    for hook in sorted(list(_hooks.values()), key=lambda hook: _WORDS.find(hook.state[0])):
        told[hook.framework] = hook.state
    return told


_WORDS = "whf"


def _share(wanted: list[str]) -> None:
    """Lets processes that are started anew have the same hooks."""
    global _is_shared
    if wanted and not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = said(wanted, _settings)
        _is_shared = True


def said(frameworks: Iterable[str], settings: Settings) -> str:
    """Frameworks and settings as one word of the environment."""
    words = list(frameworks)
    if settings.layers:
        words.append(f"layers={settings.layers}")
    if settings.memory:
        words.append("memory")
    return ",".join(words)


def from_environment() -> tuple[list[str], Settings] | None:
    """What ``HODO_HOOKS`` says: names, ``layers=2`` and ``memory``; None where it asks for nothing."""
    text = os.environ.get(VARIABLE, "").strip()
    if text.lower() in ("", "0", "off", "no", "false"):
        return None
    layers, memory = 0, False
    wanted: list[str] = []
    for word in (word.strip().lower() for word in text.split(",")):
        if word.startswith("layers=") and word[7:].isdecimal():
            layers = int(word[7:])
        elif word == "memory":
            memory = True
        elif word in ("1", "all", "on", "yes", "true"):
            wanted.extend(FRAMEWORKS)
        elif word:
            try:
                wanted.extend(names(word))
            except ValueError as error:
                _control._log().warning("%s: %s", VARIABLE, error)
    return wanted or list(FRAMEWORKS), Settings(layers, memory)


def start() -> None:
    """Starts recording as soon as a framework is imported: what ``hodo run --hooks`` does."""
    asked = from_environment()
    if asked is None:
        return

    def begin(_: ModuleType) -> None:
        _control.profile()

    for name in asked[0]:
        for module in FRAMEWORKS[name].values():
            when_imported(module, begin)
