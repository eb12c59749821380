"""The Python interface of GPUFlight, recorded by hodo.

``import hodo.compat.gpufl as gpufl`` in place of ``import gpufl`` is the whole change.
``docs/moving-over.md`` says where the two differ.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import hodo
from hodo import _hodo
from hodo.compat._not_done import NotDone

__all__ = [
    "BackendKind",
    "Counter",
    "InitOptions",
    "ProfilingEngine",
    "Scope",
    "TargetingRun",
    "UploadOptions",
    "UploadResult",
    "clean_logs",
    "counter",
    "deep_window",
    "deep_window_active",
    "deep_window_close",
    "health",
    "init",
    "session",
    "shutdown",
    "system_start",
    "system_stop",
    "targeting",
    "tick",
    "upload_logs",
]

# GPUFlight's scopes nest as deep as they like.
_MAX_DEPTH = 1_000_000
_REMOVED = ("remote_upload", "sampling_auto_start", "backend_url", "api_key")
_COUNTER_NAME = re.compile(r"[A-Za-z0-9._-]{1,96}")
_MOST_COUNTERS = 256
_MOST_AT_ONCE = 2**40

_not_done = NotDone("gpufl:")
_disabled = False


class BackendKind(enum.Enum):
    """Whose GPUs are read."""

    Auto = "Auto"
    Nvidia = "Nvidia"
    Amd = "Amd"
    Metal = "Metal"
    None_ = "None"


class ProfilingEngine(enum.Enum):
    """What is captured of the GPU's work."""

    Monitor = "Monitor"
    Trace = "Trace"
    PcSampling = "PcSampling"
    SassMetrics = "SassMetrics"
    PmSampling = "PmSampling"
    RangeProfiler = "RangeProfiler"
    RangeProfilerKernelReplay = "RangeProfilerKernelReplay"
    Deep = "Deep"


@dataclass
class InitOptions:
    """What :func:`init` takes, in its order."""

    app_name: str = "gpufl"
    log_path: str = ""
    continuous_system_sampling: bool = False
    system_sample_rate_ms: int = 0
    kernel_sample_rate_ms: int = 0
    backend: BackendKind = BackendKind.Auto
    enable_debug_output: bool = False
    enable_stack_trace: bool = False
    enable_source_collection: bool = True
    profiling_engine: ProfilingEngine = ProfilingEngine.Monitor
    config_file: str = ""
    enable_external_correlation: bool = True
    enable_synchronization: bool = True
    enable_memory_tracking: bool = True
    enable_cuda_graphs_tracking: bool = False
    pm_sampling_interval_us: int = 100
    pm_sampling_max_samples: int = 4096
    pm_sampling_preset: str = "overview"
    pm_sampling_metrics: list[str] = field(default_factory=list)
    pm_sampling_scope_only: bool = True
    deep_window_only: bool = False
    flush_logs_always: bool = False
    source_capture: bool = True
    api_path: str = ""
    enabled: bool = True


def init(
    *args: Any,
    enabled: bool = True,
    analysis_id: str | None = None,
    pass_index: int | None = None,
    pass_count: int | None = None,
    **kwargs: Any,
) -> bool:
    """Start recording, and say whether it does. A session that is open is ended first.

    Takes the fields of :class:`InitOptions`, in their order or by name.
    """
    global _disabled
    for name in _REMOVED:
        if name in kwargs:
            raise TypeError(
                f"init({name}=...) was removed from GPUFlight in 1.2: sampling is "
                "continuous_system_sampling, credentials are session()'s"
            )
    if args and isinstance(args[0], InitOptions):
        options = dataclasses.replace(args[0], **kwargs)
    else:
        options = InitOptions(*args, **kwargs)
    _disabled = not (enabled and options.enabled) or _switched_off()
    if _disabled:
        return False
    _count_not_done(options, analysis_id)
    if hodo.is_on():
        hodo.shutdown()
    folder = options.log_path.removesuffix(".log") or None
    state = hodo.init(
        options.app_name,
        None if os.environ.get("HODO_DIR") else folder,
        max_depth=_MAX_DEPTH,
        gpu=_LEVELS.get(_engine(options), "trace"),
        telemetry=_readings(options),
    )
    return state in ("on", "degraded")


def _switched_off() -> bool:
    said = os.environ.get("GPUFL_DISABLED", "")
    return said.strip().lower() in ("1", "true", "yes", "on")


def _count_not_done(options: InitOptions, analysis_id: str | None) -> None:
    engine = _engine(options)
    if engine not in _LEVELS:
        _not_done.add(f"engine {engine}", "kernels are traced, counters are not read")
    if options.config_file or os.environ.get("GPUFL_CONFIG_FILE"):
        _not_done.add("config_file", "it is not read; pass the settings to init")
    if options.enable_stack_trace:
        _not_done.add("enable_stack_trace", "scopes are recorded without stacks")
    if analysis_id is not None or os.environ.get("GPUFL_ANALYSIS_ID"):
        _not_done.add("analysis_id", "runs are not merged into groups")


# Readings closer together would measure themselves.
_LEAST_RATE_MS = 10


def _readings(options: InitOptions) -> str | None:
    """How often the machine is read: without continuous sampling only while a scope is open."""
    if options.system_sample_rate_ms <= 0:
        return None
    rate = f"{max(options.system_sample_rate_ms, _LEAST_RATE_MS)}ms"
    return rate if options.continuous_system_sampling else rate + ",scopes"


# What hodo captures for an engine; the others read counters, which hodo does not.
_LEVELS = {
    ProfilingEngine.Monitor.name: "monitor",
    ProfilingEngine.Trace.name: "trace",
    ProfilingEngine.PcSampling.name: "pc-sampling",
    ProfilingEngine.Deep.name: "pc-sampling",
}


def _engine(options: InitOptions) -> str:
    return os.environ.get("GPUFL_PROFILING_ENGINE") or _name(options.profiling_engine)


def _name(value: object) -> str:
    return value.name if isinstance(value, enum.Enum) else str(value)


def shutdown() -> None:
    """Stop recording. Optional: the run is complete without, too."""
    if not _disabled:
        hodo.shutdown()


@contextmanager
def session(*args: Any, **kwargs: Any) -> Iterator[bool]:
    """A session around a block: :func:`init` before, :func:`shutdown` after."""
    url = kwargs.pop("backend_url", None) or os.environ.get("GPUFL_BACKEND_URL")
    key = kwargs.pop("api_key", None) or os.environ.get("GPUFL_API_KEY")
    kwargs.pop("api_path", None)
    started = init(*args, **kwargs)
    try:
        yield started
    finally:
        shutdown()
        if started and url and key:
            upload_logs(backend_url=url, api_key=key)


class Scope:
    """A named region: for ``with``, and as a benchmark loop when ``repeat`` is given."""

    __slots__ = ("_name", "_open", "_repeat", "_tag", "_warmup")

    def __init__(
        self, name: str, tag: str = "", *, repeat: int | None = None, warmup: int = 0
    ) -> None:
        if repeat is not None and repeat < 0:
            raise ValueError("Scope(repeat=...) must be >= 0")
        if warmup < 0:
            raise ValueError("Scope(warmup=...) must be >= 0")
        self._name, self._tag = name, tag
        self._repeat, self._warmup = repeat, warmup
        # One for each time it was entered and not yet left.
        self._open: list[_hodo.Scope] = []

    def __enter__(self) -> Scope:
        if not _disabled:
            opened = _hodo.scope(self._name, tag=self._tag or None)
            opened.__enter__()
            self._open.append(opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            self._open.pop().__exit__(kind, value, trace)

    def __iter__(self) -> Iterator[int]:
        if self._repeat is None:
            raise TypeError(
                "this Scope is not a loop: say how often, as in Scope(name, repeat=10), "
                "or use `with`"
            )
        if _disabled:
            return iter(range(-self._warmup, self._repeat))
        tag = self._tag or None
        return iter(_hodo.scope(self._name, repeat=self._repeat, warmup=self._warmup, tag=tag))


class TargetingRun:
    """The window of :func:`targeting`: so many steps in the scope, then none."""

    def __init__(
        self, scope: str, tag: str, iters: int | None, warmup: int, enabled: bool = True
    ) -> None:
        self.done = False
        self._scope, self._tag, self._iters = scope, tag, iters
        self._warmup, self._enabled = warmup or 0, enabled
        self._warmed = self._measured = 0

    @property
    def measured(self) -> int:
        """Steps measured so far."""
        return self._measured

    @contextmanager
    def step(self) -> Iterator[TargetingRun]:
        """One step: warm-up first, then measured ones; past the window nothing is recorded."""
        if not self._enabled or self.done:
            yield self
            return
        warming = self._warmed < self._warmup
        with Scope(f"{self._scope}_warmup" if warming else self._scope, self._tag):
            yield self
        if warming:
            self._warmed += 1
        else:
            self._measured += 1
            self.done = self._iters is not None and self._measured >= self._iters

    def steps(self, iterable: Iterable[Any]) -> Iterator[Any]:
        """The items, each in a :meth:`step`, until the window closes."""
        for item in iterable:
            with self.step():
                yield item
            if self.done:
                return


@contextmanager
def targeting(
    scope: str,
    *,
    iters: int | None = 20,
    warmup: int = 3,
    tag: str = "",
    engine: ProfilingEngine | None = None,
    analysis_id: str | None = None,
    pass_index: int | None = None,
    pass_count: int | None = None,
    **kwargs: Any,
) -> Iterator[TargetingRun]:
    """A session that records a bounded number of steps of a loop."""
    if engine is not None:
        kwargs["profiling_engine"] = engine
    groups = {"analysis_id": analysis_id, "pass_index": pass_index, "pass_count": pass_count}
    with session(**groups, **kwargs) as started:
        yield TargetingRun(scope, tag, iters, warmup, enabled=started)


_regions: dict[str, list[_hodo.Begin]] = {}
_changing = threading.Lock()


def system_start(name: str = "system") -> None:
    """Begin a stretch of time by this name, in which the machine is read; it is a scope, too."""
    if _disabled:
        return
    _hodo.telemetry_start("")
    with _changing:
        _regions.setdefault(name, []).append(_hodo.begin(name))


def system_stop(name: str = "system") -> None:
    """End the latest stretch of time by this name."""
    with _changing:
        begun = _regions.get(name)
        region = begun.pop() if begun else None
    if region is not None:
        region.end()
        _hodo.telemetry_stop()


class Counter:
    """A number that only grows; each step is a mark with the sum so far."""

    def __init__(self, name: str, valid: bool) -> None:
        self._name, self._valid = name, valid
        self._sum = 0

    def add(self, n: int = 1) -> None:
        """Add a whole number above 0."""
        if self._valid and not _disabled and 0 < n <= _MOST_AT_ONCE:
            with _changing:
                self._sum += n
                _hodo.mark(self._name, self._sum)

    def valid(self) -> bool:
        """Whether it counts: its name is allowed and there were not too many."""
        return self._valid


_counters: dict[str, Counter] = {}


def counter(name: str) -> Counter:
    """The counter by this name: 1 to 96 of ``A-Z a-z 0-9 . _ -``; others count nothing."""
    with _changing:
        known = _counters.get(name)
        if known is None:
            allowed = isinstance(name, str) and _COUNTER_NAME.fullmatch(name) is not None
            known = Counter(name, allowed and len(_counters) < _MOST_COUNTERS)
            if known.valid():
                _counters[name] = known
        return known


def tick(name: str, n: int = 1) -> None:
    """Add to the counter by this name."""
    counter(name).add(n)


def deep_window(seconds: float = 0.0, max_launches: int = 0) -> None:
    """Accepted: there is no deep engine to arm."""
    if not _disabled:
        _not_done.add("deep_window", "this version records scopes, no GPU work")


def deep_window_close() -> None:
    """Accepted: no window is ever open."""


def deep_window_active() -> bool:
    """False: no window is ever open."""
    return False


@dataclass
class UploadOptions:
    """Where logs are to be sent."""

    log_path: str = ""
    backend_url: str = ""
    api_key: str = ""
    api_path: str = ""


@dataclass
class UploadResult:
    """What became of an upload."""

    success: bool = False
    files_processed: int = 0
    files_skipped_by_cursor: int = 0
    events_uploaded: int = 0
    bytes_uploaded: int = 0
    elapsed_ms: int = 0
    warnings: list[str] = field(default_factory=list)
    spool_ids: list[str] = field(default_factory=list)


def upload_logs(*_arguments: Any, **_options: Any) -> UploadResult:
    """Accepted: nothing is sent, and the result says so."""
    why = "the run stays in its folder on this machine"
    _not_done.add("upload_logs", why)
    return UploadResult(success=_disabled, warnings=[why])


def clean_logs(
    log_path: str | None = None, log_prefix: str | None = None, *, dry_run: bool = False
) -> list[str]:
    """Accepted: no run is deleted. Gives the empty list of deleted files."""
    _not_done.add("clean_logs", "runs are folders; delete those you do not need")
    return []


def health() -> dict[str, Any]:
    """hodo's health, and ``not_done``: what was asked for and is not done."""
    return {**hodo.health(), "enabled": not _disabled, "not_done": dict(_not_done.counts)}


def __getattr__(name: str) -> Any:
    if name in ("torch", "jax", "cupy", "numba", "triton", "viz", "analyzer", "report"):
        raise AttributeError(
            f"hodo.compat.gpufl has no {name!r}: scopes, sessions and counters are recorded; "
            "read them with `hodo report`"
        )
    raise AttributeError(f"module 'hodo.compat.gpufl' has no attribute {name!r}")
