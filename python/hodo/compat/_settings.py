"""What a program sets up for cirron-sdk, and what of it hodo does not do."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from hodo.compat._not_done import NotDone

SINKS = ("spool", "log", "stdout", "none")
FRAMEWORKS = ("torch", "tensorflow", "transformers")


class Settings:
    """What ``Cirron(...)`` takes; what is left out comes from the ``CIRRON_*`` variables."""

    def __init__(
        self,
        api_key: str | None = None,
        api_endpoint: str | None = None,
        workspace_id: str | None = None,
        output_dir: str | None = None,
        snapshots: str | None = None,
        sample_rate: float | None = None,
        flush_interval: float | None = None,
        spool_max_bytes: int | None = None,
        ingest_path: str | None = None,
        load_warn_bytes: int | None = None,
        load_max_bytes: int | None = None,
        output: str | list[str] | None = None,
        trace_buffer_max_spans: int | None = None,
    ) -> None:
        self.api_key = setting(api_key, "API_KEY")
        self.api_endpoint = setting(api_endpoint, "API_ENDPOINT")
        self.workspace_id = setting(workspace_id, "WORKSPACE_ID")
        self.output_dir = setting(output_dir, "OUTPUT_DIR")
        self.snapshots = setting(snapshots, "SNAPSHOTS")
        self.sample_rate = setting(sample_rate, "SAMPLE_RATE", float)
        self.flush_interval = setting(flush_interval, "FLUSH_INTERVAL", float)
        self.spool_max_bytes = setting(spool_max_bytes, "SPOOL_MAX_BYTES", int)
        self.ingest_path = setting(ingest_path, "INGEST_PATH")
        self.load_warn_bytes = setting(load_warn_bytes, "LOAD_WARN_BYTES", int)
        self.load_max_bytes = setting(load_max_bytes, "LOAD_MAX_BYTES", int)
        self.output = sinks(output)
        self.trace_buffer_max_spans = trace_buffer_max_spans


def setting(given: Any, name: str, kind: Callable[[str], Any] = str) -> Any:
    """What was given, else what the variable says; one that makes no sense is left out."""
    text = os.environ.get(f"CIRRON_{name}")
    if given is not None or not text:
        return given
    try:
        return kind(text)
    except ValueError:
        logging.getLogger("hodo").warning("CIRRON_%s=%s is not a number; ignored", name, text)
        return None


def sinks(output: str | list[str] | None) -> list[str]:
    names = [output] if isinstance(output, str) else list(output or ["spool"])
    for name in names:
        if name not in SINKS:
            raise ValueError(f"output is one of {', '.join(SINKS)}, not {name!r}")
    return list(dict.fromkeys(names))


class Asked:
    """What a call of ``profile`` asks for."""

    def __init__(
        self,
        config: dict[str, Any] | None,
        frameworks: list[str] | None,
        snapshots: str | None,
        sample_rate: float | None,
        flush_interval: float | None,
        path: str | None,
        output: str | list[str] | None,
    ) -> None:
        settings = dict(config or {})
        settings.update(settings.pop("profiling", None) or {})
        self.frameworks = frameworks if frameworks is not None else settings.get("frameworks")
        self.snapshots = snapshots or settings.get("snapshots")
        self.sample_rate = sample_rate if sample_rate is not None else settings.get("sample_rate")
        self.flush_interval = flush_interval or settings.get("flush_interval")
        self.path = path
        self.output = None if output is None else sinks(output)

    def count_not_done(self, settings: Settings, not_done: NotDone) -> None:
        """Counts what of it, and of the settings, hodo does not do."""
        wanted = self.frameworks
        if wanted is None:
            wanted = [name for name in FRAMEWORKS if name in sys.modules]
        for name in wanted:
            not_done.add(f"hooks for {name}", "use ci.epochs, ci.batches and ci.scope")
        if self.snapshots or settings.snapshots or self.sample_rate is not None:
            not_done.add("snapshots", "weights and gradients are not captured")
        if self.path is not None:
            not_done.add("path", "cirron.yaml is not read; pass the settings to ci.profile")
        for name in self.output or settings.output:
            if name in ("log", "stdout"):
                not_done.add(f"output={name!r}", "see `hodo report`, or ci.trace()")
            elif name == "none":
                not_done.add("output='none'", "the run is kept in its folder; HODO=0 records none")
        if settings.api_key or os.environ.get("CIRRON_RUN_ID"):
            not_done.add("sending", "the run stays in its folder on this machine")
