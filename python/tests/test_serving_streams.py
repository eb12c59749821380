"""Generators as the answers of requests: decorated they are what they were."""

from __future__ import annotations

from pathlib import Path

from helpers import SERVER, record, serve


def test_a_function_that_makes_generators_is_known_as_one(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
""",
    )
    assert run.tree == "request 5" and run.left_open == 0


def test_streams_that_end_in_every_other_way(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
            hangs.set()
            await asyncio.sleep(3600)
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
    global hangs
    hangs = asyncio.Event()
    async_stream("never read")
    assert await read("left", 1) == [0]
    try:
        await read("fails")
        raise SystemExit("not raised")
    except OSError:
        pass
    try:
        async with asyncio.timeout(None) as limit:
            async def expires():
                await hangs.wait()
                limit.reschedule(asyncio.get_running_loop().time())
            expiring = asyncio.create_task(expires())
            await read("hangs")
        raise SystemExit("not raised")
    except TimeoutError:
        await expiring
    hangs.clear()
    task = asyncio.create_task(read("hangs"))
    await hangs.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with contextlib.aclosing(async_stream("thrown into")) as items:
        await anext(items)
        try:
            await items.athrow(LookupError)
        except LookupError:
            pass

asyncio.run(main())
""",
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


def test_a_stream_that_is_closed_before_it_is_read_ends_its_request(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
end = time.monotonic() + 300
while states() != ["closed", "closed"]:
    assert time.monotonic() < end, states()
thrown = stream()
try:
    thrown.throw(LookupError)
    raise SystemExit("not raised")
except LookupError:
    pass
""",
    )
    assert run.tree == "request 3"
    marks = run.marks("request")
    assert marks["closed_early"]["count"] == 2
    assert marks["output_tokens"]["count"] == 1, "nobody counted what nobody read"


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


def test_a_scope_that_a_stream_holds_is_left_open_by_another_thread_and_told(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        SERVER
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


def test_a_part_that_was_handed_on_is_not_kept(tmp_path: Path) -> None:
    serve(
        tmp_path,
        """
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
""",
    )


def test_a_decorated_generator_is_as_a_plain_one(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
import types

def plain():
    try:
        got = yield 1
        yield got
    finally:
        closed.append("closed")
    return 9

def seen(make):
    "What the program sees of a generator."
    made = make()
    yield inspect.getgeneratorstate(made), inspect.isgenerator(made), isinstance(made, types.GeneratorType)
    try:
        made.send(5)
    except TypeError as error:
        yield str(error)
    yield inspect.getgeneratorstate(made), next(made), made.send("x"), inspect.getgeneratorstate(made)
    try:
        next(made)
    except StopIteration as stop:
        yield stop.value, inspect.getgeneratorstate(made), list(made), made.close()
    dropped = make()
    next(dropped)
    del dropped
    thrown = make()
    next(thrown)
    try:
        thrown.throw(LookupError("x"))
    except LookupError as error:
        yield str(error), list(thrown)
    try:
        pickle.dumps(make())
    except TypeError as error:
        yield str(error)
    def outer():
        yield (yield from make())
    yield list(outer()), list(zip(make(), "ab")), list(closed)

closed = []
before, closed = list(seen(plain)), []
assert list(seen(hodo.inference(plain))) == before

@hodo.inference
def busy():
    try:
        yield next(itself)
    except ValueError as error:
        yield str(error)
itself = busy()
assert list(itself) == ["generator already executing"]
""",
    )
    assert run.left_open == 0
    errors = [attrs.get("error") for attrs in run.attributes("request")]
    assert sorted(filter(None, errors)) == ["LookupError"]


def test_a_stream_that_is_open_when_its_event_loop_ends(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
told, cleaned = [], []

def streams(decorated):
    @decorated
    async def stream():
        try:
            for i in range(5):
                yield i
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(1)
    return stream

async def main(stream):
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    kept.extend(stream() for _ in range(8))
    for each in kept:
        await anext(each)

for decorated in (hodo.inference, hodo.scope("mine"), hodo.carry, lambda f: hodo.scope("outer")(hodo.inference(f))):
    kept = []
    asyncio.run(main(streams(decorated)))
    assert not told, told
    assert len(cleaned) == 8, cleaned
    cleaned.clear()

# One that the program has begun itself, and whose end another waits for.
async def begun():
    async def stream():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0.01)
    inner = stream()
    await anext(inner)
    outer = hodo.inference(lambda: inner)()
    assert await anext(outer) == 2
    closing = asyncio.create_task(inner.aclose())
    await asyncio.sleep(0)
    await outer.aclose()
    await closing
asyncio.run(begun())
""",
    )
    nodes = run.report["nodes"]
    assert [node["path"] for node in nodes if node["failed"]] == [] and run.left_open == 0


def test_an_async_stream_has_the_name_of_its_function(tmp_path: Path) -> None:
    serve(
        tmp_path,
        """
class Model:
    async def stream(self):
        yield 1
made = hodo.inference(Model.stream)(None)
assert (made.__name__, made.__qualname__) == ("stream", "Model.stream"), made
asyncio.run(made.aclose())
""",
    )
