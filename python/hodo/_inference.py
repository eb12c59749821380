"""``@hodo.inference``: every call of a serving function is a request, until its answer has been read."""

from __future__ import annotations

import functools
import inspect
import io
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from hodo import _hodo, _streams, hooks
from hodo._decorate import _Step
from hodo._request import Meter, Request

_READ = ("request_id", "traceparent")
_NOT_ATTRIBUTES = ("name", "repeat", "warmup")


class Serving:
    """How the calls of a function become requests."""

    def __init__(
        self,
        attrs: dict[str, Any],
        chunk_times: bool = False,
        meter: type[Meter] = Meter,
        start: Callable[[], object] | None = None,
    ) -> None:
        for name in _NOT_ATTRIBUTES:
            if name in attrs:
                raise TypeError(f"{name!r} cannot be an attribute of requests")
        self._attrs = attrs
        self._chunk_times = chunk_times
        self._meter = meter
        self._start = start

    def decorate(self, function: Any) -> Any:
        """``function`` with every call a request."""
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self.decorate(function.__func__))
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"inference decorates functions and methods, not {function!r}")
        is_async = inspect.iscoroutinefunction(function)
        return (self._coroutine if is_async else self._plain)(function, _Arguments(function))

    def _plain(self, function: Callable[..., Any], arguments: _Arguments) -> Callable[..., Any]:
        @functools.wraps(function)
        def requested(*args: Any, **kwargs: Any) -> Any:
            request = self._open(arguments, args, kwargs)
            if request is None:
                return function(*args, **kwargs)
            try:
                with request:
                    result = function(*args, **kwargs)
            except BaseException as error:
                request.end(error)
                raise
            return answered(request, result)

        return requested

    def _coroutine(self, function: Callable[..., Any], arguments: _Arguments) -> Callable[..., Any]:
        @functools.wraps(function)
        async def requested(*args: Any, **kwargs: Any) -> Any:
            request = self._open(arguments, args, kwargs)
            if request is None:
                return await function(*args, **kwargs)
            return await _awaited(request, function(*args, **kwargs))

        return requested

    def _open(
        self, arguments: _Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Request | None:
        if self._start is not None:
            self._start()
        id, traceparent = arguments.take(args, kwargs)
        if not _hodo.is_on():
            return None
        hooks.install_part("transformers", "hodo.hooks.generate")
        return Request(self._attrs, id, traceparent, self._chunk_times, self._meter)


class _Arguments:
    """Finds the arguments of a call that say which request it is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # some of those written in C have no signature
            parameters = []
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._places = {
            parameter.name: at
            for at, parameter in enumerate(parameters)
            if parameter.kind in positional and parameter.name in _READ
        }
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        named = {parameter.name for parameter in parameters}
        self._kept_from_it = [name for name in _READ if not takes_all and name not in named]

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Their values; those that the function does not take are taken out of ``kwargs``."""
        found = []
        for name in _READ:
            take = kwargs.pop if name in self._kept_from_it else kwargs.get
            at = self._places.get(name, len(args))
            found.append(args[at] if at < len(args) else take(name, None))
        return found


async def _awaited(request: Request, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        result = await _Step(request, coroutine)
    except BaseException as error:
        request.end(error)
        raise
    return answered(request, result)


def answered(request: Request, result: Any) -> Any:
    """What the caller gets: a stream ends the request when it ends, anything else ends it now."""
    if inspect.iscoroutine(result):
        return _awaited(request, result)
    if callable(getattr(type(result), "add_done_callback", None)):
        result.add_done_callback(functools.partial(_future_done, request))
        return result
    stream = _stream(request, result)
    if stream is not None:
        return stream
    # Starlette and FastAPI answer with an object that has the stream in it.
    body = _stream(request, getattr(result, "__dict__", {}).get("body_iterator"))
    if body is not None:
        result.body_iterator = body
        return result
    request.meter.response(result)
    request.end()
    return result


def _future_done(request: Request, future: Any) -> None:
    if future.cancelled():
        import asyncio

        return request.end(asyncio.CancelledError())
    error = future.exception()
    if error is None:
        request.meter.response(future.result())
    request.end(error)


def _stream(request: Request, result: Any) -> Any:
    """``result`` as a stream that ends the request; None for what is no stream."""
    if inspect.isgenerator(result):
        kind: Any = _streams.steps
    elif inspect.isasyncgen(result):
        kind = _streams.async_steps
    elif isinstance(result, AsyncIterator):
        kind = _streams.AsyncStream
    elif isinstance(result, Iterator) and not isinstance(result, io.IOBase):
        kind = _streams.Stream
    else:
        return None
    request.meter.stream()
    return kind(request, result)
