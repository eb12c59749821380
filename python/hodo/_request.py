"""One request: its scope, its id, its trace, and what is counted of it."""

from __future__ import annotations

import os
import threading
import time
from contextvars import ContextVar, Token
from typing import Any

from hodo import _hodo, _usage
from hodo._traceparent import Trace, environment, header

# Who counts tokens, the one that is believed first.
_SOURCES = ("given", "usage", "generate", "chunks")


class Meter:
    """Counts what a request takes and gives, and marks its scope with that."""

    def __init__(self, request: _hodo.Link, chunk_times: bool = False) -> None:
        self._request = request
        self._chunk_times = chunk_times
        self._start_ns = time.perf_counter_ns()
        self._first_ns = self._last_ns = 0
        self._counts: dict[str, dict[str, int]] = {}

    def response(self, response: Any) -> None:
        """Takes what the function returned, or a part of it."""
        counts = _usage.usage(response)
        if counts:
            # Those of a later part include those of the parts before.
            self._counts.setdefault("usage", {}).update(counts)

    def add(self, source: str, **counts: int) -> None:
        """Adds to what ``source`` has counted so far."""
        known = self._counts.setdefault(source, {})
        for name, count in counts.items():
            known[name] = known.get(name, 0) + count

    def stream(self) -> None:
        """The answer is a stream: nothing of it has come yet."""
        self.add("chunks", **{_usage.OUTPUT: 0})

    def chunk(self, item: Any) -> None:
        """Takes a part of a stream that has just come."""
        self.response(item)
        if not _usage.carries_tokens(item):
            return
        now = time.perf_counter_ns()
        index = self._counts["chunks"][_usage.OUTPUT]
        if not index:
            self._first_ns = now
            self.mark("time_to_first_token_ms", (now - self._start_ns) / 1e6)
        elif self._chunk_times:
            self.mark("chunk_ms", (now - self._last_ns) / 1e6, "point", index=index)
        self._last_ns = now
        self.add("chunks", **{_usage.OUTPUT: 1})

    def count(self, name: str) -> tuple[int, str] | None:
        """The tokens of a kind and who counted them; None where nobody did."""
        for source in _SOURCES:
            if name in self._counts.get(source, {}):
                return self._counts[source][name], source
        return None

    def finish(self) -> None:
        """The request has ended."""
        took_ns = time.perf_counter_ns() - self._start_ns
        self.mark("request_duration_ms", took_ns / 1e6)
        names = dict.fromkeys(name for counts in self._counts.values() for name in counts)
        for name in names:
            count, source = self.count(name) or (0, "")
            self.mark(name, count, source=source)
        self._total()
        self._rate(took_ns)

    def _total(self) -> None:
        taken, given = self.count(_usage.INPUT), self.count(_usage.OUTPUT)
        if self.count(_usage.TOTAL) is None and taken and given:
            self.mark(_usage.TOTAL, taken[0] + given[0], source=given[1])

    def _rate(self, took_ns: int) -> None:
        tokens = (self.count(_usage.OUTPUT) or (0, ""))[0]
        streamed_ns = self._last_ns - self._first_ns
        if tokens > 1 and streamed_ns > 0:
            rate, of = (tokens - 1) / streamed_ns, "after the first token"
        elif tokens and took_ns > 0:
            rate, of = tokens / took_ns, "the whole request"
        else:
            return
        self.mark("tokens_per_second", rate * 1e9, of=of)

    def mark(self, name: str, value: float, kind: str = "summary", **attrs: Any) -> None:
        """A mark of the request, whatever scope its function is in."""
        with _hodo.attach(self._request):
            _hodo.mark(name, value, kind, **attrs)  # type: ignore[arg-type]


class Around:
    """What code inside a request sees of it. Holds nothing that keeps the request open."""

    __slots__ = ("id", "meter", "trace")

    def __init__(self, id: str, trace: Trace, meter: Meter | None = None) -> None:
        self.id = id
        self.trace = trace
        self.meter = meter


around: ContextVar[Around | None] = ContextVar("hodo.request", default=None)


class Request:
    """A request of a serving function; ends once, when it is told to or when nobody has it any more.

    Code of the request runs inside ``with request:``, as often as it takes.
    """

    def __init__(
        self,
        attrs: dict[str, Any],
        id: Any = None,
        traceparent: Any = None,
        chunk_times: bool = False,
        meter: type[Meter] = Meter,
    ) -> None:
        outside = around.get()
        trace = Trace.read(traceparent) or (environment() if outside is None else None)
        own = _id(id, outside)
        self._once = threading.Lock()
        self._tokens: list[Token[Around | None]] = []
        self._steps = _hodo.steps(_hodo.scope("request", **{**attrs, **described(own, trace)}))
        with self._steps:
            link = _hodo.current()
        if trace is None:
            trace = outside.trace if outside else Trace.starting_at(link.id)
        self.meter = meter(link, chunk_times)
        self.around = Around(own, trace, self.meter)

    def __enter__(self) -> None:
        self._steps.__enter__()
        self._tokens.append(around.set(self.around))

    def __exit__(self, *exception: Any) -> None:
        around.reset(self._tokens.pop())
        self._steps.__exit__(*exception)

    def end(self, error: BaseException | None = None) -> None:
        """Ends it, the first time: as failed by ``error``, unless its reader just left it."""
        if not self._once.acquire(blocking=False):
            return
        left = isinstance(error, GeneratorExit)
        if left:
            self.meter.mark("closed_early", True)
        self.meter.finish()
        self._steps.end(None if error is None or left else str(type(error).__name__))

    def __del__(self) -> None:
        if hasattr(self, "around"):
            self.end(GeneratorExit())


def _id(given: Any, outside: Around | None) -> str:
    """The id of a request: its own, or that of the HTTP request it is made in."""
    if given is not None:
        return str(given)
    is_in_http = outside is not None and outside.meter is None
    return outside.id if outside is not None and is_in_http else new_id()


def new_id() -> str:
    """An id of 32 hex digits."""
    return os.urandom(16).hex()


def described(id: str, trace: Trace | None) -> dict[str, str]:
    """What a request's scope says of it: its id and, where another program called, who."""
    if trace is None or trace.caller is None:
        return {"request_id": id}
    return {"request_id": id, "trace_id": trace.id, "caller": trace.caller}


def request_id() -> str | None:
    outside = around.get()
    return None if outside is None else outside.id


def traceparent() -> str | None:
    outside = around.get()
    return header(None if outside is None else outside.trace)


def tokens(input: int | None, output: int | None) -> None:
    outside = around.get()
    given = {_usage.INPUT: input, _usage.OUTPUT: output}
    for name, count in given.items():
        if count is not None and (
            isinstance(count, bool) or not isinstance(count, int) or count < 0
        ):
            raise ValueError(f"{name.removesuffix('_tokens')} is a number of tokens, not {count!r}")
    if outside is not None and outside.meter is not None:
        counts = {name: count for name, count in given.items() if count is not None}
        outside.meter.add("given", **counts)
