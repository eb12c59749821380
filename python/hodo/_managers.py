"""What a serving function returns to be entered with ``with``: the request lasts until it is left."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from hodo import _streams
from hodo._decorate import _Step
from hodo._proxy import Proxy
from hodo._request import Request

_WAYS = (("__enter__", "__exit__"), ("__aenter__", "__aexit__"))
_DECLARED = {AbstractContextManager, AbstractAsyncContextManager}


def is_manager(result: Any) -> bool:
    """Whether it is there to be entered, and for nothing else.

    An image, a response or a connection can be entered too, and is an answer by itself.
    """
    kind = type(result)
    if not any(hasattr(kind, enter) and hasattr(kind, leave) for enter, leave in _WAYS):
        return False
    if inspect.isawaitable(result):
        return False
    return bool(_DECLARED.intersection(kind.__mro__)) or all(name[0] == "_" for name in dir(kind))


def _enter(manager: Any) -> Any:
    return manager._hodo_entered(manager._hodo_inside(manager._hodo_stream.__enter__))


def _exit(manager: Any, *raised: Any) -> Any:
    left = manager._hodo_inside(manager._hodo_stream.__exit__, *raised)
    manager._hodo_request.let_go()
    return left


async def _aenter(manager: Any) -> Any:
    return manager._hodo_entered(await manager._hodo_waited(manager._hodo_stream.__aenter__))


async def _aexit(manager: Any, *raised: Any) -> Any:
    left = await manager._hodo_waited(manager._hodo_stream.__aexit__, *raised)
    manager._hodo_request.let_go()
    return left


class Manager(Proxy):
    """Runs what is opened and closed inside of the request, and measures the stream it gives."""

    __slots__ = ("_hodo_request",)
    _hodo_where_there = {
        "__enter__": _enter,
        "__exit__": _exit,
        "__aenter__": _aenter,
        "__aexit__": _aexit,
    }

    def __init__(self, request: Request, manager: Any) -> None:
        self._hodo_request = request
        request.hold()

    def _hodo_entered(self, given: Any) -> Any:
        if given is self._hodo_stream or self._hodo_request.is_over:
            return super()._hodo_entered(given)
        stream = _streams.of(self._hodo_request, given)
        return given if stream is None else stream

    def _hodo_inside(self, step: Callable[..., Any], *raised: Any) -> Any:
        request = self._hodo_request
        if request.is_over:
            return step(*raised)
        try:
            with request.inside():
                return step(*raised)
        except BaseException as error:
            request.let_go(error)
            raise

    async def _hodo_waited(self, step: Callable[..., Any], *raised: Any) -> Any:
        request = self._hodo_request
        if request.is_over:
            return await step(*raised)
        try:
            return await _Step(request.inside(), step(*raised))
        except BaseException as error:
            request.let_go(error)
            raise
