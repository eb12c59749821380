"""Hooks: the scopes of frameworks, without a line in the program.

A framework is a module of this package with ``install(undo, settings)``, which is called once, right
after the framework is imported, and changes it through ``undo``. Nothing here imports a framework.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType

from hodo import _control, _hodo
from hodo._imports import when_imported
from hodo.hooks._undo import Undo as Undo

# The modules that have a framework's hooks, and the module of the framework that each waits for.
FRAMEWORKS: dict[str, dict[str, str]] = {
    "torch": {
        "hodo.hooks.torch": "torch",
        "hodo.hooks.loader": "torch",
        "hodo.hooks.distributed": "torch",
        "hodo.hooks.jit": "torch",
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
# The modules of ours that depend on settings, and on which.
_WITH_SETTINGS = {
    "hodo.hooks.torch": ("layers", "memory"),
    # It knows what the one above has made.
    "hodo.hooks.jit": ("layers", "memory"),
    "hodo.hooks.distributed": ("collectives",),
}
ALIASES = {"scikit-learn": "sklearn", "pytorch": "torch", "pytorch_lightning": "lightning"}
VARIABLE = "HODO_HOOKS"
# Among its words where a parent has set it: it is for processes that record because the parent does.
INHERITED = "inherited"


@dataclass(frozen=True)
class Settings:
    """What the hooks record, besides what they always do."""

    layers: int = 0
    """How deep submodules have scopes of their own."""
    memory: bool = False
    """Whether scopes have the bytes that the framework's allocator holds."""
    collectives: bool = False
    """Whether the gradients that DDP reduces have scopes, for which it gets a hook of ours."""

    def and_also(self, other: Settings) -> Settings:
        """What either asks for."""
        return Settings(
            max(self.layers, other.layers),
            self.memory or other.memory,
            self.collectives or other.collectives,
        )


class _Hook:
    """One module that is waited for, and what is changed in it."""

    def __init__(self, framework: str, module: str, home: str) -> None:
        self.framework, self.module, self.home = framework, module, home
        self.state = "waiting"
        self.settings = Settings()
        """What it was hooked with."""
        self.undo = Undo()
        self.is_told = False
        """Whether it is one of its framework; else it only serves other scopes of hodo's."""
        self._is_begun = False
        self._stop_waiting: Callable[[], None] | None = None

    def wait(self) -> None:
        """Hooks it now, or when it is imported; may be called again."""
        if not self._is_begun:
            self._stop_waiting = when_imported(self.module, self._install)

    def _install(self, _: ModuleType) -> None:
        # Another thread may be importing it still; no lock of ours is held while that is waited for.
        if self.module in sys.modules:
            __import__(self.module)
        with _lock:
            if self._is_begun or not _hodo.is_on():
                return
            self._is_begun = True
            self.settings = _settings
        self._change()
        with _lock:
            is_removed = _hooks.get(self.home) is not self
        if is_removed:
            self.undo.undo()

    def _change(self) -> None:
        try:
            importlib.import_module(self.home).install(self.undo, self.settings)
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

    def change_to(self, settings: Settings, which: tuple[str, ...]) -> None:
        """Hooks it anew where those of the settings that it depends on were others."""
        with _lock:
            is_same = all(getattr(self.settings, name) == getattr(settings, name) for name in which)
            if self.state != "hooked" or is_same:
                return
            self.settings = settings
        self.undo.undo()
        self.undo = Undo()
        self._change()

    def remove(self) -> None:
        if self._stop_waiting is not None:
            self._stop_waiting()
        self.undo.undo()


_lock = threading.RLock()
_hooks: dict[str, _Hook] = {}
_settings = Settings()
_is_shared = False
_is_chosen = False
_starting: list[Callable[[], None]] = []
"""What stops waiting for a framework to start recording with."""


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
            raise ValueError(
                f"frameworks are {', '.join(FRAMEWORKS)}, not {word!r}; a name of the run is app={word!r}"
            )
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
                hook = _hook_of(name, home)
                hook.is_told = True
                hook.wait()
    for home, which in _WITH_SETTINGS.items():
        if home in _hooks:
            _hooks[home].change_to(_settings, which)
    _share(wanted)


def install_part(framework: str, home: str, is_told: bool = True) -> None:
    """Hooks what one module of ours hooks of a framework, once; the framework counts as hooked if it is told."""
    if home not in _hooks:
        hook = _hook_of(framework, home)
        # Another thread may have asked for it by its name meanwhile.
        hook.is_told = hook.is_told or is_told
        hook.wait()


def _hook_of(framework: str, home: str) -> _Hook:
    # Waited for without the lock: who imports the framework meanwhile has the import's, and wants ours.
    with _lock:
        if home not in _hooks:
            _hooks[home] = _Hook(framework, FRAMEWORKS[framework][home], home)
        return _hooks[home]


def remove() -> None:
    """Undoes every hook."""
    global _is_shared, _is_chosen, _settings
    _start_no_more()
    with _lock:
        removed = list(_hooks.values())
        _hooks.clear()
        _settings, _is_chosen = Settings(), False
        if _is_shared:
            os.environ.pop(VARIABLE, None)
            _is_shared = False
    for hook in reversed(removed):
        hook.remove()
    if "hodo.hooks._loop" in sys.modules:
        sys.modules["hodo.hooks._loop"].forget()


def state() -> dict[str, str]:
    """How each framework stands: "hooked", "waiting" for its import, or why it failed."""
    told: dict[str, str] = {}
    # A part that failed is told before those that did not, and these before what is not there yet.
    for hook in sorted(list(_hooks.values()), key=lambda hook: _WORDS.find(hook.state[0])):
        if hook.is_told:
            told[hook.framework] = hook.state
    return told


_WORDS = "whf"


def choose() -> None:
    """The program says itself what is hooked: what the environment asks for no longer counts."""
    global _is_chosen
    _is_chosen = True
    _start_no_more()


def _share(wanted: list[str]) -> None:
    """Lets processes that are started anew have the same hooks."""
    global _is_shared
    if _is_shared or (wanted and not os.environ.get(VARIABLE)):
        hooked = dict.fromkeys(hook.framework for hook in list(_hooks.values()) if hook.is_told)
        os.environ[VARIABLE] = said([*hooked, INHERITED], _settings)
        _is_shared = True


def said(frameworks: Iterable[str], settings: Settings) -> str:
    """Frameworks and settings as one word of the environment."""
    words = list(frameworks)
    if settings.layers:
        words.append(f"layers={settings.layers}")
    if settings.memory:
        words.append("memory")
    if settings.collectives:
        words.append("collectives")
    return ",".join(words)


def from_environment() -> tuple[list[str], Settings] | None:
    """What ``HODO_HOOKS`` says: names, ``layers=2``, ``memory``, ``collectives``; None for nothing."""
    text = os.environ.get(VARIABLE, "").strip()
    if _is_chosen or text.lower() in ("", "0", "off", "no", "false"):
        return None
    layers = 0
    more: set[str] = set()
    wanted: list[str] = []
    is_wrong = False
    for word in (word.strip().lower() for word in text.split(",")):
        if word.startswith("layers=") and word[7:].isdecimal():
            layers = int(word[7:])
        elif word in ("memory", "collectives"):
            more.add(word)
        elif word in ("1", "all", "on", "yes", "true"):
            wanted.extend(FRAMEWORKS)
        elif word and word != INHERITED:
            try:
                wanted.extend(names(word))
            except ValueError:
                is_wrong = True
                _warn_once(f"{VARIABLE} has {word!r}, which is left out: it takes {', '.join(FRAMEWORKS)}, all, "
                           "layers=2, memory and collectives")
    # Words that mean nothing do not mean all.
    return wanted or ([] if is_wrong else list(FRAMEWORKS)), Settings(layers, "memory" in more, "collectives" in more)


_warned: set[str] = set()


def _warn_once(words: str) -> None:
    # The variable is read again whenever something is asked of it.
    if words not in _warned:
        _warned.add(words)
        _control._log().warning("%s", words)


def is_inherited() -> bool:
    """Whether what ``HODO_HOOKS`` says is of a parent, not of who started the program."""
    return INHERITED in os.environ.get(VARIABLE, "").split(",")


def start() -> None:
    """Starts recording as soon as a framework is imported: what ``hodo run --hooks`` does."""
    asked = from_environment()
    if asked is None:
        return

    def begin(_: ModuleType) -> None:
        _start_no_more()
        _control.profile()

    for name in asked[0]:
        for module in FRAMEWORKS[name].values():
            _starting.append(when_imported(module, begin))


def _start_no_more() -> None:
    while _starting:
        _starting.pop()()
