"""``@hodo.inference``: every call of a serving function is a request, until its answer has been read."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from hodo import _hodo, _managers, _streams, hooks
from hodo._decorate import _Step
from hodo._request import Meter, Request
from hodo._signature import parameters_of

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
        if inspect.iscoroutinefunction(function):
            return self._coroutine(function, _Arguments(function))
        return _of_same_kind(self._plain(function, _Arguments(function)), function)

    def _plain(self, function: Callable[..., Any], arguments: _Arguments) -> Callable[..., Any]:
        @functools.wraps(function)
        def requested(*args: Any, **kwargs: Any) -> Any:
            request = self._open(arguments, args, kwargs)
            if request is None:
                return function(*args, **kwargs)
            try:
                with request.inside():
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
            try:
                coroutine = function(*args, **kwargs)
            except BaseException as error:
                # It was called with the wrong arguments.
                request.end(error)
                raise
            return await _awaited(request, coroutine)

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


def _of_same_kind(requested: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """``requested``, which returns a generator, as one that frameworks take for what makes one.

    The flag is for those who ask; what makes a generator is in the code itself. Were it one, its request
    would begin with the first read, and a stream that nobody reads have none.
    """
    if inspect.isgeneratorfunction(function):
        flag = inspect.CO_GENERATOR
    elif inspect.isasyncgenfunction(function):
        flag = inspect.CO_ASYNC_GENERATOR
    else:
        return requested  # type: ignore[no-any-return]
    code = requested.__code__
    requested.__code__ = code.replace(co_flags=code.co_flags | flag)
    return requested  # type: ignore[no-any-return]


class _Arguments:
    """Finds the arguments of a call that say which request it is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = parameters_of(function)
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
        result = await _Step(request.inside(), coroutine)
    except BaseException as error:
        request.end(error)
        raise
    return answered(request, result)


def answered(request: Request, result: Any) -> Any:
    """What the caller gets: a stream ends the request when it ends, anything else ends it now."""
    if inspect.iscoroutine(result):
        return _awaited(request, result)
    is_future = callable(getattr(type(result), "add_done_callback", None))
    stream = _streams.of(request, result)
    if stream is not None:
        # As of gRPC: read part by part, or waited for as a whole.
        if is_future and not result.done():
            result.add_done_callback(functools.partial(_unread_done, request))
        return stream
    if is_future:
        result.add_done_callback(functools.partial(_future_done, request))
        return result
    if _managers.is_manager(result):
        return _managers.Manager(request, result)
    # Starlette and FastAPI answer with an object that has the stream in it.
    body = _streams.of(request, getattr(result, "__dict__", {}).get("body_iterator"))
    if body is not None:
        result.body_iterator = body
        return result
    request.meter.response(result)
    request.end()
    return result


def _unread_done(request: Request, future: Any) -> None:
    if not request.meter.is_read:
        _future_done(request, future)


def _future_done(request: Request, future: Any) -> None:
    error = _error_of(future)
    if error is None:
        # torch's own futures have a value.
        result = future.result if hasattr(future, "result") else future.value
        request.meter.response(result())
    request.end(error)


def _error_of(future: Any) -> BaseException | None:
    error: BaseException | None
    if hasattr(future, "cancelled") and future.cancelled():
        import asyncio

        return asyncio.CancelledError()
    # One of asyncio that is asked takes its error for seen, and no longer reports one that nobody saw.
    if getattr(future, "_log_traceback", False):
        error = future._exception
        return error
    if hasattr(future, "exception"):
        error = future.exception()
        return error
    try:
        future.value()
    except BaseException as raised:
        return raised
    return None
