"""The profiler of cirron-sdk, recorded by hodo.

``import hodo.compat.cirron as ci`` in place of ``import cirron as ci`` is the whole change.
``docs/moving-over.md`` says where the two differ.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns, time_ns
from types import TracebackType
from typing import Any, Literal, cast

import hodo
from hodo import _hodo
from hodo.compat import _request
from hodo.compat._not_done import NotDone
from hodo.compat._settings import Asked, Settings

__all__ = [
    "Cirron",
    "CirronDependencyError",
    "CirronError",
    "Profiler",
    "Scope",
    "batches",
    "epochs",
    "flush",
    "get_default",
    "health",
    "inference",
    "mark",
    "profile",
    "scope",
    "shutdown",
    "trace",
    "watch",
    "wrap",
]

# Names of the peer's that are not a profiler's; taken from the peer itself, if it is installed.
_OTHERS = {
    "CirronSecretNotFound",
    "CirronYaml",
    "CirronYamlError",
    "ProfilingConfig",
    "ServingConfig",
    "deps",
    "env",
    "find_cirron_yaml",
    "load",
    "load_cirron_yaml",
    "map",
    "secret",
}

_PLATFORM = ("run_id", "pipeline_id", "deployment_id", "workspace_id")

_not_done = NotDone("cirron:")
_starting = threading.RLock()
_active: Profiler | None = None
_default: Cirron | None = None
# Whether scopes may be opened as they are: a recorder was started, or is not wanted.
_ready = False
_last_run: str | None = None


class CirronError(Exception):
    """What this module raises, apart from ``ValueError`` and ``TypeError``."""


class CirronDependencyError(CirronError):
    """A package that is needed for what was asked is not installed."""


class Scope:
    """``with ci.scope("forward", index=3, variant="x") as s:``, with the peer's attributes."""

    __slots__ = ("_attrs", "_given", "_scope", "_start", "_took", "index", "name")

    # The peer leaves them empty too; hodo's report has the CPU time.
    cpu_ns: None = None
    gpu_ns: None = None
    memory_peak_bytes: None = None

    def __init__(self, name: str, index: int | None = None, **attrs: Any) -> None:
        self.name = name
        self.index = index
        self._given = attrs
        self._attrs: dict[str, Any] | None = None
        self._took: int | None = None

    def __enter__(self) -> Scope:
        if not _ready:
            _start()
        self._scope = opened = _hodo.scope(self.name, self.index)
        opened.__enter__()
        if self._given:
            # Set, not passed: `tag`, `repeat` and `warmup` mean something to hodo's own scope.
            opened.set(**self._given)
        self._start = perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._took = perf_counter_ns() - self._start
        if self._attrs is not None:
            self._scope.set(**self._changed(self._attrs))
        self._scope.__exit__(kind, value, trace)

    def _changed(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = self._given
        return {
            str(key): value
            for key, value in attrs.items()
            if key not in given or given[key] is not value or _can_change(value)
        }

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes; what is put in here is recorded when the scope closes."""
        if self._attrs is None:
            self._attrs = dict(self._given)
        return self._attrs

    @attrs.setter
    def attrs(self, attrs: dict[str, Any]) -> None:
        self._attrs = attrs

    @property
    def id(self) -> str:
        """32 hex digits; zeros for a scope that is not recorded."""
        return self._scope.id or "0" * 32

    @property
    def start_ns(self) -> int:
        """When it opened, in nanoseconds since 1970."""
        recorded = self._scope.start_ns
        return time_ns() - (perf_counter_ns() - self._start) if recorded is None else recorded

    @property
    def end_ns(self) -> int | None:
        """When it closed, in nanoseconds since 1970; None while it is open."""
        return None if self._took is None else self.start_ns + self._took

    @property
    def parent_id(self) -> None:
        """None: known when the run is read back."""
        return None

    @property
    def marks(self) -> list[str]:
        """Empty: hodo's marks have no ids."""
        return []

    @property
    def thread_id(self) -> int:
        """The calling thread."""
        return threading.get_ident()

    @property
    def pid(self) -> int:
        """This process."""
        return os.getpid()

    @property
    def rank(self) -> int:
        """Rank in the job, 0 when no launcher gave one."""
        rank = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or "0"
        return int(rank) if rank.isdigit() else 0


def _can_change(value: object) -> bool:
    """Whether a value can have changed and still be the same object."""
    return not isinstance(value, (str, int, float, bool, bytes, type(None)))


scope = Scope


def mark(name: str, value: float | int | str | bool, *, kind: str = "point", **attrs: Any) -> None:
    """Attach a value to the innermost open scope."""
    if kind not in ("point", "summary"):
        raise ValueError(f"kind is 'point' or 'summary', not {kind!r}")
    if not _ready:
        _start()
    _hodo.mark(name, value, kind, **attrs)  # type: ignore[arg-type]


def epochs(iterable: Iterable[Any]) -> Iterator[Any]:
    """The items, each inside a scope ``epoch``."""
    if not _ready:
        _start()
    return cast(Iterator[Any], _hodo.epochs(iterable))


def batches(iterable: Iterable[Any]) -> Iterator[Any]:
    """The items, each inside a scope ``batch`` that begins with the wait for it."""
    if not _ready:
        _start()
    return cast(Iterator[Any], _hodo.batches(iterable))


def inference(
    fn: Callable[..., Any] | None = None, *, config: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """A serving function whose every call is a scope ``request``, to the end of its stream."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _request.decorate(function, dict(config or {}), _start)

    return decorate if fn is None else decorate(fn)


def watch(model: Any | None) -> Any | None:
    """Accepted and given back: weights and gradients are not captured."""
    if model is not None:
        _not_done.add("watch", "weights and gradients are not captured")
    return model


def wrap(estimator: Any) -> Any:
    """Accepted and given back: methods of an estimator get no scopes of their own."""
    _not_done.add("wrap", "put `with ci.scope(...)` around fit and predict")
    return estimator


class Cirron(Settings):
    """Settings, and everything the module does."""

    def scope(self, name: str, index: int | None = None, **attrs: Any) -> Scope:
        """As the module's :func:`scope`."""
        return Scope(name, index, **attrs)

    def mark(
        self, name: str, value: float | int | str | bool, *, kind: str = "point", **attrs: Any
    ) -> None:
        """As the module's :func:`mark`."""
        mark(name, value, kind=kind, **attrs)

    def epochs(self, iterable: Iterable[Any]) -> Iterator[Any]:
        """As the module's :func:`epochs`."""
        return epochs(iterable)

    def batches(self, iterable: Iterable[Any]) -> Iterator[Any]:
        """As the module's :func:`batches`."""
        return batches(iterable)

    def inference(
        self, fn: Callable[..., Any] | None = None, *, config: dict[str, Any] | None = None
    ) -> Callable[..., Any]:
        """As the module's :func:`inference`."""
        return inference(fn, config=config)

    def profile(
        self,
        config: dict[str, Any] | None = None,
        *,
        frameworks: list[str] | None = None,
        snapshots: Literal["stats", "sampled", "full"] | None = None,
        sample_rate: float | None = None,
        flush_interval: float | None = None,
        enabled: bool = True,
        path: str | None = None,
        output: str | list[str] | None = None,
    ) -> Profiler:
        """As the module's :func:`profile`, with these settings."""
        asked = Asked(config, frameworks, snapshots, sample_rate, flush_interval, path, output)
        return _profile(self, asked, enabled)

    def trace(
        self,
        format: Literal["tree", "dict", "json", "df"] = "tree",
        name: str | None = None,
        last: int | None = None,
    ) -> Any:
        """As the module's :func:`trace`."""
        return trace(format, name, last)

    def wrap(self, estimator: Any) -> Any:
        """As the module's :func:`wrap`."""
        return wrap(estimator)

    def __getattr__(self, name: str) -> Any:
        if name in _OTHERS:
            return _from_peer(name)
        raise AttributeError(f"'Cirron' has no attribute {name!r}")


class Profiler:
    """The recorder that :func:`profile` started."""

    def __init__(self, cirron: Cirron, *, enabled: bool) -> None:
        self.cirron = cirron
        self.enabled = enabled
        self.installed_hooks: list[str] = []
        self.hook_handles: list[Any] = []
        self.platform_context = _platform_context()

    def health(self) -> dict[str, Any]:
        """As the module's :func:`health`."""
        return health()

    def flush(self) -> None:
        """As the module's :func:`flush`."""
        flush()

    def trace(
        self,
        format: Literal["tree", "dict", "json", "df"] = "tree",
        name: str | None = None,
        last: int | None = None,
    ) -> Any:
        """As the module's :func:`trace`."""
        return trace(format, name, last)

    def shutdown(self) -> None:
        """As the module's :func:`shutdown`."""
        shutdown()


def get_default() -> Cirron:
    """The settings that the module's own functions use."""
    global _default
    with _starting:
        if _default is None:
            _default = Cirron()
        return _default


def profile(
    config: dict[str, Any] | None = None,
    frameworks: list[str] | None = None,
    snapshots: Literal["stats", "sampled", "full"] | None = None,
    sample_rate: float | None = None,
    flush_interval: float | None = None,
    enabled: bool = True,
    path: str | None = None,
    output: str | list[str] | None = None,
) -> Profiler:
    """Start recording; a second call gives what the first one gave."""
    asked = Asked(config, frameworks, snapshots, sample_rate, flush_interval, path, output)
    return _profile(get_default(), asked, enabled)


def _profile(cirron: Cirron, asked: Asked, enabled: bool) -> Profiler:
    global _active, _ready
    with _starting:
        if _active is not None:
            logging.getLogger("hodo").warning(
                "ci.profile() was called before; call ci.shutdown() to start anew"
            )
            return _active
        if enabled:
            asked.count_not_done(cirron, _not_done)
            _record(cirron, asked.flush_interval)
        elif _last_run:
            hodo.shutdown()
        _ready = True
        _active = Profiler(cirron, enabled=enabled)
        return _active


def _start() -> None:
    """Scopes record from the first one on, with or without ``profile``, as the peer's do."""
    global _ready
    with _starting:
        if not _ready:
            _record(get_default(), None)
            _ready = True


def _record(cirron: Cirron, flush_interval: float | None) -> None:
    global _last_run
    hodo.init(
        dir=None if os.environ.get("HODO_DIR") else cirron.output_dir,
        flush_interval=flush_interval or cirron.flush_interval,
        max_bytes=cirron.spool_max_bytes,
    )
    _last_run = hodo.health()["run"]


def flush() -> None:
    """Wait until everything recorded so far is on disk."""
    hodo.flush()


def shutdown() -> None:
    """Stop recording. Optional: the run is complete without, too."""
    global _active, _ready
    with _starting:
        hodo.shutdown()
        _active = None
        _ready = True


def trace(
    format: Literal["tree", "dict", "json", "df"] = "tree",
    name: str | None = None,
    last: int | None = None,
) -> Any:
    """What was recorded: printed as a tree, or given as nested dicts, JSON or a data frame."""
    from hodo.compat import _trace

    if format not in ("tree", "dict", "json", "df"):
        raise ValueError(f"format is tree, dict, json or df, not {format!r}")
    try:
        return _trace.trace(_last_run, format, name, last)
    except ImportError as error:
        raise CirronDependencyError(f"ci.trace({format!r}): {error}") from error


def health() -> dict[str, Any]:
    """The peer's keys, hodo's own, and ``not_done``: what was asked for and is not done."""
    state = hodo.health()
    lost = state["lost"]
    on = bool(state["on"])
    in_memory = [lost[reason] for reason in lost if not reason.startswith("spool")]
    on_disk = [lost[reason] for reason in lost if reason.startswith("spool")]
    errors = int(state["internal_errors"])
    return {
        **state,
        "enabled": on and (_active is None or _active.enabled),
        "scope_drop_count": state["depth_dropped"] + sum(of["spans"] for of in in_memory),
        "mark_drop_count": sum(of["marks"] for of in in_memory),
        "spool_drop_count": sum(sum(of.values()) for of in on_disk),
        "swallowed_error_count": errors,
        "swallowed_errors": {"hodo": errors} if errors else {},
        "spool_dir": state["run"],
        "flush_mode": "normal" if on else "stopped",
        "flush_restart_count": 0,
        "transport": None,
        "installed_hooks": [],
        "platform_context": _platform_context(),
        "not_done": dict(_not_done.counts),
    }


def _platform_context() -> dict[str, str]:
    names = {name: os.environ.get(f"CIRRON_{name.upper()}") for name in _PLATFORM}
    return {name: value for name, value in names.items() if value}


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        return _from_peer(name)
    raise AttributeError(f"module 'hodo.compat.cirron' has no attribute {name!r}")


def _from_peer(name: str) -> Any:
    try:
        import cirron
    except ImportError:
        raise AttributeError(
            f"hodo.compat.cirron has no {name!r}: it is not about profiling. "
            "Install cirron-sdk beside hodo and it is taken from there."
        ) from None
    return getattr(cirron, name)
