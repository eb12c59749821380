"""Scopes as decorators."""

from __future__ import annotations

import copyreg
import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

from hodo import _hodo

Function = TypeVar("Function", bound=Callable[..., Any])


def _reduce(template: _hodo.Scope) -> tuple[Any, ...]:
    # cloudpickle takes a decorated function of a script along by value, and its scope with it.
    return (_hodo.scope, (template.name, template.index))


copyreg.pickle(_hodo.Scope, _reduce)


def bare(function: Function) -> Function:
    """``@hodo.scope`` without parentheses: the scope has the function's name."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return decorate(_hodo.scope(str(name)), function)


def decorate(template: _hodo.Scope, function: Function) -> Function:
    """``function`` with every call inside a scope as ``template`` describes it."""
    inner = inspect.unwrap(function) if callable(function) else function
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(decorate(template, function.__func__))
    if inspect.isasyncgenfunction(inner):
        wrapped = _async_generator(template, function)
    elif inspect.iscoroutinefunction(inner):
        wrapped = _coroutine(template, function)
    elif inspect.isgeneratorfunction(inner):
        wrapped = _generator(template, function)
    elif inspect.isclass(function):
        raise TypeError(
            f"a scope decorates functions and methods, not the class {function.__name__}"
        )
    else:
        wrapped = _plain(template, function)
    return functools.update_wrapper(wrapped, function)  # type: ignore[return-value]


def _plain(template: _hodo.Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    again = _hodo.again

    def scoped(*args: Any, **kwargs: Any) -> Any:
        with again(template):
            return function(*args, **kwargs)

    return scoped


def _coroutine(template: _hodo.Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    again = _hodo.again

    async def scoped(*args: Any, **kwargs: Any) -> Any:
        with again(template):
            return await function(*args, **kwargs)

    return scoped


def _generator(template: _hodo.Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    def scoped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return _steps(_hodo.steps(template), function(*args, **kwargs))

    def started(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        # A generator function, so that the scope begins with the first step.
        return (yield from scoped(*args, **kwargs))

    return started


def _steps(steps: _hodo.Steps, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Drives ``generator``, in its scope while it runs and out of it while it waits."""
    send: Callable[[], Any] = lambda: next(generator)  # noqa: E731
    try:
        while True:
            with steps:
                item = send()
            try:
                sent = yield item
            except GeneratorExit:
                with steps:
                    generator.close()
                steps.end()
                raise
            except BaseException as error:
                send = functools.partial(generator.throw, error)
            else:
                send = functools.partial(generator.send, sent)
    except StopIteration as stop:
        steps.end()
        return stop.value
    except GeneratorExit:
        raise
    except BaseException as error:
        steps.end(str(type(error).__name__))
        raise


def _async_generator(template: _hodo.Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    async def scoped(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        steps = _hodo.steps(template)
        generator = function(*args, **kwargs)
        send: Callable[[], Any] = functools.partial(_first, generator)
        try:
            while True:
                item = await _Step(steps, send())
                try:
                    sent = yield item
                except GeneratorExit:
                    if not is_running(generator):
                        await _Step(steps, generator.aclose())
                    steps.end()
                    raise
                except BaseException as error:
                    send = functools.partial(generator.athrow, error)
                else:
                    send = functools.partial(generator.asend, sent)
        except StopAsyncIteration:
            steps.end()
        except GeneratorExit:
            raise
        except BaseException as error:
            steps.end(str(type(error).__name__))
            raise

    return scoped


def _first(generator: Any) -> Any:
    """The first step of an async generator that another drives. Of the two an event loop that ends closes
    only the other, which closes this one: not both at once."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=None)
    try:
        return generator.__anext__()
    finally:
        sys.set_asyncgen_hooks(firstiter=hooks.firstiter)


def is_running(generator: Any) -> bool:
    """Whether somebody else is in an async generator, as who closes it: then it is not for us to close."""
    return bool(getattr(generator, "ag_running", False))


class _Step:
    """Awaits one step of an async generator, in its scope only while it runs."""

    __slots__ = ("_awaitable", "_steps")

    def __init__(self, steps: Any, awaitable: Any) -> None:
        self._steps = steps
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, inner = self._steps, _awaiting(self._awaitable)
        send: Callable[[], Any] = lambda: next(inner)  # noqa: E731
        while True:
            try:
                with steps:
                    item = send()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield item
            except BaseException as error:
                if not hasattr(inner, "throw"):
                    # As `await` does: it is over for whoever waits.
                    raise
                send = functools.partial(inner.throw, error)
            else:
                send = functools.partial(_send, inner, sent)


def _awaiting(awaitable: Any) -> Any:
    if hasattr(type(awaitable), "__await__"):
        return awaitable.__await__()
    if inspect.isawaitable(awaitable):
        # A generator that `types.coroutine` made one.
        return awaitable
    raise TypeError(f"object {type(awaitable).__name__} can't be used in 'await' expression")


def _send(inner: Any, sent: Any) -> Any:
    return next(inner) if sent is None else inner.send(sent)
