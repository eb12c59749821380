"""One request: its scope, its id, its trace, and what is counted of it."""

from __future__ import annotations

import itertools
import operator
import os
import threading
import time
from contextvars import ContextVar, Token
from typing import Any

from hodo import _hodo, _sse, _usage
from hodo._traceparent import Trace, environment, header

# Who counts tokens, the one that is believed first.
_SOURCES = ("given", "usage", "generate", "chunks")


class Meter:
    """Counts what a request takes and gives, and marks its scope with that."""

    def __init__(self, request: _hodo.Link, chunk_times: bool = False) -> None:
        self._request = request
        self._pid = os.getpid()
        self._chunk_times = chunk_times
        self._start_ns = time.perf_counter_ns()
        self._first_ns = self._last_ns = self._failed_ns = 0
        self._counts: dict[str, dict[str, int]] = {}
        # One that the garbage collector may come back into, to end the request.
        self._adding = threading.RLock()
        # Counts by itself: several threads may read one stream.
        self._parts = itertools.count()

    def response(self, response: Any) -> None:
        """Takes what the function returned, or a part of it."""
        counts = _usage.usage(response)
        if counts:
            # Those of a later part include those of the parts before.
            self._counts.setdefault("usage", {}).update(counts)

    def add(self, source: str, **counts: int) -> None:
        """Adds to what ``source`` has counted so far."""
        with self._adding:
            known = self._counts.setdefault(source, {})
            for name, count in counts.items():
                known[name] = known.get(name, 0) + count

    def stream(self) -> None:
        """The answer is a stream that is being read: its parts are counted."""
        self._counts.setdefault("chunks", {_usage.OUTPUT: 0})

    @property
    def is_read(self) -> bool:
        """Whether the answer is a stream of which anything was asked for."""
        return "chunks" in self._counts

    def chunk(self, item: Any) -> None:
        """Takes a part of a stream that has just come."""
        events = _sse.events(item)
        for event in events:
            self.response(event)
        if not any(_usage.carries_tokens(event) for event in events):
            return
        now = time.perf_counter_ns()
        index = next(self._parts)
        if not index:
            self._first_ns = now
            self.mark("time_to_first_token_ms", (now - self._start_ns) / 1e6)
        elif self._chunk_times:
            self.mark("chunk_ms", (now - self._last_ns) / 1e6, "point", index=index)
        self._last_ns = now

    def failed(self) -> None:
        """A read of the stream has failed: if nothing comes any more, that was its end."""
        self._failed_ns = time.perf_counter_ns()

    def recovered(self) -> None:
        """The stream goes on."""
        self._failed_ns = 0

    def count(self, name: str) -> tuple[int, str] | None:
        """The tokens of a kind and who counted them; None where nobody did."""
        for source in _SOURCES:
            if name in self._counts.get(source, {}):
                return self._counts[source][name], source
        return None

    def finish(self) -> None:
        """The request has ended."""
        took_ns = (self._failed_ns or time.perf_counter_ns()) - self._start_ns
        self.mark("request_duration_ms", took_ns / 1e6)
        if self.is_read:
            self._counts["chunks"][_usage.OUTPUT] = next(self._parts)
        # Copies: another thread may add meanwhile.
        counted = [tuple(counts) for counts in tuple(self._counts.values())]
        names = dict.fromkeys(name for counts in counted for name in counts)
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
        if os.getpid() != self._pid:
            # The parent's: it goes on there, and this child has no scope of it.
            return
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


def reset(token: Token[Around | None]) -> None:
    """Code is no longer in what it was in since ``token``."""
    try:
        _hodo.uncollected(around.reset, token)
    except ValueError:
        # A coroutine that nobody waits for any more is closed by the garbage collector, anywhere.
        pass


class Inside:
    """Where code of a request runs, as often as it takes. Each user has one: several may run at a time."""

    __slots__ = ("_around", "_stack", "_token")

    def __init__(self, around: Around | None, stack: _hodo.Steps | _hodo.Attach) -> None:
        self._around, self._stack = around, stack

    def __enter__(self) -> None:
        self._stack.__enter__()
        # A request that the collector ends changes the context too, perhaps in the middle of this.
        self._token = _hodo.uncollected(around.set, self._around)

    def __exit__(self, *exception: Any) -> None:
        reset(self._token)
        self._stack.__exit__(*exception)


class Request:
    """A request of a serving function; ends once, when it is told to or when nobody has it any more."""

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
        self._steps = _hodo.steps(_hodo.scope("request", **{**attrs, **described(own, trace)}))
        with self._steps:
            self._link = _hodo.current()
        if trace is None:
            trace = outside.trace if outside else Trace.starting_at(self._link.id)
        # Not the exception: that has the frames which have the stream which has this.
        self._failure: type[BaseException] | None = None
        self._is_held = self._is_whole = False
        self.meter = meter(self._link, chunk_times)
        self.around = Around(own, trace, self.meter)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._once.locked()

    def inside(self) -> Inside:
        """To run code in, which may leave scopes open for the next that runs in one of these."""
        return Inside(self.around, self._steps)

    def beside(self) -> Inside:
        """To run code in while other code of the request runs: each closes the scopes it opens."""
        return Inside(self.around, _hodo.attach(self._link))

    def failed(self, error: BaseException) -> None:
        """A read of its answer has failed; the next one may not."""
        if not isinstance(error, GeneratorExit):
            self._failure = type(error)
            self.meter.failed()

    def came(self, item: Any) -> None:
        """A part of its answer has come."""
        if self._failure is not None:
            self._failure = None
            self.meter.recovered()
        self.meter.chunk(item)

    def stopped(self) -> None:
        """Its answer has come to its end."""
        if self._failure is not None and not issubclass(self._failure, Exception):
            # The reader gave up waiting, and then waited again.
            self._failure = None
            self.meter.recovered()
        self.end()

    def end(self, error: BaseException | None = None) -> None:
        """Ends it, the first time: as failed by ``error``, unless its reader just left it."""
        if self._is_held:
            self._read_to(error)
            return
        if not self._once.acquire(blocking=False):
            return
        left = isinstance(error, GeneratorExit)
        failure = self._failure if error is None or left else type(error)
        if left and failure is None:
            self.meter.mark("closed_early", True)
        self.meter.finish()
        self._steps.end(None if failure is None else str(failure.__name__))

    def hold(self) -> None:
        """What its answer is read by is opened and closed: the end of the one is not yet the other's."""
        self._is_held = True

    def _read_to(self, error: BaseException | None) -> None:
        if error is None:
            self._is_whole = True
        else:
            self.failed(error)

    def let_go(self, error: BaseException | None = None) -> None:
        """What was held is closed, and the request ends: early, if its stream was left before its end."""
        self._is_held = False
        if error is None and self.meter.is_read and not self._is_whole:
            error = GeneratorExit()
        self.end(error)

    def __del__(self) -> None:
        if hasattr(self, "around"):
            self._is_held = False
            self.end(GeneratorExit())


def _id(given: Any, outside: Around | None) -> str:
    """The id of a request: its own, or that of the HTTP request it is made in."""
    if given is not None:
        try:
            return str(given)
        except Exception:  # an object of the program's own may raise anything
            pass
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
    given = {_usage.INPUT: input, _usage.OUTPUT: output}
    counts = {name: _whole(name, count) for name, count in given.items() if count is not None}
    outside = around.get()
    if outside is not None and outside.meter is not None:
        outside.meter.add("given", **counts)


def _whole(name: str, count: Any) -> int:
    """A number of tokens, also one of numpy's."""
    try:
        whole = -1 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        whole = -1
    if whole < 0:
        raise ValueError(f"{name.removesuffix('_tokens')} is a number of tokens, not {count!r}")
    return whole
