"""Functions that take the scope and the request they are carried from along, to another thread or task."""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from hodo import _hodo
from hodo._decorate import Function, _awaiting, _first, is_running
from hodo._request import Around, Inside, around

_OWN = "hodo."


def carry(function: Function) -> Function:
    """``function`` of any kind, with every call inside what is current now."""
    there = _There(_hodo.current(), around.get())
    inner = inspect.unwrap(function) if callable(function) else function
    if inspect.isasyncgenfunction(inner):
        carried = _async_generator(there, function)
    elif inspect.iscoroutinefunction(inner):
        carried = _coroutine(there, function)
    elif inspect.isgeneratorfunction(inner):
        carried = _generator(there, function)
    else:
        carried = _plain(there, function)
    return functools.update_wrapper(carried, function)  # type: ignore[return-value]


class _There:
    """A scope and a request that code can be inside of, anywhere."""

    def __init__(self, link: _hodo.Link, request: Around | None) -> None:
        self._link, self._request = link, request

    def inside(self) -> Inside:
        """To run code in."""
        return Inside(self._request, _hodo.attach(self._link))


def _plain(there: _There, function: Callable[..., Any]) -> Callable[..., Any]:
    def carried(*args: Any, **kwargs: Any) -> Any:
        with there.inside():
            return function(*args, **kwargs)

    return carried


def _coroutine(there: _There, function: Callable[..., Any]) -> Callable[..., Any]:
    async def carried(*args: Any, **kwargs: Any) -> Any:
        with there.inside():
            return await function(*args, **kwargs)

    return carried


def _generator(there: _There, function: Callable[..., Any]) -> Callable[..., Any]:
    def carried(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with _Apart(there) as apart:
            return (yield from _Steps(apart, function(*args, **kwargs)))

    return carried


def _async_generator(there: _There, function: Callable[..., Any]) -> Callable[..., Any]:
    async def carried(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(_first, generator)
        with _Apart(there) as apart:
            while True:
                try:
                    item = await _Waited(apart, step())
                except StopAsyncIteration:
                    return
                try:
                    sent = yield item
                except GeneratorExit:
                    if not is_running(generator):
                        await _Waited(apart, generator.aclose())
                    raise
                except BaseException as error:
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)

    return carried


class _Apart:
    """Where a generator runs while its reader is elsewhere: in scopes of its own, and else in the reader's context."""

    def __init__(self, there: _There) -> None:
        self._inside = there.inside()
        self._context = contextvars.copy_context()
        self._is_running = False

    def __enter__(self) -> _Apart:
        self._context.run(self._inside.__enter__)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._context.run(self._inside.__exit__, *raised)

    def run(self, step: Callable[..., Any], *given: Any) -> Any:
        """Runs a step there."""
        if self._is_running:
            # A generator that is asked for more by itself refuses in its own words.
            return step(*given)
        self._is_running = True
        try:
            self._context.run(_take, contextvars.copy_context())
            return self._context.run(step, *given)
        finally:
            self._is_running = False
            _take(self._context)


def _take(context: contextvars.Context) -> None:
    """Sets every variable as in ``context``, but for those that say where code is."""
    for variable, value in context.items():
        if not variable.name.startswith(_OWN) and variable.get(_OWN) is not value:
            variable.set(value)


class _Steps:
    """A generator, or what a coroutine waits by, step by step apart from its reader."""

    def __init__(self, apart: _Apart, inner: Any) -> None:
        self._apart, self._inner = apart, inner

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> Any:
        return self._apart.run(next, self._inner)

    def __getattr__(self, name: str) -> Any:
        # `send`, `throw` and `close`, where it has them.
        return functools.partial(self._apart.run, getattr(self._inner, name))


class _Waited:
    """Awaits one step of an async generator."""

    def __init__(self, apart: _Apart, awaitable: Any) -> None:
        self._steps = _Steps(apart, _awaiting(awaitable))

    def __await__(self) -> _Steps:
        return self._steps
