"""Requests of a web server."""

from __future__ import annotations

from pathlib import Path

from helpers import record

START = """
import asyncio, json
import hodo
from hodo.asgi import Middleware
hodo.init(app="web", gpu="off")

async def call(app, path="/", headers=(), kind="http", **more):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(event):
        sent.append(event)
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": kind, "path": path, "headers": pairs, **more}
    if kind == "http":
        scope.setdefault("method", "GET")
    await app(scope, receive, send)
    return sent
"""
TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"


def test_an_application(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + f"""
HEADER = "00-{TRACE}-{CALLER}-01"
"""
        + """
@hodo.inference
async def answer(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield hodo.traceparent().encode()

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return await send({"type": "lifespan.startup.complete"})
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1011})
    if scope["path"] == "/broken":
        raise LookupError("broken")
    status = 503 if scope["path"] == "/busy" else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    if status == 200:
        async for part in answer(2):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})

served = Middleware(app, skip=["/health"])

async def main():
    sent = await call(served, "/v1", [("TraceParent", HEADER), ("x-request-id", "r-1")], method="POST")
    assert all(part["body"].decode()[:36] == HEADER[:36] for part in sent[1:3])
    await call(served, "/v1", [("traceparent", HEADER), ("traceparent", HEADER)])
    await call(served, "/health")
    await call(served, "/busy")
    await call(served, kind="websocket")
    await call(served, kind="lifespan")
    try:
        await call(served, "/broken")
        raise SystemExit("not raised")
    except LookupError:
        pass
    assert hodo.request_id() is None
    # Cancelled while it waits, as when the client goes away.
    async def waiting(scope, receive, send):
        await asyncio.sleep(60)
    task = asyncio.create_task(call(Middleware(waiting), "/slow"))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

asyncio.run(main())
try:
    Middleware(app, skip="/health")
    raise SystemExit("took it")
except TypeError:
    pass
""",
    )
    # "/health" is not under `http`, what it calls records all the same.
    assert run.tree == "http 5\n  request 2\nrequest 1\nwebsocket 1"
    assert run.left_open == 0
    told = run.attributes("http")
    first, second = told[0], told[1]
    assert first == {
        "request_id": "r-1", "trace_id": TRACE, "caller": CALLER,
        "method": "POST", "path": "/v1", "status": 200,
    }  # fmt: skip
    assert "trace_id" not in second and len(second["request_id"]) == 32
    errors = {attrs["path"]: attrs["error"] for attrs in told if "error" in attrs}
    assert errors == {"/busy": "ServerError", "/broken": "LookupError", "/slow": "CancelledError"}
    assert run.attributes("websocket")[0]["status"] == 1011
    inside = run.attributes("request")
    assert inside[0] == {"request_id": "r-1"} and inside[1]["request_id"] == second["request_id"]
    marks = run.marks("http")
    assert marks["time_to_first_byte_ms"]["count"] == 2
    assert (marks["response_bytes"]["min"], marks["response_bytes"]["max"]) == (0, 110)


def test_two_hundred_at_the_same_time(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import random

@hodo.inference
async def answer(n):
    for i in range(n % 4):
        await asyncio.sleep(random.random() / 50)
        assert hodo.request_id() == str(n)
        yield b"x"

async def app(scope, receive, send):
    n = int(scope["path"][1:])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    with hodo.scope("handle", n):
        await asyncio.sleep(random.random() / 50)
        async for part in answer(n):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})

async def main():
    served = Middleware(app)
    await asyncio.gather(
        *(call(served, f"/{n}", [("x-request-id", str(n))]) for n in range(200))
    )
asyncio.run(main())
""",
    )
    assert run.tree == "http 200\n  handle 200\n    request 200"
    assert run.left_open == 0
    assert all(a["path"] == f"/{a['request_id']}" for a in run.attributes("http"))
    ids = sorted(int(attrs["request_id"]) for attrs in run.attributes("request"))
    assert ids == list(range(200))


def test_an_id_that_no_log_should_have_is_not_taken(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
async def app(scope, receive, send):
    assert hodo.request_id() not in (None, "")
    await send({"type": "http.response.start", "status": 200, "headers": []})

async def main():
    for id in ("A" * 200, "A" * 201, "a\\x1b[31m\\nfake", "caf\u00e9", "", "job 7/a=b"):
        await call(Middleware(app), headers=[("x-request-id", id)])
asyncio.run(main())
""",
    )
    ids = [attrs["request_id"] for attrs in run.attributes("http")]
    assert (ids[0], ids[5]) == ("A" * 200, "job 7/a=b")
    assert all(len(id) == 32 and set(id) <= set("0123456789abcdef") for id in ids[1:5]), ids


def test_two_around_one_application_are_one_request(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})

async def main():
    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    twice = Middleware(Middleware(app))
    async def send(event): pass
    for _ in range(3):
        await twice(scope, None, send)
    assert set(scope) == {"type", "method", "path", "headers"}
asyncio.run(main())
""",
    )
    assert run.tree == "http 3"


def test_headers_that_can_be_read_once_are_the_applications(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
async def app(scope, receive, send):
    seen.append([name for name, value in scope["headers"]])

class Broken:
    def __iter__(self):
        raise OSError("gone")

async def main():
    for headers in ((pair for pair in PAIRS), dict(PAIRS).items(), tuple(PAIRS), PAIRS):
        await Middleware(app)({"type": "http", "path": "/", "headers": headers}, None, None)
    for text in ([("host", "x"), ("X-Request-Id", "r-2")], [("\u20ac", 5), 7, None, (b"host", 10**15)]):
        given = {"type": "http", "path": "/", "headers": text}
        async def judged(scope, receive, send):
            assert scope["headers"] is text
        await Middleware(judged)(given, None, None)
    async def bare(scope, receive, send):
        assert isinstance(scope["headers"], Broken)
    await Middleware(bare)({"type": "http", "path": "/", "headers": Broken()}, None, None)

PAIRS, seen = [(b"host", b"x"), (b"x-request-id", b"r-1")], []
asyncio.run(main())
assert seen == [[b"host", b"x-request-id"]] * 4, seen
""",
    )
    ids = [attrs["request_id"] for attrs in run.attributes("http")]
    assert ids[:5] == ["r-1"] * 4 + ["r-2"] and len(ids) == 7
    assert run.node("http")["failed"] == 0


def test_what_an_application_sends_never_fails_its_request(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Route:
    @property
    def path(self):
        raise RuntimeError("not yet")

def answers(*events):
    async def app(scope, receive, send):
        scope["route"] = Route()
        for event in events:
            await send(event)
        if scope["path"] == "/broken":
            raise LookupError("its own")
    return Middleware(app)

async def main():
    for status in ("200", None, b"500", 503):
        start = {"type": "http.response.start", "status": status}
        assert await call(answers(start, {"type": "http.response.body", "body": 5})) != []
    await call(answers("no event"))
    try:
        await call(answers({"type": "http.response.start", "status": "500"}), "/broken")
        raise SystemExit("not raised")
    except LookupError:
        pass
asyncio.run(main())
""",
    )
    told = run.attributes("http")
    assert [attrs.get("status") for attrs in told] == [None, None, None, 503, None, None]
    assert [attrs.get("error") for attrs in told] == [None] * 3 + ["ServerError", None, "LookupError"]


def test_scopes_that_can_hardly_be_read_fail_no_request(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import types

class Hostile:
    __hash__ = None
    def raises(self, *_):
        raise ValueError("mine")
    __bool__ = __eq__ = __str__ = __repr__ = __iter__ = raises

async def app(scope, receive, send):
    seen.append([*(scope["headers"] if isinstance(scope["headers"], (list, type(once))) else ())])
    await send({"type": "http.response.start", "status": 200})

async def nothing(*_):
    pass

seen, once = [], iter([(b"a", b"b")])
served = Middleware(app, skip=["/health"])
scopes = [
    {"type": "http", "path": ["a"], "headers": []},
    {"type": "http", "path": Hostile(), "headers": []},
    {"type": "http", "path": "/", "headers": Hostile()},
    types.MappingProxyType({"type": "http", "path": "/", "headers": once}),
]
for scope in scopes:
    asyncio.run(served(scope, nothing, nothing))
assert seen == [[], [], [], [(b"a", b"b")]], seen
""",
    )
    assert [each.get("status") for each in run.attributes("http")] == [200] * 4
