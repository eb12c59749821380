"""Requests of a web server: ``hodo.asgi.Middleware`` for Starlette, FastAPI, Django, Litestar and others.

::

    from hodo.asgi import Middleware

    app.add_middleware(Middleware)      # or: app = Middleware(app)
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from hodo import _hodo
from hodo._request import Around, around, described, new_id, reset
from hodo._traceparent import Trace

__all__ = ["Middleware", "ServerError"]

Event = MutableMapping[str, Any]
Send = Callable[[Event], Awaitable[None]]
Receive = Callable[[], Awaitable[Event]]
App = Callable[[Event, Receive, Send], Awaitable[None]]

_KINDS = ("http", "websocket")
# In the ASGI scope of a request that a middleware of ours is around.
_SEEN = "hodo.is_recorded"
_LONGEST_ID = 200


class ServerError(Exception):
    """What a request has failed of that was answered with a status of 500 or more."""


class Middleware:
    """Makes every request of an ASGI application a scope, ``http`` or ``websocket``.

    Its attributes are ``request_id`` (the header ``x-request-id``, if that is up to 200 printable
    characters of ASCII, or a new one), ``method``, ``path``, ``route`` where the application says it,
    ``status``, and of a header ``traceparent`` the ``trace_id`` and the ``caller``. Marks:
    ``time_to_first_byte_ms`` and ``response_bytes``. What runs inside, functions with
    ``@hodo.inference`` too, is under it and of the same id and trace. Of two around one application
    the outer one records. Of the query, the other headers and the bodies nothing is recorded.

    app: the application.
    skip: paths that are not recorded, such as ``["/health"]``.
    """

    def __init__(self, app: App, *, skip: Iterable[str] = ()) -> None:
        if isinstance(skip, str):
            raise TypeError(f"skip is a list of paths, not the text {skip!r}")
        self.app = app
        self._skip = frozenset(skip)

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        kind = scope.get("type")
        if kind not in _KINDS or not _hodo.is_on() or self._is_left_out(scope):
            await self.app(scope, receive, send)
            return
        _see(scope)
        headers = _headers(scope)
        trace = Trace.read(headers.get(b"traceparent"))
        id = _id(headers.get(b"x-request-id", b"")) or new_id()
        attrs = {name: scope[name] for name in ("method", "path") if name in scope}
        with _hodo.scope(kind, **described(id, trace), **attrs) as opened:
            answer = _Answer(opened, send)
            inside = Around(id, trace or Trace.starting_at(opened.id))
            token = around.set(inside)
            try:
                await self.app(scope, receive, answer.send)
            finally:
                reset(token)
                _unsee(scope)
                answer.finish(scope)

    def _is_left_out(self, scope: Event) -> bool:
        if scope.get(_SEEN) is True:
            return True
        try:
            return scope.get("path") in self._skip
        except Exception:  # a path that is no text may not be hashed or compared
            return False


def _see(scope: Event) -> None:
    try:
        scope[_SEEN] = True
    except Exception:  # some server's scope is read-only
        pass


def _unsee(scope: Event) -> None:
    try:
        scope.pop(_SEEN, None)
    except Exception:
        pass


def _headers(scope: Event) -> dict[bytes, bytes]:
    """The headers that are read; of one that is there twice none, as its sender is unclear."""
    found: dict[bytes, list[bytes]] = {}
    for pair in _pairs(scope):
        try:
            name, value = map(_bytes, pair)
        except (TypeError, ValueError):  # it is for the application to judge
            continue
        if name.lower() in (b"traceparent", b"x-request-id"):
            found.setdefault(name.lower(), []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _pairs(scope: Event) -> Iterable[Any]:
    pairs = scope.get("headers")
    if pairs is None or isinstance(pairs, (list, tuple)):
        return pairs or ()
    try:
        # Not read from a scope in which they cannot be put back.
        scope["headers"] = pairs
        # By the standard they may be such as can be read once, and that is the application's to do.
        pairs = scope["headers"] = list(pairs)
    except Exception:  # code of the server's own may raise anything
        return ()
    return pairs


def _bytes(text: Any) -> bytes:
    return text.encode("latin-1") if isinstance(text, str) else bytes(memoryview(text))


def _id(given: bytes) -> str | None:
    """An id that a client has given; None for one that no log should have."""
    text = given.decode("latin-1")
    return text if len(text) <= _LONGEST_ID and text.isascii() and text.isprintable() else None


class _Answer:
    """Watches what an application sends."""

    def __init__(self, opened: _hodo.Scope, send: Send) -> None:
        self._opened = opened
        self._send = send
        self._start_ns = time.perf_counter_ns()
        self._bytes: int | None = None
        self._status: Any = None

    async def send(self, event: Event) -> None:
        try:
            self._watch(event)
        except Exception:  # what is wrong with it is for the server to say
            pass
        await self._send(event)

    def _watch(self, event: Event) -> None:
        kind = event.get("type")
        if kind == "http.response.start":
            self._status = event.get("status")
            self._bytes = 0
        elif kind == "websocket.close":
            self._status = event.get("code", 1000)
        elif kind == "http.response.body":
            self._count(len(event.get("body") or b""))

    def _count(self, size: int) -> None:
        if size and not self._bytes:
            took_ns = time.perf_counter_ns() - self._start_ns
            self._opened.mark("time_to_first_byte_ms", took_ns / 1e6, "summary")
        self._bytes = (self._bytes or 0) + size

    def finish(self, scope: Event) -> None:
        """The application is done with the request."""
        if self._bytes is not None:
            self._opened.mark("response_bytes", self._bytes, "summary")
        route = _route(scope)
        if route is not None:
            self._opened.set(route=route)
        if isinstance(self._status, int):
            self._opened.set(status=self._status)
            if scope.get("type") == "http" and self._status >= 500:
                self._opened.fail(ServerError)


def _route(scope: Event) -> str | None:
    try:
        path = getattr(scope.get("route"), "path", None)
    except Exception:  # a property of the application's own object may raise anything
        return None
    return path if isinstance(path, str) else None
