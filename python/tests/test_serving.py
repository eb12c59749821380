"""Requests of serving functions."""

from __future__ import annotations

from pathlib import Path

import pytest
import runs
from helpers import WELL, record

START = """
import asyncio, contextlib, gc, sys, threading, time
import hodo
hodo.init(app="serving", gpu="off")
"""


def test_every_kind_of_function(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def plain(x):
    "What it says."
    with hodo.scope("model"):
        return {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}

@hodo.inference(model="small", chunk_times=True)
def stream(n):
    for i in range(n):
        with hodo.scope("token"):
            received = yield i
    return received

@hodo.inference
async def coroutine(x):
    async def part():
        with hodo.scope("part"):
            await asyncio.sleep(0)
    await asyncio.gather(part(), part())
    return x

@hodo.inference
async def async_stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        received = yield i
        assert received == ("s" if i == 0 else None)

class Model:
    @hodo.inference
    def method(self): return self
    @hodo.inference
    @classmethod
    def of_class(cls): return cls
    @hodo.inference
    @staticmethod
    def of_nothing(): return 1
    @hodo.inference
    def later(self):
        async def work():
            with hodo.scope("later"):
                await asyncio.sleep(0)
            return 7
        return work()

def drive(generator):
    got = [next(generator)]
    try:
        while True:
            got.append(generator.send("s"))
    except StopIteration as stop:
        return got, stop.value

async def main():
    assert await coroutine(5) == 5
    items = async_stream(2)
    assert (await anext(items), await items.asend("s")) == (0, 1)
    assert [i async for i in items] == []
    assert await Model().later() == 7

with hodo.scope("caller"):
    assert plain(1)["usage"]
assert plain.__name__ == "plain" and plain.__doc__ == "What it says."
assert drive(stream(3)) == ([0, 1, 2], "s")
asyncio.run(main())
assert isinstance(Model().method(), Model) and Model.of_class() is Model and Model.of_nothing() == 1
for what in (Model, 5):
    try:
        hodo.inference(what)
        raise SystemExit("decorated")
    except TypeError:
        pass
"""
        + WELL,
    )
    assert run.tree == (
        "caller 1\n  request 1\n    model 1\nrequest 7\n  later 1\n  part 2\n  token 3"
    )
    assert run.left_open == 0
    told = run.attributes("request")
    assert len({attrs["request_id"] for attrs in told}) == 8
    assert [attrs["model"] for attrs in told if "model" in attrs] == ["small"]
    asked = run.marks("caller", "request")
    counts = {name: asked[name]["last"] for name in asked if name.endswith("tokens")}
    assert counts == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert asked["tokens_per_second"]["summary"] and asked["request_duration_ms"]["summary"]
    assert "time_to_first_token_ms" not in asked, "it was no stream"
    marks = run.marks("request")
    assert marks["request_duration_ms"]["count"] == 7
    assert marks["time_to_first_token_ms"]["count"] == 2
    assert sorted((marks["output_tokens"]["min"], marks["output_tokens"]["max"])) == [2, 3]
    assert (marks["chunk_ms"]["count"], marks["chunk_ms"]["summary"]) == (2, False)


def test_streams_that_end_in_every_other_way(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def stream(how):
    for i in range(3):
        if how == "fails" and i == 2:
            raise OSError("lost")
        with hodo.scope("token"):
            yield i

@hodo.inference
async def async_stream(how):
    for i in range(3):
        if how == "hangs" and i == 1:
            await asyncio.sleep(60)
        if how == "fails" and i == 2:
            raise OSError("lost")
        await asyncio.sleep(0)
        yield i

async def read(how, most=9):
    got = []
    async for i in async_stream(how):
        got.append(i)
        if len(got) == most:
            break
    return got

def caught(call, *kinds):
    try:
        call()
    except kinds:
        return
    raise SystemExit("not raised")

stream("never read")
unread = stream("never read, kept")
stream("closed before").close()
for i in stream("left"):
    break
caught(lambda: list(stream("fails")), OSError)
half = stream("dropped")
next(half)
del half, i

async def main():
    async_stream("never read")
    assert await read("left", 1) == [0]
    try:
        await read("fails")
        raise SystemExit("not raised")
    except OSError:
        pass
    try:
        async with asyncio.timeout(0.01):
            await read("hangs")
        raise SystemExit("not raised")
    except TimeoutError:
        pass
    task = asyncio.create_task(read("hangs"))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with contextlib.aclosing(async_stream("thrown into")) as items:
        await anext(items)
        try:
            await items.athrow(LookupError)
        except LookupError:
            pass

asyncio.run(main())
"""
        + WELL,
    )
    assert run.tree == "request 12\n  token 4"
    node = run.node("request")
    # Two that raised, one timed out, one cancelled, one thrown into.
    assert (node["failed"], run.left_open) == (5, 0)
    errors = sorted(a["error"] for a in run.attributes("request") if "error" in a)
    assert errors == ["CancelledError"] * 2 + ["LookupError"] + ["OSError"] * 2
    marks = run.marks("request")
    assert marks["request_duration_ms"]["count"] == 12, "also of the one that was open at the end"
    assert marks["closed_early"]["count"] == 7
    # Of the four that nobody read nobody counted anything.
    assert (marks["output_tokens"]["count"], marks["output_tokens"]["min"]) == (8, 1)


def test_two_hundred_at_the_same_time(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import random

@hodo.inference
async def answer(n, request_id):
    with hodo.scope("model"):
        await asyncio.sleep(random.random() / 50)
        hodo.mark("inside", n)
        await asyncio.gather(*(part(n) for _ in range(3)))
    hodo.tokens(output=n, input=1)
    assert hodo.request_id() == request_id
    return n

@hodo.inference
async def stream(n, request_id):
    for i in range(n % 5):
        with hodo.scope("token"):
            await asyncio.sleep(random.random() / 50)
        assert hodo.request_id() == request_id
        yield i

async def part(n):
    with hodo.scope("part"):
        await asyncio.sleep(random.random() / 50)
        hodo.mark("part_of", n)

async def read(n):
    return [i async for i in stream(n, request_id=f"stream {n}")]

async def main():
    jobs = [answer(n, request_id=f"answer {n}") for n in range(200)]
    jobs += [read(n) for n in range(200)]
    with hodo.scope("server"):
        await asyncio.gather(*jobs)

asyncio.run(main())
"""
        + WELL
        + """
hodo.flush()
run = hodo.trace()
def rows(table, *columns):
    places = [table.columns.index(column) for column in columns]
    return [[row[place] for place in places] for row in table.fetchall()]
ids = {}
for scope, value in rows(run.table("attrs"), "scope", "value"):
    kind, n = value.split()
    assert scope not in ids
    ids[scope] = (kind, int(n))
assert sorted(ids.values()) == sorted((kind, n) for kind in ("answer", "stream") for n in range(200))
spans = rows(run.spans(), "id", "parent", "name")
parents = {id: parent for id, parent, _ in spans}
names = {id: name for id, _, name in spans}
def request_of(scope):
    while names[scope] != "request":
        scope = parents[scope]
    return scope
seen = {}
for scope, name, value in rows(run.marks(), "scope", "name", "value"):
    if name in ("inside", "part_of", "output_tokens", "request_duration_ms"):
        kind, n = ids[request_of(scope)]
        if name != "request_duration_ms":
            expected = n if kind == "answer" else n % 5
            assert value == expected, (name, value, kind, n)
        seen[name] = seen.get(name, 0) + 1
assert seen == {"inside": 200, "part_of": 600, "output_tokens": 400, "request_duration_ms": 400}, seen
""",
    )
    assert run.tree == "server 1\n  request 400\n    model 200\n      part 600\n    token 400"
    assert run.left_open == 0


def test_memory_does_not_grow_with_requests(tmp_path: Path) -> None:
    code = (
        START
        + """
def resident():
    gc.collect()
    with open("/proc/self/smaps_rollup") as file:
        rows = dict(line.split(":") for line in file if line.startswith(("Private_D", "Anonymous")))
    return int(rows["Anonymous"].split()[0])

@hodo.inference
async def stream(n):
    for i in range(3):
        yield i

async def some():
    for n in range(10_000):
        async for i in stream(n, traceparent=f"00-{n + 1:032x}-{n + 1:016x}-01"):
            if n % 2:
                break
        stream(n)
        await asyncio.sleep(0)           # lets the loop close what was left

asyncio.run(some())
before, objects = resident(), len(gc.get_objects())
asyncio.run(some())
asyncio.run(some())
grown = resident() - before
# 40,000 requests: what is kept of each would be more than 64 bytes.
assert grown < 2500, f"{grown} KiB"
assert len(gc.get_objects()) < objects + 1000
"""
        + WELL
    )
    run = record(tmp_path, code)
    assert run.node("request")["count"] == 60_000
    assert run.left_open == 0


def test_usage_is_found_in_objects_dicts_and_streams(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
from types import SimpleNamespace as Of

class Bad:
    @property
    def usage(self):
        raise RuntimeError("not yet")

def chunk(content, usage=None):
    return Of(choices=[Of(delta=Of(content=content, role="assistant"))], usage=usage)

@hodo.inference
def answer(what):
    return what

@hodo.inference
def chat():
    time.sleep(0.001)
    yield chunk(None)                    # says only who speaks
    time.sleep(0.03)
    for text in ("a", "b", "c"):
        yield chunk(text)
    yield Of(choices=[], usage=Of(prompt_tokens=11, completion_tokens=30, total_tokens=41))

with hodo.scope("object"):
    answer(Of(usage=Of(prompt_tokens=5, completion_tokens=6, total_tokens=11,
                       prompt_tokens_details=Of(cached_tokens=4), completion_tokens_details=None)))
with hodo.scope("responses"):
    answer({"usage": {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}}})
with hodo.scope("none"):
    for what in (Bad(), None, 5, "usage", {"usage": None}, {"usage": {"prompt_tokens": "3"}}, [1], object):
        assert answer(what) is what
with hodo.scope("chat"):
    assert len(list(chat())) == 5
with hodo.scope("no usage"):
    assert len([c for c in answer(iter([chunk(""), chunk("x"), {"choices": [{"text": "y"}]}, ""]))]) == 4
with hodo.scope("given"):
    @hodo.inference
    def counted():
        hodo.tokens(output=100)
        hodo.tokens(output=1, input=2)
        return {"usage": {"completion_tokens": 7}}
    counted()
hodo.tokens(output=5)                    # outside of requests
for bad in (-1, 1.5, True, "3"):
    try:
        hodo.tokens(output=bad)
        raise SystemExit("took it")
    except ValueError:
        pass
"""
        + WELL,
    )

    def counts(name: str) -> dict[str, float]:
        marks = run.marks(name, "request")
        return {mark: marks[mark]["last"] for mark in marks if mark.endswith("_tokens")}

    assert counts("object") == {
        "input_tokens": 5, "output_tokens": 6, "total_tokens": 11, "cached_tokens": 4,
    }
    assert counts("responses") == {
        "input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "reasoning_tokens": 1,
    }
    assert counts("none") == {}, "not captured is not 0"
    assert counts("chat") == {"input_tokens": 11, "output_tokens": 30, "total_tokens": 41}
    assert run.marks("chat", "request")["time_to_first_token_ms"]["last"] >= 31
    assert counts("no usage") == {"output_tokens": 2}
    assert counts("given") == {"output_tokens": 101, "input_tokens": 2, "total_tokens": 103}


def test_stream_objects_stay_what_they_are(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import io

class Stream:
    response_id = "r-1"
    closed = 0
    def __init__(self): self.left = ["a", "b"]
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        return self.left.pop(0)
    def close(self): Stream.closed += 1

class AsyncStream:
    closed = 0
    def __init__(self): self.left = ["a", "b"]
    def __aiter__(self): return self
    async def __anext__(self):
        await asyncio.sleep(0)
        if not self.left: raise StopAsyncIteration
        return self.left.pop(0)
    async def close(self): AsyncStream.closed += 1

class Response:
    def __init__(self, body): self.body_iterator = body

@hodo.inference
def ask(): return Stream()

@hodo.inference
async def ask_async(): return AsyncStream()

@hodo.inference
def download(): return io.BytesIO(b"abc")

@hodo.inference
def respond(): return Response(iter("abc"))

with ask() as answer:
    assert isinstance(answer, Stream) and answer.response_id == "r-1"
    assert next(answer) == "a"
assert Stream.closed == 1
answer = ask()
assert list(answer) == ["a", "b"]
answer.close()
assert Stream.closed == 2
dropped = ask()
del dropped
assert download().read() == b"abc"
assert list(respond().body_iterator) == list("abc")

async def main():
    async with await ask_async() as answer:
        assert isinstance(answer, AsyncStream)
        assert [item async for item in answer] == ["a", "b"]
    assert AsyncStream.closed == 1
asyncio.run(main())
"""
        + WELL,
    )
    assert run.tree == "request 6"
    assert (run.left_open, run.node("request")["failed"]) == (0, 0)
    marks = run.marks("request")
    assert (marks["output_tokens"]["count"], marks["output_tokens"]["max"]) == (4, 3), "one was not read"
    assert marks["closed_early"]["count"] == 2


def test_futures_and_threads(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(4)

def work(n):
    assert hodo.request_id() is not None
    with hodo.scope("work"):
        hodo.tokens(output=n)
    if n == 3:
        raise OSError("lost")
    return {"usage": {"prompt_tokens": n}}

@hodo.inference
def submit(n):
    return pool.submit(hodo.carry(work), n)

@hodo.inference
def threads(n):
    for i in range(n):
        yield i

assert submit(2).result() == {"usage": {"prompt_tokens": 2}}
assert isinstance(submit(3).exception(), OSError)
# A server may take each item of a stream on another thread of a pool.
items = threads(20)
got = []
for _ in range(20):
    thread = threading.Thread(target=lambda: got.append(next(items)))
    thread.start()
    thread.join()
assert list(items) == [] and got == list(range(20))

async def main():
    @hodo.inference
    def task():
        async def inner():
            with hodo.scope("inner"):
                await asyncio.sleep(0)
        return asyncio.ensure_future(inner())
    await task()
    cancelled = task()
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
asyncio.run(main())
pool.shutdown()
"""
        + WELL,
    )
    assert run.tree == "request 5\n  inner 1\n  work 2"
    assert (run.left_open, run.node("request")["failed"]) == (0, 2)
    assert run.marks("request")["output_tokens"]["max"] == 20


def test_traceparent_is_read_and_passed_on(tmp_path: Path) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    run = record(
        tmp_path,
        START
        + f"""
GIVEN = {given!r}
"""
        + """
import os, re

@hodo.inference
def takes_none():
    with hodo.scope("call") as call:
        return hodo.traceparent(), call.id

@hodo.inference
def takes_it(prompt, traceparent=None, request_id=None):
    return traceparent, request_id

@hodo.inference
def outer():
    return takes_none()

assert hodo.traceparent() is None and hodo.request_id() is None
header, scope = takes_none(traceparent=GIVEN, request_id=17)
assert header == f"00-0af7651916cd43dd8448eb211c80319c-{scope[16:]}-00", header
assert takes_it("p", GIVEN) == (GIVEN, None)
assert takes_it("p", traceparent=GIVEN, request_id="r") == (GIVEN, "r")
# Of no trace, or a broken one: a new one each request.
headers = [takes_none()[0], outer()[0]]
for broken in ("", "nonsense", GIVEN.upper(), "ff" + GIVEN[2:], GIVEN + "-more", 5, b"\\xff",
               "00-" + "0" * 32 + GIVEN[35:], GIVEN[:36] + "0" * 16 + "-01", GIVEN + "\\n00"):
    headers.append(takes_none(traceparent=broken)[0])
assert all(re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", header) for header in headers)
assert len({header[:36] for header in headers}) == len(headers)
# A version to come may say more.
assert takes_none(traceparent="01" + GIVEN[2:] + "-more")[0][:36] == GIVEN[:36]
assert takes_none(traceparent=GIVEN.encode())[0][:36] == GIVEN[:36]
with hodo.scope("job"):
    first = hodo.traceparent()
with hodo.scope("job"):
    assert hodo.traceparent()[:36] == first[:36] != headers[0][:36], "one trace for the process"
    os.environ["TRACEPARENT"] = GIVEN
    assert hodo.traceparent()[:36] == GIVEN[:36]
assert takes_none()[0][:36] == GIVEN[:36]
"""
        + WELL,
    )
    told = run.attributes("request")
    link = {"trace_id": given[3:35], "caller": given[36:52]}
    assert told[0] == {"request_id": "17", **link}
    assert {**told[-1], "request_id": ""} == {"request_id": "", **link}, "of the environment"
    assert sum("trace_id" in attrs for attrs in told) == 6


def test_switched_off_is_inert(tmp_path: Path) -> None:
    code = """
    import asyncio, hodo
    hodo.init()

    @hodo.inference
    def stream(n):
        yield from range(n)

    @hodo.inference
    async def answer():
        hodo.tokens(output=1)
        return hodo.request_id(), hodo.traceparent()

    assert list(stream(3, traceparent="x")) == [0, 1, 2]
    assert asyncio.run(answer(request_id=4)) == (None, None)
    """
    runs.run(tmp_path, code, HODO="0")
    assert not list(tmp_path.glob("*/run.json"))


def test_recording_stops_and_starts_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    code = """
    import hodo

    @hodo.inference
    def stream(n):
        for i in range(n):
            with hodo.scope("token"):
                yield i

    early = stream(3)
    hodo.init(gpu="off")
    assert list(early) == [0, 1, 2]
    late = stream(3)
    assert next(late) == 0
    hodo.shutdown()
    assert list(late) == [1, 2]
    """
    run = record(tmp_path, code)
    assert run.tree == "request 1\n  token 1\ntoken 3"


@pytest.mark.parametrize("threshold", [2, 4, 7, 8, 11])
def test_the_garbage_collector_ends_requests_wherever_it_runs(tmp_path: Path, threshold: int) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def stream():
    with hodo.scope("inside"):
        pass
    yield 1

class Cycle:
    pass

gc.set_threshold(int(sys.argv[1]), 2, 2)
for n in range(2000):
    lost = Cycle()
    lost.self, lost.stream = lost, stream()
    if n % 2:
        next(lost.stream)
    del lost
    with hodo.scope("outer", n=n, text=[n, "x"]):
        with hodo.scope("inner", note={"n": n}):
            hodo.mark("n", n, note=[n])
gc.collect()
"""
        + WELL,
        str(threshold),
    )
    assert run.tree == "outer 2000\n  inner 2000\nrequest 2000\n  inside 1000"
    assert run.left_open == 0
    assert run.marks("outer", "inner")["n"]["count"] == 2000
    marks = run.marks("request")
    assert marks["closed_early"]["count"] == marks["request_duration_ms"]["count"] == 2000


def test_a_forked_child_leaves_the_requests_of_its_parent_alone(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import os

@hodo.inference
def stream():
    for i in range(3):
        yield i

items = stream()
next(items)
child = os.fork()
if not child:
    del items
    with hodo.scope("of the child"):
        assert list(stream()) == [0, 1, 2]
    hodo.shutdown()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert list(items) == [1, 2]
"""
        + WELL,
    )
    assert run.node("request")["count"] == 1 and run.left_open == 0
    assert run.marks("request")["output_tokens"]["last"] == 3
    assert run.marks("request")["request_duration_ms"]["count"] == 1
    assert run.tree.count("of the child 1\n") == 1
