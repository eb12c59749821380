"""Streams of a request's answer: in the request while they run, and out of it while they wait."""

from __future__ import annotations

import functools
import inspect
import io
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
)
from typing import Any, Self

from hodo._decorate import _first, _Step, is_running
from hodo._proxy import Proxy
from hodo._request import Request


async def async_steps(request: Request, inner: Any) -> AsyncGenerator[Any, Any]:
    """An async generator part by part, with everything that such take."""
    steps: list[Callable[[], Any]] = [functools.partial(_first, inner)]
    items: list[Any] = []
    request.meter.stream()
    try:
        while True:
            items.append(await _Step(request.inside(), steps.pop()()))
            request.meter.chunk(items[0])
            try:
                sent = yield items.pop()
            except GeneratorExit:
                if inspect.isasyncgen(inner) and not is_running(inner):
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
    if not inspect.isasyncgen(items):
        return AsyncStream(request, items)
    steps: Any = async_steps(request, items)
    steps.__name__, steps.__qualname__ = items.__name__, items.__qualname__
    return steps


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


def _enter(stream: Any) -> Any:
    return stream._hodo_entered(stream._hodo_stream.__enter__())


def _exit(stream: Any, *raised: Any) -> Any:
    stream._hodo_request.end(GeneratorExit())
    return stream._hodo_stream.__exit__(*raised)


async def _aenter(stream: Any) -> Any:
    return stream._hodo_entered(await stream._hodo_stream.__aenter__())


async def _aexit(stream: Any, *raised: Any) -> Any:
    stream._hodo_request.end(GeneratorExit())
    return await stream._hodo_stream.__aexit__(*raised)


def _close(stream: Any) -> Any:
    stream._hodo_request.end(GeneratorExit())
    return stream._hodo_stream.close()


def _aclose(stream: Any) -> Any:
    stream._hodo_request.end(GeneratorExit())
    return stream._hodo_stream.aclose()


class _Closing(Proxy):
    """What is closed, in its own ways, and with it the request."""

    __slots__ = ("_hodo_request",)
    _hodo_where_there = {
        "__enter__": _enter,
        "__exit__": _exit,
        "__aenter__": _aenter,
        "__aexit__": _aexit,
        "close": _close,
        "aclose": _aclose,
    }

    def __init__(self, request: Request, stream: Any) -> None:
        self._hodo_request = request


class Stream(_Closing):
    """A stream object that is iterated over."""

    __slots__ = ("_hodo_readers",)

    def __init__(self, request: Request, stream: Iterator[Any]) -> None:
        super().__init__(request, stream)
        self._hodo_readers = _Readers(request)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._hodo_request.is_over:
            return next(self._hodo_stream)
        with _Read(self._hodo_readers) as read:
            return read.next(self._hodo_stream)


class Generated(Proxy):
    """A generator: one that has raised is over, and one that is dropped is closed."""

    __slots__ = ("_hodo_request", "_hodo_turn")

    def __init__(self, request: Request, stream: Generator[Any, Any, Any]) -> None:
        self._hodo_request = request
        # It refuses a second reader itself, who is in no request then.
        self._hodo_turn = threading.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._hodo_read(self._hodo_stream.__next__)

    def send(self, value: Any) -> Any:
        """Goes on with ``value``."""
        return self._hodo_read(self._hodo_stream.send, value)

    def throw(self, *error: Any) -> Any:
        """Goes on with an exception."""
        return self._hodo_read(self._hodo_stream.throw, *error)

    def close(self) -> Any:
        """Closes it, and with it the request."""
        closed = self._hodo_step(self._hodo_stream.close)
        if self._hodo_stream.gi_frame is None:
            self._hodo_request.end(GeneratorExit())
        return closed

    def __del__(self) -> None:
        # Not by the generator's own end: what that closes is inside of the request.
        if not self._hodo_request.is_over:
            self.close()

    def _hodo_read(self, step: Callable[..., Any], *given: Any) -> Any:
        request = self._hodo_request
        if request.is_over:
            return step(*given)
        request.meter.stream()
        item = self._hodo_step(step, *given)
        request.meter.chunk(item)
        return item

    def _hodo_step(self, step: Callable[..., Any], *given: Any) -> Any:
        if self._hodo_request.is_over or not self._hodo_turn.acquire(blocking=False):
            return step(*given)
        try:
            with self._hodo_request.inside():
                return step(*given)
        except BaseException as error:
            # One that only refused, as what is sent before it has begun, goes on.
            if self._hodo_stream.gi_frame is None:
                self._hodo_request.end(None if isinstance(error, StopIteration) else error)
            raise
        finally:
            self._hodo_turn.release()


class AsyncStream(_Closing):
    """A stream object that is iterated over asynchronously."""

    __slots__ = ("_hodo_readers",)

    def __init__(self, request: Request, stream: AsyncIterator[Any]) -> None:
        super().__init__(request, stream)
        self._hodo_readers = _Readers(request)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._hodo_request.is_over:
            return await self._hodo_stream.__anext__()
        with _Read(self._hodo_readers) as read:
            return await read.anext(self._hodo_stream)


class AsyncStreams(_Closing):
    """An object that makes the iterator it is read by."""

    __slots__ = ()

    def __aiter__(self) -> AsyncIterator[Any]:
        items: AsyncIterator[Any] = self._hodo_stream.__aiter__()
        return items if self._hodo_request.is_over else of_async(self._hodo_request, items)


def of(request: Request, result: Any) -> Any:
    """``result`` as a stream that ends the request; None for what is no stream."""
    if inspect.isgenerator(result):
        return Generated(request, result)
    if _is(result, AsyncIterator):
        return of_async(request, result)
    if _is(result, AsyncIterable):
        return AsyncStreams(request, result)
    if _is(result, Iterator) and not _is(result, io.IOBase):
        return Stream(request, result)
    return None


def _is(result: Any, kind: type) -> bool:
    """As `isinstance`; a class that cannot be asked, as one of classes that cannot be hashed, is no stream's."""
    try:
        return isinstance(result, kind)
    except Exception:
        return False
