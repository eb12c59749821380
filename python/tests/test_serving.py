"""Requests of serving functions: when they begin and end, whatever the function is."""

from __future__ import annotations

from pathlib import Path

import pytest
import runs
from helpers import KINDS, serve


def test_every_kind_of_function(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        "from hodo import scope"
        + KINDS
        + """
plain, coroutine, async_stream = map(hodo.inference, (plain, coroutine, async_stream))
stream = hodo.inference(model="small", chunk_times=True)(stream)

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

async def main():
    assert await coroutine(5) == 5
    assert await drive_async(async_stream(2)) == [0, 1]
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
""",
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


def test_two_hundred_at_the_same_time(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
    run = serve(
        tmp_path,
        """
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
        if n % 100 == 0:
            assert hodo.flush(60)        # what is written at once takes memory too

asyncio.run(some())
before, objects = resident(), len(gc.get_objects())
asyncio.run(some())
asyncio.run(some())
grown = resident() - before
# 40,000 requests: what is kept of each would be more than 64 bytes.
assert grown < 2500, f"{grown} KiB"
assert len(gc.get_objects()) < objects + 1000
""",
    )
    assert run.node("request")["count"] == 60_000
    assert run.left_open == 0


def test_futures_and_threads(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
""",
    )
    assert run.tree == "request 5\n  inner 1\n  work 2"
    assert (run.left_open, run.node("request")["failed"]) == (0, 2)
    assert run.marks("request")["output_tokens"]["max"] == 20


def test_the_error_of_a_task_that_nobody_asks_is_still_reported(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
async def work():
    raise ValueError("lost")

@hodo.inference
def submit():
    return asyncio.get_running_loop().create_task(work())

async def main():
    submit()
    await asyncio.sleep(0.01)
    gc.collect()
asyncio.run(main())
""",
    )
    assert "Task exception was never retrieved" in run.errors
    assert run.attributes("request")[0]["error"] == "ValueError"


def test_wrong_arguments_fail_the_request_at_once(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
@hodo.inference
async def answer(question):
    return question

async def main():
    try:
        await answer()
    except TypeError as error:
        kept = error
    assert hodo.current().id is None
    hodo.flush()

asyncio.run(main())
""",
    )
    assert (run.node("request")["count"], run.node("request")["failed"]) == (1, 1)
    assert "closed_early" not in run.marks("request")


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


@pytest.mark.parametrize("threshold", [2, 4, 7, 8, 11])
def test_the_garbage_collector_ends_requests_wherever_it_runs(tmp_path: Path, threshold: int) -> None:
    run = serve(
        tmp_path,
        """
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
""",
        str(threshold),
    )
    assert run.tree == "outer 2000\n  inner 2000\nrequest 2000\n  inside 1000"
    assert run.left_open == 0
    assert run.marks("outer", "inner")["n"]["count"] == 2000
    marks = run.marks("request")
    assert marks["closed_early"]["count"] == marks["request_duration_ms"]["count"] == 2000


def test_a_forked_child_leaves_the_requests_of_its_parent_alone(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
""",
    )
    assert run.node("request")["count"] == 1 and run.left_open == 0
    assert run.marks("request")["output_tokens"]["last"] == 3
    assert run.marks("request")["request_duration_ms"]["count"] == 1
    assert run.tree.count("of the child 1\n") == 1


def test_a_forked_child_marks_no_request_of_its_parent(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
@hodo.inference
def stream():
    yield "a"
    yield "b"

def in_child(work):
    child = os.fork()
    if not child:
        work()
        hodo.shutdown()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

for read in (0, 1):
    items = stream()
    for _ in range(read):
        next(items)
    in_child(lambda: list(items))
    in_child(items.close)
    assert len(list(items)) == 2 - read
""",
    )
    marks = run.marks("request")
    names = ("request_duration_ms", "time_to_first_token_ms", "output_tokens", "tokens_per_second")
    assert [marks[name]["count"] for name in names] == [2] * 4
    assert "closed_early" not in marks and run.marks() == {}


def test_traceparent_is_read_and_passed_on(tmp_path: Path) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    run = serve(
        tmp_path,
        f"GIVEN = {given!r}"
        + """
import re

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
""",
    )
    told = run.attributes("request")
    link = {"trace_id": given[3:35], "caller": given[36:52]}
    assert told[0] == {"request_id": "17", **link}
    assert {**told[-1], "request_id": ""} == {"request_id": "", **link}, "of the environment"
    assert sum("trace_id" in attrs for attrs in told) == 6


def test_an_id_that_cannot_be_written_does_not_fail_the_call(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
class Bad:
    def __str__(self): raise RuntimeError("no text")

@hodo.inference
def answer(x, request_id=None): return x, request_id, hodo.request_id()

bad = Bad()
x, given, known = answer(1, request_id=bad)
assert (x, given) == (1, bad) and len(known) == 32
""",
    )
    assert len(run.attributes("request")[0]["request_id"]) == 32
