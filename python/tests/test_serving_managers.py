"""Answers of requests that are entered with `with`: the request lasts until they are left."""

from __future__ import annotations

from pathlib import Path

from helpers import STREAMS, serve

MANAGERS = (
    STREAMS
    + """
class Manager:
    "As of the clients of OpenAI and Anthropic: it can only be entered."
    def __init__(self, given): self._given = given
    def __enter__(self):
        with hodo.scope("enter"): return self._given
    def __exit__(self, *raised):
        with hodo.scope("exit"): return raised[0] is LookupError

class AsyncManager(Manager):
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self.__enter__()
    async def __aexit__(self, *raised):
        await asyncio.sleep(0)
        return self.__exit__(*raised)

@hodo.inference
def ask(manager): return manager
"""
)


def test_a_request_lasts_until_its_manager_is_left(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        MANAGERS
        + """
with hodo.scope("stream"):
    managed = ask(Manager(Stream("a", "b")))
    assert isinstance(managed, Manager) and managed._given.response_id == "r-1"
    with managed as items:
        assert isinstance(items, Stream) and list(items) == ["a", "b"]
        assert hodo.request_id() is None
        time.sleep(0.05)
        assert not managed._hodo_request.is_over
    assert managed._hodo_request.is_over

async def main():
    async with ask(AsyncManager(AsyncStream("a", "b", "c"))) as items:
        assert [item async for item in items] == ["a", "b", "c"]
with hodo.scope("async"):
    asyncio.run(main())
with hodo.scope("left early"):
    with ask(Manager(iter("abc"))) as items:
        next(items)
with hodo.scope("of the reader"):
    with ask(Manager(iter("abc"))) as items:
        list(items)
        raise LookupError("which the manager takes")
with hodo.scope("unknown"):
    # What it is read by otherwise nobody sees.
    with ask(Manager(Stream("a"))) as items:
        assert items._hodo_stream.left.pop() == "a"
with hodo.scope("dropped"):
    ask(Manager(None))
""",
    )
    assert run.left_open == 0 and not any(node["failed"] for node in run.report["nodes"])
    assert run.node("stream", "request", "exit")["count"] == 1
    assert run.node("async", "request", "enter")["count"] == 1
    assert run.marks("stream", "request")["request_duration_ms"]["last"] >= 50
    counts = {
        name: run.marks(name, "request").get("output_tokens", {}).get("last")
        for name in ("stream", "async", "left early", "of the reader", "unknown", "dropped")
    }
    assert list(counts.values()) == [2, 3, 1, 3, None, None]
    early = [name for name in counts if "closed_early" in run.marks(name, "request")]
    assert early == ["left early", "dropped"]


def test_a_function_with_contextmanager_is_a_request_until_it_is_left(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
@hodo.inference
@contextlib.contextmanager
def session(how=""):
    with hodo.scope("session"):
        if how == "refused": raise OSError("refused")
        yield how
        if how == "fails": raise ValueError("lost")

with contextlib.ExitStack() as stack:
    assert stack.enter_context(session("entered")) == "entered"
    with hodo.scope("reader"): pass
for how, kind in (("refused", OSError), ("fails", ValueError)):
    try:
        with session(how): pass
        raise SystemExit("not raised")
    except kind:
        pass
""",
    )
    assert run.tree == "reader 1\nrequest 3\n  session 3" and run.left_open == 0
    errors = [attrs.get("error") for attrs in run.attributes("request")]
    assert errors == [None, "OSError", "ValueError"]


def test_an_answer_that_can_be_entered_too_is_an_answer(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
class Image:
    def __enter__(self): return self
    def __exit__(self, *raised): pass
    def save(self): pass

class Reply(Image):
    def __await__(self): yield

@hodo.inference
def draw(what): return what

for what in (Image(), Reply(), threading.Lock(), io.BytesIO()):
    assert draw(what) is what
""",
    )
    assert run.tree == "request 4" and run.left_open == 0
