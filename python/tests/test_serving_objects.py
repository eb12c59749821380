"""Stream objects of client libraries as the answers of requests: they stay what they are."""

from __future__ import annotations

from pathlib import Path

from helpers import STREAMS, serve


def test_stream_objects_stay_what_they_are(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
class Response:
    def __init__(self, body): self.body_iterator = body

@hodo.inference
def ask(): return Stream("a", "b")

@hodo.inference
async def ask_async(): return AsyncStream("a", "b")

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
""",
    )
    assert run.tree == "request 6"
    assert (run.left_open, run.node("request")["failed"]) == (0, 0)
    marks = run.marks("request")
    assert (marks["output_tokens"]["count"], marks["output_tokens"]["max"]) == (4, 3), "one was not read"
    assert marks["closed_early"]["count"] == 2


def test_a_stream_object_keeps_its_special_methods(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
class Rows(Stream):
    __hash__ = None
    def __len__(self): return len(self.left)
    def __getitem__(self, at): return f"item {at}"
    def __contains__(self, item): return item == "x"
    def __bool__(self): return False
    def __repr__(self): return f"Rows({len(self)})"
    def __eq__(self, other): return isinstance(other, Rows) and self.left == other.left

@hodo.inference
def answer(what): return what

inner = Rows("x", "x", "x")
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
assert type(copied) is Rows and len(copied) == 3
assert list(pickle.loads(pickle.dumps(answer(iter("ab"))))) == ["a", "b"]
assert next(rows) == "x" and len(rows) == 2 and list(rows) == ["x", "x"]
""",
    )
    assert run.tree == "request 3" and run.left_open == 0
    assert run.marks("request")["output_tokens"]["max"] == 3


def test_a_stream_is_closed_by_the_name_it_is_closed_by(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
class Both:
    said = []
    def __aiter__(self):
        return self
    async def __anext__(self):
        return 1
    def close(self):
        self.said.append("close")
    async def aclose(self):
        self.said.append("aclose")

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

import warnings
warnings.simplefilter("error")
asyncio.run(main())
""",
    )
    assert run.node("request")["count"] == 3 and run.left_open == 0


def test_an_object_that_makes_its_async_iterator_is_a_stream(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
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
""",
    )
    assert run.node("request", "part")["count"] == 4
    assert run.marks("request")["output_tokens"]["max"] == 3
    assert run.marks("request")["closed_early"]["count"] == 1


def test_with_gives_what_the_stream_gives(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
class Session:
    def text(self): return "hi"

class Other(Stream):
    def __enter__(self): return Session()

class AsyncOther(AsyncStream):
    async def __aenter__(self): return Session()

@hodo.inference
def answer(what): return what

with answer(Stream("a", "b")) as items:
    assert list(items) == ["a", "b"]
with answer(Other("a")) as session:
    assert type(session) is Session and session.text() == "hi"

async def main():
    async with answer(AsyncStream("a", "b", "c")) as items:
        assert [item async for item in items] == ["a", "b", "c"]
    async with answer(AsyncOther("a")) as session:
        assert type(session) is Session
asyncio.run(main())
assert Stream.closed == AsyncStream.closed == 2
""",
    )
    assert run.tree == "request 4" and run.left_open == 0
    counts = run.marks("request")["output_tokens"]
    assert (counts["count"], counts["min"], counts["max"]) == (2, 2, 3), "of what was read"


def test_a_stream_object_has_no_methods_that_its_class_has_not(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
class Bare:
    def __iter__(self): return self
    def __next__(self): raise StopIteration

class AsyncBare:
    def __aiter__(self): return self
    async def __anext__(self): raise StopAsyncIteration

@hodo.inference
def answer(what): return what

names = ("close", "aclose", "__enter__", "__exit__", "__aenter__", "__aexit__")
for bare in (Bare(), AsyncBare()):
    answered = answer(bare)
    assert not [name for name in names if hasattr(answered, name)]
    assert not isinstance(answered, contextlib.AbstractContextManager)
try:
    with answer(Bare()):
        raise SystemExit("entered")
except TypeError as error:
    assert "context manager" in str(error)
# One that only this object has.
bare = Bare()
bare.close = lambda: "closed"
answered = answer(bare)
assert answered.close() == "closed" and answered._hodo_request.is_over
""",
    )
    assert run.tree == "request 4" and run.left_open == 0


def test_a_stream_that_is_a_future_too_is_a_stream(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
from concurrent.futures import Future

class Call(Stream, Future):
    "As of gRPC."
    def __init__(self, *parts):
        Future.__init__(self)
        super().__init__(*parts)

@hodo.inference
def call(made): return made

with hodo.scope("read"):
    items = call(Call("a", "b", "c"))
    assert next(items) == "a"
    items.set_result(None)
    assert list(items) == ["b", "c"] and items.done() and isinstance(items, Future)
with hodo.scope("done before"):
    done = Call("a")
    done.set_result(None)
    assert list(call(done)) == ["a"]
with hodo.scope("waited for"):
    items = call(Call("a"))
    items.set_exception(OSError("lost"))
    assert items._hodo_request.is_over and isinstance(items.exception(), OSError)
""",
    )
    assert run.left_open == 0
    assert run.marks("read", "request")["output_tokens"]["last"] == 3
    assert run.marks("done before", "request")["output_tokens"]["last"] == 1
    assert run.node("waited for", "request")["failed"] == 1


def test_the_attributes_of_a_stream_object_are_its_own(tmp_path: Path) -> None:
    serve(
        tmp_path,
        STREAMS
        + """
stream = hodo.inference(lambda: Stream("a", "b"))()
assert vars(stream) == stream.__dict__ == {"left": ["a", "b"]}, vars(stream)
stream.more = 1
assert vars(stream)["more"] == 1 and list(stream) == ["a", "b"]
""",
    )


def test_the_attributes_of_every_kind_of_answer_are_its_own(tmp_path: Path) -> None:
    serve(
        tmp_path,
        """
class Named:
    def __init__(self):
        self.name = "mine"

class Iterated(Named):
    def __aiter__(self):
        return self
    async def __anext__(self):
        raise StopAsyncIteration

class Makes(Named):
    def __aiter__(self):
        return Iterated()

class Manager(Named):
    def __enter__(self):
        return 1
    def __exit__(self, *raised):
        pass

for kind in (Iterated, Makes, Manager):
    assert vars(hodo.inference(lambda: kind())()) == {"name": "mine"}, kind

@hodo.inference
def generated():
    yield 1
assert not hasattr(generated(), "__dict__")
""",
    )


def test_a_request_that_answers_with_the_stream_of_another(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        STREAMS
        + """
import inspect, types

@hodo.inference
def items(): yield from "ab"

@hodo.inference
def handed(): return items()

@hodo.inference
def ask(): return Stream("a", "b")

@hodo.inference
def asked(): return ask()

class Meta(type):
    __hash__ = None

class Unhashed(metaclass=Meta):
    def __iter__(self): return self
    def __next__(self): raise StopIteration

@hodo.inference
def unhashed(): return Unhashed()

made = handed()
assert inspect.isgenerator(made) and isinstance(made, types.GeneratorType)
assert list(made) == ["a", "b"]
made = asked()
assert isinstance(made, Stream) and list(made) == ["a", "b"]
assert list(unhashed()) == []
""",
    )
    assert run.left_open == 0 and run.tree == "request 3\n  request 2"
