"""What is measured: hodo, the same switched off, the standard library and the peers.

A process measures one group, so that no peer's threads, hooks or heap are in another's figures;
every group has hodo's own scope in it, unless it cannot be.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import floor
from measure import Row, loop

WITH = "with {}:\n   pass"


def scope_row(expression: str, names: dict[str, Any], name: str, keeps: str, **more: Any) -> Row:
    """`with <expression>: pass`."""
    return Row(name, keeps, loop(WITH.format(expression), names), **more)


def started() -> Any:
    """hodo, recording into a folder that goes with the process."""
    folder = tempfile.mkdtemp(prefix="hodo-bench-")
    # Registered before hodo's own, so it runs after it.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    import hodo

    hodo.init(app="bench", dir=folder)
    return hodo


def lost_since(hodo: Any) -> Callable[[], int]:
    """A drain: everything is on disk afterwards; how many records were lost since the last one."""
    before = lost(hodo)

    def drain() -> int:
        nonlocal before
        hodo.flush(10.0)
        now = lost(hodo)
        gone, before = now - before, now
        return gone

    return drain


def lost(hodo: Any) -> int:
    """Records lost so far, for any reason."""
    counts = hodo.health()["lost"]
    return total(counts)


def total(counts: Any) -> int:
    """The sum of a number or of a tree of numbers."""
    return sum(map(total, counts.values())) if isinstance(counts, dict) else int(counts)


def hodo_rows(hodo: Any, off: str = "") -> list[Row]:
    """Every form of hodo; `off` is what the names say of a process that does not record."""
    drain = lost_since(hodo) if not off else lambda: 0
    names = {"hodo": hodo}

    @hodo.scope("x")
    def decorated() -> None:
        pass

    def inside(timed: Callable[[], int]) -> int:
        with hodo.scope("open"):
            return timed()

    def row(name: str, keeps: str, body: str, **more: Any) -> Row:
        more = {"drain": drain, **more}
        items = more.pop("items", "items")
        burst = loop(body, {**names, "decorated": decorated}, items)
        return Row(f"hodo {name}{off}", keeps if not off else "nothing", burst, **more)

    return [
        row("scope", "64 B: wall, CPU, ids, overhead", WITH.format('hodo.scope("x")')),
        row(
            "scope, index + 2 attributes",
            "128 B",
            WITH.format('hodo.scope("x", index=i, size=32, kind="train")'),
        ),
        row("decorator, the function's call included", "64 B", "decorated()"),
        row("begin/end", "64 B", 'hodo.begin("x").end()'),
        row("mark", "64 B", 'hodo.mark("loss", 0.5)', floor="call", around=inside),
        row("batches, an item", "2 x 64 B", "pass", floor="call", items="hodo.batches(items)"),
        row("epochs, an item", "64 B", "pass", floor="call", items="hodo.epochs(items)"),
    ]


def on() -> list[Row]:
    """hodo and the standard library."""
    return hodo_rows(started()) + standard_library()


def off() -> list[Row]:
    """hodo in a process with HODO=0."""
    return hodo_rows(started(), off=", off")


def standard_library() -> list[Row]:
    """What Python charges without a native module, and for handing over two arguments."""

    @contextlib.contextmanager
    def generator(_name: str) -> Any:
        yield

    names = {"contextlib": contextlib, "generator": generator, "function": lambda: None}
    arguments = loop('floor.call("loss", 0.5)', {"floor": floor})
    return [
        scope_row("contextlib.nullcontext()", names, "contextlib.nullcontext", "nothing"),
        scope_row('generator("x")', names, "@contextlib.contextmanager", "nothing", cycles=3_000),
        Row("a Python function's call", "nothing", loop("function()", names), floor="call"),
        Row("floor.call with mark's arguments", "nothing", arguments, floor="call"),
    ]


def ours() -> list[Row]:
    """hodo's scope, to stand beside a peer's."""
    return hodo_rows(started())[:1]


def cirron() -> list[Row]:
    """cirron-sdk: the scope, the mark and the loop, buffers emptied between bursts."""
    import cirron as ci
    from cirron.core import mark as marks
    from cirron.core import scope as scopes

    def drain() -> int:
        scopes._default_stack.drain_closed_all()
        marks._default_buffer.drain_all()
        return 0

    def inside(timed: Callable[[], int]) -> int:
        with ci.scope("open"):
            return timed()

    names = {"ci": ci}
    more: dict[str, Any] = {"drain": drain, "cycles": 1_000}
    return [
        scope_row('ci.scope("x")', names, "cirron-sdk scope", "a Scope object", **more),
        scope_row(
            'ci.scope("x", index=i, size=32, kind="train")',
            names,
            "cirron-sdk scope, index + 2 attributes",
            "a Scope object",
            **more,
        ),
        Row(
            "cirron-sdk mark",
            "a Mark object",
            loop('ci.mark("loss", 0.5)', names),
            floor="call",
            around=inside,
            **more,
        ),
        Row(
            "cirron-sdk batches, an item",
            "a Scope object",
            loop("pass", names, "ci.batches(items)"),
            floor="call",
            **more,
        ),
    ]


def nvtx() -> list[Row]:
    """nvtx with no tool attached, which records nothing."""
    import nvtx

    names = {"nvtx": nvtx}
    push_pop = loop('nvtx.push_range("x"); nvtx.pop_range()', names)
    return [
        scope_row('nvtx.annotate("x")', names, "nvtx.annotate, no tool", "nothing"),
        Row("nvtx push/pop, no tool", "nothing", push_pop),
    ]


def opentelemetry() -> list[Row]:
    """The SDK with its batch processor and an exporter that throws spans away."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Nowhere(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    processor = BatchSpanProcessor(Nowhere(), max_queue_size=65_536, max_export_batch_size=4_096)
    provider = TracerProvider()
    provider.add_span_processor(processor)
    names = {"tracer": provider.get_tracer("bench")}

    def drain() -> int:
        processor.force_flush()
        return 0

    return [
        scope_row(
            'tracer.start_as_current_span("x")',
            names,
            "opentelemetry-sdk span",
            "a ReadableSpan",
            drain=drain,
            cycles=300,
        )
    ]


def viztracer() -> list[Row]:
    """viztracer's own context manager, which is meant for single events."""
    from viztracer import VizTracer

    tracer = VizTracer(log_sparse=True, verbose=0)
    # It hooks every call at once; events need no hook, and the floor's figures none of its cost.
    sys.setprofile(None)

    def drain() -> int:
        tracer.clear()
        return 0

    names = {"tracer": tracer}
    return [
        scope_row(
            'tracer.log_event("x")', names, "viztracer log_event", "a dict", drain=drain, cycles=2_000
        )
    ]


def gpufl() -> list[Row]:
    """gpufl, whose extension needs a GPU driver; its stand-in without one records nothing."""
    import gpufl

    if gpufl._CScope.__module__ == "gpufl":
        raise ImportError("its extension needs libcuda.so.1")
    folder = tempfile.TemporaryDirectory(prefix="gpufl-bench-")
    gpufl.init("bench", log_path=f"{folder.name}/bench", profiling_engine=gpufl.ProfilingEngine.Monitor)
    # An exit without it aborts.
    atexit.register(lambda: (gpufl.shutdown(), folder.cleanup()))
    return [
        scope_row('gpufl.Scope("x")', {"gpufl": gpufl}, "gpufl Scope", "2 events", cycles=2_000)
    ]


# Group: (rows, with hodo's scope beside them).
GROUPS: dict[str, tuple[Callable[[], list[Row]], bool]] = {
    "on": (on, False),
    "off": (off, False),
    "cirron": (cirron, True),
    "nvtx": (nvtx, True),
    "opentelemetry": (opentelemetry, True),
    "viztracer": (viztracer, True),
    "gpufl": (gpufl, True),
}
