"""Who reads the stream of a request: several, with timeouts, past errors."""

from __future__ import annotations

from pathlib import Path

from helpers import STREAMS, serve


def test_a_stream_that_raises_once_goes_on(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
class Rows(Stream):
    def __next__(self):
        part = super().__next__()
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
    before = time.monotonic()
    items = rows("a", LookupError())
    assert [next(items), next(read(items))] == ["a", "LookupError"]
    took = time.monotonic() - before
    time.sleep(0.2)
    del items
    print(took)
with hodo.scope("after the end"):
    items = rows("a")
    assert list(items) == ["a"]
    items.left.append("b")
    assert list(items) == ["b"]
""",
    )
    assert run.left_open == 0
    errors = [attributes.get("error") for attributes in run.attributes("request")]
    assert errors == [None, "ValueError", "LookupError", None]
    assert run.marks("goes on", "request")["output_tokens"]["last"] == 3
    assert run.marks("dropped", "request")["request_duration_ms"]["last"] < float(run.output) * 1e3 + 100, "until it failed"
    assert all("closed_early" not in node["marks"] for node in run.report["nodes"])


def test_a_stream_that_is_waited_for_with_a_timeout_goes_on(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
            got.append(await asyncio.wait_for(items.__anext__(), 300))
        except StopAsyncIteration:
            break
    assert got == ["ping", "a", "ping", "b", "ping"], got
asyncio.run(main())
""",
    )
    assert run.tree == "request 1\n  wait 6" and run.left_open == 0
    assert run.node("request")["failed"] == 0 and run.node("request", "wait")["failed"] == 3
    assert run.marks("request")["output_tokens"]["last"] == 2
    assert "closed_early" not in run.marks("request")


def test_several_read_one_stream(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
class Rows:
    def __init__(self): self.left, self.lock, self.both = 40, threading.Lock(), threading.Barrier(4)
    def __iter__(self): return self
    def __next__(self):
        with hodo.scope("read"), self.lock:
            self.left -= 1
            left = self.left
        if left >= 36: self.both.wait(300)     # four are in it at a time
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
""",
    )
    for where in ("threads", "tasks"):
        # Who asks after the last item may do so after the request.
        assert run.node(where, "request", "read")["count"] > 40
        assert run.marks(where, "request")["output_tokens"]["last"] == 40
    assert run.left_open == 0 and run.node("threads", "request")["failed"] == 0


def test_a_read_that_cannot_be_thrown_at_is_cancelled_as_ever(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
""",
    )
    assert run.output == "cancelled\n" and run.left_open == 0
