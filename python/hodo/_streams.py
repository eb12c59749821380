"""Streams of a request's answer: in the request while they run, and out of it while they wait."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
)
from typing import Any

from hodo._decorate import _send, _Step
from hodo._proxy import Proxy
from hodo._request import Request


def steps(request: Request, inner: Iterator[Any]) -> Generator[Any, Any, Any]:
    """``inner`` item by item, with everything that generators take."""
    made = _steps(request, inner)
    # Of one that has not begun nothing runs when it is closed.
    next(made)
    return made


def _steps(request: Request, inner: Iterator[Any]) -> Generator[Any, Any, Any]:
    # Lists of one, taken out to be handed on: what is kept here would live as long as the reader waits.
    items: list[Any] = [None]
    steps: list[Callable[[], Any]] = []
    try:
        while True:
            try:
                sent = yield items.pop()
            except GeneratorExit:
                if inspect.isgenerator(inner):
                    with request.inside():
                        inner.close()
                raise
            except BaseException as error:
                steps.append(functools.partial(inner.throw, error))  # type: ignore[attr-defined]
            else:
                steps.append(functools.partial(_send, inner, sent))
                del sent
            request.meter.stream()
            with request.inside():
                items.append(steps.pop()())
            request.meter.chunk(items[0])
    except StopIteration as stop:
        request.end()
        return stop.value
    except BaseException as error:
        request.end(error)
        raise


async def async_steps(request: Request, inner: Any) -> AsyncGenerator[Any, Any]:
    """The same for async generators and iterators."""
    steps: list[Callable[[], Any]] = [inner.__anext__]
    items: list[Any] = []
    request.meter.stream()
    try:
        while True:
            items.append(await _Step(request.inside(), steps.pop()()))
            request.meter.chunk(items[0])
            try:
                sent = yield items.pop()
            except GeneratorExit:
                if inspect.isasyncgen(inner):
                    await _Step(request.inside(), inner.aclose())
                raise
            except BaseException as error:
                steps.append(functools.partial(inner.athrow, error))
            else:
                steps.append(
                    inner.__anext__ if sent is None else functools.partial(inner.asend, sent)
                )
                del sent
    except StopAsyncIteration:
        request.end()
    except BaseException as error:
        request.end(error)
        raise


def of_async(request: Request, items: AsyncIterator[Any]) -> Any:
    """An async generator or iterator as one that ends the request."""
    return (async_steps if inspect.isasyncgen(items) else AsyncStream)(request, items)


class _Readers:
    """Those who read the stream object of a request: several threads or tasks may at a time."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._turn = threading.Lock()
        self._reading: set[_Read] = set()
        self._has_stopped = False

    def enter(self, read: _Read) -> bool:
        """Begins a read; whether it is the only one."""
        self._reading.add(read)
        self.request.meter.stream()
        return self._turn.acquire(blocking=False)

    def leave(self, read: _Read, was_alone: bool, error: BaseException | None) -> None:
        """Ends a read, and with the last one the request, if the stream has come to its end."""
        if was_alone:
            self._turn.release()
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            self._has_stopped = True
        elif error is not None:
            self.request.failed(error)
        self._reading.discard(read)
        if self._has_stopped and not self._reading:
            self.request.stopped()


class _Read:
    """One read. Whatever it raises, the stream is the program's to go on with."""

    def __init__(self, readers: _Readers) -> None:
        self._readers = readers

    def __enter__(self) -> _Read:
        self._is_alone = self._readers.enter(self)
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        self._readers.leave(self, self._is_alone, error)

    def next(self, stream: Iterator[Any]) -> Any:
        """The next item."""
        request = self._readers.request
        with request.inside() if self._is_alone else request.beside():
            item = next(stream)
        request.came(item)
        return item

    async def anext(self, stream: AsyncIterator[Any]) -> Any:
        """The next item, waited for."""
        request = self._readers.request
        if self._is_alone:
            item = await _Step(request.inside(), stream.__anext__())
        else:
            with request.beside():
                item = await stream.__anext__()
        request.came(item)
        return item


class Stream(Proxy):
    """A stream object that is iterated over."""

    def __init__(self, request: Request, stream: Iterator[Any]) -> None:
        self._hodo_request = request
        self._hodo_readers = _Readers(request)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        if self._hodo_request.is_over:
            return next(self._hodo_stream)
        with _Read(self._hodo_readers) as read:
            return read.next(self._hodo_stream)

    def __enter__(self) -> Any:
        enter = getattr(self._hodo_stream, "__enter__", None)
        return self._hodo_entered(self if enter is None else enter())

    def __exit__(self, *raised: Any) -> Any:
        self._hodo_request.end(GeneratorExit())
        leave = getattr(self._hodo_stream, "__exit__", self._close_stream)
        return leave(*raised)

    def close(self) -> None:
        """Closes the stream, and with it the request."""
        self._hodo_request.end(GeneratorExit())
        self._close_stream()

    def _close_stream(self, *_raised: Any) -> None:
        close = getattr(self._hodo_stream, "close", None)
        if callable(close):
            close()


class _AsyncClosing(Proxy):
    """What is closed asynchronously, and with it the request."""

    def __init__(self, request: Request, stream: Any) -> None:
        self._hodo_request = request

    async def __aenter__(self) -> Any:
        enter = getattr(self._hodo_stream, "__aenter__", None)
        return self._hodo_entered(self if enter is None else await enter())

    async def __aexit__(self, *raised: Any) -> Any:
        self._hodo_request.end(GeneratorExit())
        leave = getattr(self._hodo_stream, "__aexit__", self._close_stream)
        return await leave(*raised)

    def close(self) -> Any:
        """Closes the stream, and with it the request; to be awaited where the stream's own is."""
        self._hodo_request.end(GeneratorExit())
        return self._closed_by("close", "aclose")

    def aclose(self) -> Any:
        """The same by the other name: streams have one of them, or both."""
        self._hodo_request.end(GeneratorExit())
        return self._closed_by("aclose", "close")

    def _closed_by(self, *names: str) -> Any:
        for name in names:
            close = getattr(self._hodo_stream, name, None)
            if callable(close):
                return close()
        return _Nothing()

    async def _close_stream(self, *_raised: Any) -> None:
        closed = self._closed_by("aclose", "close")
        if inspect.isawaitable(closed):
            await closed


class _Nothing:
    """May be awaited, or not."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


class AsyncStream(_AsyncClosing):
    """A stream object that is iterated over asynchronously."""

    def __init__(self, request: Request, stream: AsyncIterator[Any]) -> None:
        super().__init__(request, stream)
        self._hodo_readers = _Readers(request)

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Any:
        if self._hodo_request.is_over:
            return await self._hodo_stream.__anext__()
        with _Read(self._hodo_readers) as read:
            return await read.anext(self._hodo_stream)


class AsyncStreams(_AsyncClosing):
    """An object that makes the iterator it is read by."""

    def __aiter__(self) -> AsyncIterator[Any]:
        items: AsyncIterator[Any] = self._hodo_stream.__aiter__()
        return items if self._hodo_request.is_over else of_async(self._hodo_request, items)
