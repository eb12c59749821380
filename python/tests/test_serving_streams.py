"""Streams and futures of requests: what decorating them may not change, and how their parts are counted."""

from __future__ import annotations

from pathlib import Path

from helpers import WELL, record

START = """
import asyncio, gc, inspect, os, pickle, sys, threading, time
import hodo
hodo.init(app="streams", gpu="off")
"""


def test_a_function_that_makes_generators_is_known_as_one(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import contextlib

class Model:
    @hodo.inference
    def stream(self):
        got = yield "a"
        return got
    @hodo.inference
    async def async_stream(self):
        yield "a"
    @hodo.inference
    def plain(self):
        return iter("a")
    @hodo.inference
    async def coroutine(self):
        return "a"

kinds = (inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.iscoroutinefunction)
told = [[kind(method) for kind in kinds] for method in
        (Model.stream, Model().async_stream, Model.plain, Model().coroutine)]
assert told == [[True, False, False], [False, True, False], [False] * 3, [False, False, True]], told
stream = Model().stream()
assert next(stream) == "a"
try:
    stream.send("b")
except StopIteration as stop:
    assert stop.value == "b"
with contextlib.contextmanager(Model().stream)() as value:
    assert value == "a"
Model().stream()                         # a request all the same, though nobody reads it
async def main():
    assert [item async for item in Model().async_stream()] == ["a"]
    async with contextlib.asynccontextmanager(Model().async_stream)() as value:
        assert value == "a"
asyncio.run(main())
"""
        + WELL,
    )
    assert run.tree == "request 5" and run.left_open == 0


def test_a_stream_that_is_closed_before_it_is_read_ends_its_request(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def stream():
    yield "a"

@hodo.inference
async def async_stream():
    yield "a"

def states():
    hodo.flush()
    table = hodo.trace().spans()
    return [row[table.columns.index("state")] for row in table.fetchall()]

held = stream()
held.close()
assert next(held, None) is None
async def main():
    held = async_stream()
    await held.aclose()
    return held
also_held = asyncio.run(main())
end = time.monotonic() + 10
while states() != ["closed", "closed"]:
    assert time.monotonic() < end, states()
thrown = stream()
try:
    thrown.throw(LookupError)
    raise SystemExit("not raised")
except LookupError:
    pass
"""
        + WELL,
    )
    assert run.tree == "request 3"
    marks = run.marks("request")
    assert marks["closed_early"]["count"] == 2
    assert marks["output_tokens"]["count"] == 1, "nobody counted what nobody read"


def test_a_stream_object_keeps_its_special_methods(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Rows:
    __hash__ = None
    def __init__(self): self.left = 3
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        self.left -= 1
        return "x"
    def __len__(self): return self.left
    def __getitem__(self, at): return f"item {at}"
    def __contains__(self, item): return item == "x"
    def __bool__(self): return False
    def __repr__(self): return f"Rows({self.left})"
    def __eq__(self, other): return isinstance(other, Rows) and self.left == other.left

@hodo.inference
def answer(what): return what

inner = Rows()
rows = answer(inner)
assert isinstance(rows, Rows) and len(rows) == 3 and rows[1] == "item 1" and "x" in rows and not rows
assert repr(rows) == "Rows(3)" and rows == inner and inner == rows
for wrong in (lambda: hash(rows), lambda: rows + 1, lambda: rows(), lambda: len(answer(iter("ab")))):
    try:
        wrong()
    except TypeError:
        continue
    raise SystemExit("it has what it had not")
rows.note = 5
assert inner.note == 5
del rows.note
assert not hasattr(inner, "note") and not hasattr(rows, "_hodo_other")
copied = pickle.loads(pickle.dumps(rows))
assert type(copied) is Rows and copied.left == 3
assert list(pickle.loads(pickle.dumps(answer(iter("ab"))))) == ["a", "b"]
assert next(rows) == "x" and len(rows) == 2 and list(rows) == ["x", "x"]
"""
        + WELL,
    )
    assert run.tree == "request 3" and run.left_open == 0
    assert run.marks("request")["output_tokens"]["max"] == 3


def test_parts_of_responses_and_of_server_sent_events(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def answer(*parts):
    for part in parts:
        time.sleep(0.02)
        yield part

def event(kind, **more):
    return {"type": f"response.{kind}", **more}

with hodo.scope("responses"):
    list(answer(
        event("created", response={"id": "r", "usage": None}), event("in_progress", response={"id": "r"}),
        event("output_text.delta", delta="Hel"), event("output_text.delta", delta=""),
        event("function_call_arguments.delta", delta="{"), event("output_text.done", text="Hel"),
        event("completed", response={"id": "r"}),
    ))
with hodo.scope("with usage"):
    list(answer(
        event("created", response={}), event("output_text.delta", delta="Hi"),
        event("completed", response={"usage": {"input_tokens": 5, "output_tokens": 2}}),
    ))
with hodo.scope("sse"):
    list(answer(
        ": ping\\n\\n",
        'data: {"choices":[{"delta":{"role":"assistant"}}]}\\n\\n',
        'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n',
        b'event: message\\r\\ndata: {"choices":[{"delta":{"content":"!"}}]}\\r\\n\\r\\n',
        'data: {"choices":[],"usage":{"prompt_tokens":7}}',
        "data: [DONE]\\n\\n",
    ))
with hodo.scope("plain events"):
    list(answer("data: one\\n\\n", "data:\\n\\n", "event: end\\n\\n"))
with hodo.scope("words"):
    # Of these none is an event, though all begin as one.
    list(answer("data:", " x", ":", "id: 5", "data: {broken", ""))
"""
        + WELL,
    )

    def counts(name: str) -> dict[str, float]:
        marks = run.marks(name, "request")
        return {mark: marks[mark]["last"] for mark in marks if mark.endswith("_tokens")}

    assert counts("responses") == {"output_tokens": 2}
    assert run.marks("responses", "request")["time_to_first_token_ms"]["last"] >= 60
    assert counts("with usage") == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert counts("sse") == {"output_tokens": 2, "input_tokens": 7, "total_tokens": 9}
    assert run.marks("sse", "request")["time_to_first_token_ms"]["last"] >= 60
    assert counts("plain events") == {"output_tokens": 1}
    assert counts("words") == {"output_tokens": 5}


def test_the_error_of_a_task_that_nobody_asks_is_still_reported(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
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
"""
        + WELL,
    )
    assert "Task exception was never retrieved" in run.errors
    assert run.attributes("request")[0]["error"] == "ValueError"


def test_a_forked_child_marks_no_request_of_its_parent(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
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
"""
        + WELL,
    )
    marks = run.marks("request")
    names = ("request_duration_ms", "time_to_first_token_ms", "output_tokens", "tokens_per_second")
    assert [marks[name]["count"] for name in names] == [2] * 4
    assert "closed_early" not in marks and run.marks() == {}


def test_a_scope_that_a_stream_holds_is_left_open_by_another_thread_and_told(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def stream():
    with hodo.scope("held"):
        for i in range(3):
            with hodo.scope("part"):
                pass
            yield i

items, got = stream(), []
for _ in range(4):
    thread = threading.Thread(target=lambda: got.append(next(items, None)))
    thread.start()
    thread.join()
assert got == [0, 1, 2, None]
assert hodo.health()["wrong_thread"] == 1
"""
    )
    assert (run.node("request")["open"], run.node("request", "held")["open"]) == (0, 1)
    assert run.marks("request")["output_tokens"]["last"] == 3


def test_numbers_of_numpy_and_coroutines_of_types(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import types

class Whole:
    "As of numpy: a whole number that is no int."
    def __index__(self): return 3

class Items:
    left = 2
    def __aiter__(self): return self
    @types.coroutine
    def __anext__(self):
        yield from asyncio.sleep(0).__await__()
        self.left -= 1
        if self.left < 0: raise StopAsyncIteration
        return self.left

class Broken(Items):
    def __anext__(self): return 5

@hodo.inference
def counted():
    hodo.tokens(output=Whole())

@hodo.inference
def items(kind=Items): return kind()

async def main():
    assert [item async for item in items()] == [1, 0]
    try:
        [item async for item in items(Broken)]
        raise SystemExit("not raised")
    except TypeError as error:
        assert "int" in str(error) and "await" in str(error)
with hodo.scope("counted"):
    counted()
asyncio.run(main())
"""
        + WELL,
    )
    assert run.marks("counted", "request")["output_tokens"]["last"] == 3
    assert run.attributes("request")[-1]["error"] == "TypeError"


def test_a_stream_that_raises_once_goes_on(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Rows:
    def __init__(self, *parts): self.parts = list(parts)
    def __iter__(self): return self
    def __next__(self):
        if not self.parts: raise StopIteration
        part = self.parts.pop(0)
        if isinstance(part, Exception): raise part
        return part

@hodo.inference
def rows(*parts): return Rows(*parts)

def read(stream):
    while True:
        try:
            yield next(stream)
        except StopIteration:
            return
        except Exception as error:
            yield type(error).__name__

with hodo.scope("goes on"):
    assert list(read(rows("a", TimeoutError(), "b", "c"))) == ["a", "TimeoutError", "b", "c"]
with hodo.scope("fails"):
    assert list(read(rows("a", ValueError()))) == ["a", "ValueError"]
with hodo.scope("dropped"):
    items = rows("a", LookupError())
    assert [next(items), next(read(items))] == ["a", "LookupError"]
    time.sleep(0.2)
    del items
with hodo.scope("after the end"):
    items = rows("a")
    assert list(items) == ["a"]
    items.parts.append("b")
    assert list(items) == ["b"]
"""
        + WELL,
    )
    assert run.left_open == 0
    errors = [attributes.get("error") for attributes in run.attributes("request")]
    assert errors == [None, "ValueError", "LookupError", None]
    assert run.marks("goes on", "request")["output_tokens"]["last"] == 3
    assert run.marks("dropped", "request")["request_duration_ms"]["last"] < 200, "until it failed"
    assert all("closed_early" not in node["marks"] for node in run.report["nodes"])


def test_a_stream_that_is_waited_for_with_a_timeout_goes_on(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Items:
    def __init__(self): self.queue = asyncio.Queue()
    def __aiter__(self): return self
    async def __anext__(self):
        with hodo.scope("wait"):
            item = await self.queue.get()
        if item is None: raise StopAsyncIteration
        return item

@hodo.inference
async def chat(): return Items()

async def main():
    items = await chat()
    got = []
    for item in ("a", "b", None):
        try:
            await asyncio.wait_for(items.__anext__(), 0.01)
        except asyncio.TimeoutError:
            got.append("ping")
        items.queue.put_nowait(item)
        try:
            got.append(await asyncio.wait_for(items.__anext__(), 10))
        except StopAsyncIteration:
            break
    assert got == ["ping", "a", "ping", "b", "ping"], got
asyncio.run(main())
"""
        + WELL,
    )
    assert run.tree == "request 1\n  wait 6" and run.left_open == 0
    assert run.node("request")["failed"] == 0 and run.node("request", "wait")["failed"] == 3
    assert run.marks("request")["output_tokens"]["last"] == 2
    assert "closed_early" not in run.marks("request")


def test_several_read_one_stream(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Rows:
    def __init__(self): self.left, self.lock, self.both = 40, threading.Lock(), threading.Barrier(4)
    def __iter__(self): return self
    def __next__(self):
        with hodo.scope("read"), self.lock:
            self.left -= 1
            left = self.left
        if left >= 36: self.both.wait(20)      # four are in it at a time
        if left < 0: raise StopIteration
        return "x"

class Items(Rows):
    def __aiter__(self): return self
    async def __anext__(self):
        with hodo.scope("read"):
            await asyncio.sleep(0)
            self.left -= 1
            await asyncio.sleep(0)
            if self.left < 0: raise StopAsyncIteration
            return hodo.request_id()

@hodo.inference
def rows(kind): return kind()

def read(items):
    before = hodo.current().id
    for item in items:
        got.append(item)
        assert hodo.current().id == before
        assert hodo.request_id() is None

async def aread(items):
    async for item in items:
        got.append(item)
        assert hodo.request_id() is None

async def main():
    items = rows(Items)
    await asyncio.gather(*(aread(items) for _ in range(4)))

with hodo.scope("threads"):
    got, items = [], rows(Rows)
    threads = [threading.Thread(target=read, args=(items,)) for _ in range(4)]
    for each in threads: each.start()
    for each in threads: each.join()
    assert len(got) == 40, got
with hodo.scope("tasks"):
    got = []
    asyncio.run(main())
    assert len(got) == 40 and len(set(got)) == 1 and got[0], got
"""
        + WELL,
    )
    for where in ("threads", "tasks"):
        # Who asks after the last item may do so after the request.
        assert run.node(where, "request", "read")["count"] > 40
        assert run.marks(where, "request")["output_tokens"]["last"] == 40
    assert run.left_open == 0 and run.node("threads", "request")["failed"] == 0


def test_an_object_that_makes_its_async_iterator_is_a_stream(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Items:
    name = "items"
    def __aiter__(self): return self.items()
    async def items(self):
        for part in "abc":
            with hodo.scope("part"):
                await asyncio.sleep(0)
            yield part

@hodo.inference
async def answer(): return Items()

async def main():
    items = await answer()
    assert items.name == "items" and isinstance(items, Items) and not hasattr(items, "__anext__")
    assert [item async for item in items] == ["a", "b", "c"]
    async for item in await answer():
        break
    await asyncio.sleep(0.1)             # in which the event loop closes what was left
asyncio.run(main())
"""
        + WELL,
    )
    assert run.node("request", "part")["count"] == 4
    assert run.marks("request")["output_tokens"]["max"] == 3
    assert run.marks("request")["closed_early"]["count"] == 1


def test_a_stream_is_closed_by_the_name_it_is_closed_by(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Both:
    def __init__(self):
        self.said = []
    def __aiter__(self):
        return self
    async def __anext__(self):
        return 1
    def close(self):
        self.said.append("close")
    async def aclose(self):
        self.said.append("aclose")

class Neither:
    def __aiter__(self):
        return self
    async def __anext__(self):
        return 1

@hodo.inference
def stream(of):
    return of

async def main():
    both = Both()
    stream(both).close()
    await stream(both).aclose()
    async with contextlib.aclosing(stream(both)):
        pass
    assert both.said == ["close", "aclose", "aclose"], both.said
    neither = stream(Neither())
    neither.close()
    await neither.aclose()

import contextlib, warnings
warnings.simplefilter("error")
asyncio.run(main())
"""
        + WELL,
    )
    assert run.node("request")["count"] == 4 and run.left_open == 0


def test_a_read_that_cannot_be_thrown_at_is_cancelled_as_ever(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
class Bare:
    "Awaited without a `throw`."
    def __init__(self, future):
        self.future = future
    def __await__(self):
        return self
    def __iter__(self):
        return self
    def __next__(self):
        self.future._asyncio_future_blocking = True
        return self.future

class Slow:
    def __aiter__(self):
        return self
    def __anext__(self):
        return Bare(asyncio.get_running_loop().create_future())

@hodo.inference
def stream():
    return Slow()

async def main():
    async def read():
        async for _ in stream():
            pass
    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")

asyncio.run(main())
gc.collect()
"""
        + WELL,
    )
    assert run.output == "cancelled\n" and run.left_open == 0


def test_wrong_arguments_fail_the_request_at_once(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
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
"""
        + WELL,
    )
    assert (run.node("request")["count"], run.node("request")["failed"]) == (1, 1)
    assert "closed_early" not in run.marks("request")


def test_a_part_that_was_handed_on_is_not_kept(tmp_path: Path) -> None:
    record(
        tmp_path,
        START
        + """
import weakref

class Part:
    pass

@hodo.inference
def parts():
    for _ in range(3):
        yield Part()

@hodo.inference
async def async_parts():
    for _ in range(3):
        yield Part()

gc.disable()
for part in parts():
    known = weakref.ref(part)
    del part
    assert known() is None

async def main():
    async for part in async_parts():
        known = weakref.ref(part)
        del part
        assert known() is None

asyncio.run(main())
"""
        + WELL,
    )
