"""Requests of a serving function: one scope each, open until its stream has been read."""

from __future__ import annotations

import functools
import inspect
import io
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, cast

from hodo import _hodo
from hodo._decorate import _Step, _steps

_TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")
_COMMON = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}


def decorate(
    function: Callable[..., Any], config: dict[str, Any], start: Callable[[], object]
) -> Callable[..., Any]:
    """``function`` with every call a scope ``request``; ``start`` is called before each."""
    chunk_timing = bool(config.get("stream_chunk_timing", False))

    @functools.wraps(function)
    def request(*args: Any, **kwargs: Any) -> Any:
        start()
        steps, meter = _open(chunk_timing)
        try:
            with steps:
                result = function(*args, **kwargs)
            meter.response(result)
        except BaseException as error:
            steps.end(str(type(error).__name__))
            raise
        return _finish(steps, meter, result)

    @functools.wraps(function)
    async def request_async(*args: Any, **kwargs: Any) -> Any:
        start()
        steps, meter = _open(chunk_timing)
        try:
            result = await _Step(steps, function(*args, **kwargs))
            meter.response(result)
        except BaseException as error:
            steps.end(str(type(error).__name__))
            raise
        return _finish(steps, meter, result)

    made: Any = request_async if inspect.iscoroutinefunction(function) else request
    made._cirron_config = config
    return cast(Callable[..., Any], made)


def _open(chunk_timing: bool) -> tuple[_hodo.Steps, Meter]:
    steps = _hodo.steps(_hodo.scope("request", request_id=uuid.uuid4().hex))
    with steps:
        return steps, Meter(_hodo.current(), chunk_timing)


def _finish(steps: _hodo.Steps, meter: Meter, result: Any) -> Any:
    """What the caller gets: a stream ends the request when it ends, anything else ends it now."""
    if inspect.isgenerator(result):
        return _steps(steps, _metered(result, meter))
    if inspect.isasyncgen(result):
        return _async_steps(steps, result, meter)
    if isinstance(result, AsyncIterator):
        return _AsyncStream(steps, result, meter)
    if isinstance(result, Iterator) and not isinstance(result, io.IOBase):
        return _Stream(steps, result, meter)
    steps.end()
    return result


class Meter:
    """Marks a request with what its response says and how its stream comes in."""

    def __init__(self, request: _hodo.Link, chunk_timing: bool) -> None:
        self._request = request
        self._start_ns = time.perf_counter_ns()
        self._first_ns = self._last_ns = 0
        self._chunks = 0
        self._tokens: int | None = None
        self._chunk_timing = chunk_timing

    def response(self, response: Any) -> None:
        """Takes what the function returned: token counts, by their own and common names."""
        counts = usage(response)
        for name, common in _COMMON.items():
            if name in counts:
                self._mark(name, counts[name], source="openai")
                self._mark(common, counts[name], source="openai", normalized=True)
        total = counts.get("total_tokens")
        if total is None and len(counts) == 2:
            total = sum(counts.values())
        if total is not None:
            self._mark("total_tokens", total, source="openai", normalized=True)

    def chunk(self, item: Any) -> None:
        """Takes a chunk that has just come."""
        now = time.perf_counter_ns()
        if not self._chunks:
            self._first_ns = now
            self._mark("time_to_first_token_ms", (now - self._start_ns) / 1e6)
        elif self._chunk_timing:
            self._mark("chunk_ms", (now - self._last_ns) / 1e6, "point", index=self._chunks)
        self._last_ns = now
        self._chunks += 1
        self._tokens = usage(item).get("completion_tokens", self._tokens)

    def finish(self) -> None:
        """The stream has ended, by itself or not."""
        end = time.perf_counter_ns()
        self._mark("request_duration_ms", (end - self._start_ns) / 1e6)
        if self._chunks:
            tokens = self._chunks if self._tokens is None else self._tokens
            self._mark("output_tokens", tokens, normalized=True)
            self._mark("tokens_per_second", tokens / max(1e-9, (end - self._first_ns) / 1e9))

    def _mark(self, name: str, value: float, kind: str = "summary", **attrs: Any) -> None:
        """A mark of the request, whatever scope its function is in."""
        with _hodo.attach(self._request):
            _hodo.mark(name, value, kind, **attrs)  # type: ignore[arg-type]


def _metered(inner: Iterator[Any], meter: Meter) -> Generator[Any, Any, Any]:
    """``inner`` item by item, with everything that generators take."""
    step: Callable[[], Any] = functools.partial(next, inner)
    try:
        while True:
            try:
                item = step()
            except StopIteration as stop:
                return stop.value
            meter.chunk(item)
            try:
                sent = yield item
            except GeneratorExit:
                _close(inner)
                raise
            except BaseException as error:
                step = functools.partial(inner.throw, error)  # type: ignore[attr-defined]
            else:
                step = functools.partial(_send, inner, sent)
    finally:
        meter.finish()


def _send(inner: Any, sent: Any) -> Any:
    return next(inner) if sent is None else inner.send(sent)


def _close(inner: Any) -> None:
    close = getattr(inner, "close", None)
    if callable(close):
        close()


async def _async_steps(steps: _hodo.Steps, inner: Any, meter: Meter) -> AsyncGenerator[Any, Any]:
    """Drives ``inner``, an async generator or iterator, in the request only while it runs."""
    step = inner.__anext__
    failed: BaseException | None = None
    try:
        while True:
            try:
                item = await _Step(steps, step())
            except StopAsyncIteration:
                return
            meter.chunk(item)
            try:
                sent = yield item
            except GeneratorExit:
                if hasattr(inner, "aclose"):
                    await _Step(steps, inner.aclose())
                raise
            except BaseException as error:
                step = functools.partial(inner.athrow, error)
            else:
                step = inner.__anext__ if sent is None else functools.partial(inner.asend, sent)
    except GeneratorExit:
        raise
    except BaseException as error:
        failed = error
        raise
    finally:
        meter.finish()
        steps.end(None if failed is None else str(type(failed).__name__))


class _Proxy:
    """A provider's own stream object, still usable as what it is."""

    def __init__(self, steps: _hodo.Steps, stream: Any) -> None:
        self._steps = steps
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Stream(_Proxy):
    def __init__(self, steps: _hodo.Steps, stream: Iterator[Any], meter: Meter) -> None:
        super().__init__(steps, stream)
        self._items = _steps(steps, _metered(stream, meter))

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def __enter__(self) -> _Stream:
        enter = getattr(self._stream, "__enter__", None)
        if enter is not None:
            enter()
        return self

    def __exit__(self, *raised: Any) -> Any:
        self._end()
        leave = getattr(self._stream, "__exit__", self._close_stream)
        return leave(*raised)

    def close(self) -> None:
        """Closes the stream, and with it the request."""
        self._end()
        self._close_stream()

    def _end(self) -> None:
        self._items.close()
        self._steps.end()

    def _close_stream(self, *_raised: Any) -> None:
        _close(self._stream)


class _AsyncStream(_Proxy):
    def __init__(self, steps: _hodo.Steps, stream: AsyncIterator[Any], meter: Meter) -> None:
        super().__init__(steps, stream)
        self._items = _async_steps(steps, stream, meter)

    def __aiter__(self) -> _AsyncStream:
        return self

    async def __anext__(self) -> Any:
        return await self._items.__anext__()

    async def __aenter__(self) -> _AsyncStream:
        enter = getattr(self._stream, "__aenter__", None)
        if enter is not None:
            await enter()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        await self._end()
        leave = getattr(self._stream, "__aexit__", self._close_stream)
        return await leave(*raised)

    async def close(self) -> None:
        """Closes the stream, and with it the request."""
        await self._end()
        await self._close_stream()

    async def _end(self) -> None:
        await self._items.aclose()
        self._steps.end()

    async def _close_stream(self, *_raised: Any) -> None:
        closing = getattr(self._stream, "close", None) or getattr(self._stream, "aclose", None)
        closed = closing() if callable(closing) else None
        if inspect.isawaitable(closed):
            await closed


def usage(response: Any) -> dict[str, int]:
    """The token counts of a response shaped as OpenAI's are; empty for anything else."""
    try:
        found = _part(response, "usage")
        counts = {name: _part(found, name) for name in _TOKENS} if found is not None else {}
    except Exception:  # a property of the program's own object may raise anything
        return {}
    return {
        name: count
        for name, count in counts.items()
        if isinstance(count, int) and not isinstance(count, bool)
    }


def _part(whole: Any, name: str) -> Any:
    return whole.get(name) if isinstance(whole, dict) else getattr(whole, name, None)
