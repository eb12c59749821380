"""Streams of a request's answer: in the request while they run, and out of it while they wait."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any

from hodo._decorate import _send, _Step
from hodo._request import Request


def steps(request: Request, inner: Iterator[Any]) -> Generator[Any, Any, Any]:
    """``inner`` item by item, with everything that generators take."""
    step: Callable[[], Any] = functools.partial(next, inner)
    try:
        while True:
            with request:
                item = step()
            request.meter.chunk(item)
            try:
                sent = yield item
            except GeneratorExit:
                if inspect.isgenerator(inner):
                    with request:
                        inner.close()
                raise
            except BaseException as error:
                step = functools.partial(inner.throw, error)  # type: ignore[attr-defined]
            else:
                step = functools.partial(_send, inner, sent)
    except StopIteration as stop:
        request.end()
        return stop.value
    except BaseException as error:
        request.end(error)
        raise


async def async_steps(request: Request, inner: Any) -> AsyncGenerator[Any, Any]:
    """The same for async generators and iterators."""
    step = inner.__anext__
    try:
        while True:
            item = await _Step(request, step())
            request.meter.chunk(item)
            try:
                sent = yield item
            except GeneratorExit:
                if inspect.isasyncgen(inner):
                    await _Step(request, inner.aclose())
                raise
            except BaseException as error:
                step = functools.partial(inner.athrow, error)
            else:
                step = inner.__anext__ if sent is None else functools.partial(inner.asend, sent)
    except StopAsyncIteration:
        request.end()
    except BaseException as error:
        request.end(error)
        raise


class _Proxy:
    """A library's own stream object, still usable as what it is."""

    def __init__(self, request: Request, stream: Any, items: Any) -> None:
        self._hodo_request = request
        self._hodo_stream = stream
        self._hodo_items = items

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hodo_stream, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._hodo_stream)


class Stream(_Proxy):
    """A stream object that is iterated over."""

    def __init__(self, request: Request, stream: Iterator[Any]) -> None:
        super().__init__(request, stream, steps(request, stream))

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        return next(self._hodo_items)

    def __enter__(self) -> Stream:
        enter = getattr(self._hodo_stream, "__enter__", None)
        if enter is not None:
            enter()
        return self

    def __exit__(self, *raised: Any) -> Any:
        self._end()
        leave = getattr(self._hodo_stream, "__exit__", self._close_stream)
        return leave(*raised)

    def close(self) -> None:
        """Closes the stream, and with it the request."""
        self._end()
        self._close_stream()

    def _end(self) -> None:
        self._hodo_items.close()
        self._hodo_request.end(GeneratorExit())

    def _close_stream(self, *_raised: Any) -> None:
        close = getattr(self._hodo_stream, "close", None)
        if callable(close):
            close()


class AsyncStream(_Proxy):
    """A stream object that is iterated over asynchronously."""

    def __init__(self, request: Request, stream: AsyncIterator[Any]) -> None:
        super().__init__(request, stream, async_steps(request, stream))

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Any:
        return await self._hodo_items.__anext__()

    async def __aenter__(self) -> AsyncStream:
        enter = getattr(self._hodo_stream, "__aenter__", None)
        if enter is not None:
            await enter()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        await self._end()
        leave = getattr(self._hodo_stream, "__aexit__", self._close_stream)
        return await leave(*raised)

    async def close(self) -> None:
        """Closes the stream, and with it the request."""
        await self._end()
        await self._close_stream()

    aclose = close

    async def _end(self) -> None:
        await self._hodo_items.aclose()
        self._hodo_request.end(GeneratorExit())

    async def _close_stream(self, *_raised: Any) -> None:
        closing = getattr(self._hodo_stream, "close", None) or getattr(
            self._hodo_stream, "aclose", None
        )
        closed = closing() if callable(closing) else None
        if inspect.isawaitable(closed):
            await closed
