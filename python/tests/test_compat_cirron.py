"""Programs written for cirron-sdk, with the import changed and nothing else."""

from __future__ import annotations

import importlib.util
import inspect
import json
from pathlib import Path
from typing import Any

import hodo.compat.cirron as ci
import pytest
from helpers import KINDS, STREAMS, record

START = "import hodo.compat.cirron as ci\n"


def test_scopes_marks_and_loops(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
ci.profile()
for epoch in ci.epochs(range(2)):
    for batch in ci.batches(["a", "b", "c"]):
        with ci.scope("forward", index=7, variant="beam") as s:
            assert (s.name, s.index, s.attrs["variant"]) == ("forward", 7, "beam")
            assert len(s.id) == 32 and s.start_ns > 1e18 and s.end_ns is None
            ci.mark("loss", 0.5)
        assert s.end_ns >= s.start_ns
    ci.mark("accuracy", 0.9, kind="summary", split="test")
ci.shutdown()
""",
    )
    assert run.tree == "epoch 2\n  batch 6\n    data_wait 6\n    forward 6"
    assert run.attributes("forward")[0] == {"index": 7, "variant": "beam"}
    assert run.marks("epoch", "batch", "forward")["loss"]["count"] == 6
    assert run.marks("epoch")["accuracy"]["summary"] is True


def test_attributes_with_a_meaning_for_hodo_stay_attributes(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with ci.scope("x", tag="t", repeat=3, warmup=2, sync="no", kind=1, value=2):
    pass
with ci.scope("x", tag=None, repeat="often"):
    pass
""",
    )
    first, second = run.attributes("x")
    assert first == {"tag": "t", "repeat": 3, "warmup": 2, "sync": "no", "kind": 1, "value": 2}
    assert second["repeat"] == "often"


def test_attributes_set_through_the_handle(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with ci.scope("x", a=1, items=[]) as s:
    s.attrs["b"] = 2
    s.attrs["a"] = 10
    s.attrs["items"].append(3)
    s.attrs.update(c="text")
""",
    )
    (attrs,) = run.attributes("x")
    assert (attrs["a"], attrs["b"], attrs["c"]) == (10, 2, "text")
    assert attrs["items"] in ([3], "[3]")


def test_scopes_record_without_profile_and_again_after_shutdown(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
with ci.scope("before"):
    pass
ci.shutdown()
with ci.scope("between"):
    pass
ci.profile()
with ci.scope("after"):
    pass
""",
    )
    assert run.tree == "after 1"
    assert len(list(tmp_path.glob("*/run.json"))) == 2


@pytest.mark.parametrize("how", ["ci.profile(enabled=False)", "ci.profile()  # HODO=0"])
def test_switched_off_every_handle_still_works(tmp_path: Path, how: str) -> None:
    code = f"""
import hodo, hodo.compat.cirron as ci, os
off = {how}
with ci.scope("x", index=1) as s:
    s.attrs["a"] = 1
    ci.mark("m", 1)
    assert s.id == "0" * 32 and s.parent_id is None
assert s.end_ns >= s.start_ns > 1e18
assert list(ci.epochs([1, 2])) == [1, 2]
assert list(ci.inference(lambda: iter([1, 2]))()) == [1, 2]
health = ci.health()
assert health["enabled"] is False and health["flush_mode"] == "stopped"
ci.shutdown()
os.environ.pop("HODO", None)
hodo.init()
"""
    env = {"HODO": "0"} if "HODO" in how else {}
    assert record(tmp_path, code, **env).tree == ""


def test_past_the_depth_limit_the_handle_is_not_none(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
def nest(n):
    with ci.scope("level", index=n) as s:
        s.attrs["n"] = n
        return nest(n - 1) if n else s.id
assert nest(99) == "0" * 32
assert ci.health()["scope_drop_count"] == 36
ci.shutdown()
""",
    )
    assert len(run.attributes("level")) == 64
    assert run.report["records"]["depth_dropped"] == 36


def test_interleaved_exits_close_their_own_scopes(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
def steps(name):
    for i in range(3):
        with ci.scope(name, index=i):
            yield i
for _ in zip(steps("left"), steps("right")):
    pass
assert ci.health()["wrong_thread"] == 0
""",
    )
    assert sorted(attrs["index"] for attrs in run.attributes("left")) == [0, 1, 2]
    assert sorted(attrs["index"] for attrs in run.attributes("right")) == [0, 1, 2]
    assert run.left_open == 0


def test_tasks_keep_apart(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import asyncio
async def task(name):
    with ci.scope(name):
        await asyncio.sleep(0.001)
        ci.mark("who", name)
async def main():
    await asyncio.gather(task("a"), task("b"))
asyncio.run(main())
""",
    )
    assert run.tree == "a 1\nb 1"
    assert run.marks("a")["who"]["last"] == "a"
    assert run.marks("b")["who"]["last"] == "b"


def test_short_threads_are_all_kept(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import threading
def work(n):
    with ci.scope("work", index=n):
        ci.mark("n", n)
ci.profile()
for n in range(400):
    thread = threading.Thread(target=work, args=(n,))
    thread.start()
    thread.join()
""",
    )
    assert sorted(attrs["index"] for attrs in run.attributes("work")) == list(range(400))
    assert run.marks("work")["n"]["count"] == 400


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_are_in_the_run(tmp_path: Path, method: str) -> None:
    run = record(
        tmp_path,
        START
        + f"""
import multiprocessing
def work(n):
    with ci.scope("work", index=n):
        return n
if __name__ == "__main__":
    ci.profile()
    with ci.scope("parent"), multiprocessing.get_context("{method}").Pool(2) as pool:
        assert pool.map(work, range(8)) == list(range(8))
        pool.close()
        pool.join()
""",
    )
    assert run.tree == "parent 1\n  work 8"


def test_an_exception_marks_the_scope_as_failed(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
try:
    with ci.scope("x"):
        raise KeyError("k")
except KeyError:
    pass
""",
    )
    assert run.node("x")["failed"] == 1
    assert run.attributes("x") == [{"error": "KeyError"}]


def test_requests_and_streams(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + "scope = ci.scope\n"
        + KINDS
        + """
plain, coroutine, async_stream = map(ci.inference, (plain, coroutine, async_stream))
stream = ci.inference(config={"stream_chunk_timing": True})(stream)

async def main():
    assert await coroutine(5) == 5
    assert await drive_async(async_stream(4)) == [0, 1, 2, 3]

assert plain(1)["text"] == "hi"
assert plain._cirron_config == {} and plain.__name__ == "plain"
assert drive(stream(3)) == ([0, 1, 2], "s")
asyncio.run(main())
""",
    )
    assert run.tree == "request 4\n  model 1\n  part 2\n  token 3"
    assert all(len(attrs["request_id"]) == 32 for attrs in run.attributes("request"))
    marks = run.marks("request")
    assert {"time_to_first_token_ms", "request_duration_ms", "tokens_per_second"} <= set(marks)
    assert (marks["prompt_tokens"]["last"], marks["input_tokens"]["last"]) == (3, 3)
    assert (marks["output_tokens"]["min"], marks["output_tokens"]["max"]) == (3, 4)
    assert marks["total_tokens"]["last"] == 7
    assert marks["chunk_ms"]["count"] == 2 and marks["chunk_ms"]["summary"] is False


def test_streams_that_end_early_fail_or_are_never_read(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@ci.inference
def stream(n):
    for i in range(n):
        if i == 2:
            raise OSError("lost")
        yield i

unread = stream(1)
del unread
for token in stream(2):
    break
try:
    list(stream(3))
except OSError:
    pass
with ci.scope("outside"):
    pass
""",
    )
    assert run.tree == "outside 1\nrequest 3"
    assert run.node("request")["failed"] == 1
    assert run.left_open == 0
    marks = run.marks("request")
    assert marks["request_duration_ms"]["count"] == 3
    assert marks["output_tokens"]["count"] == 2, "of the one that nobody read nobody counted"


def test_async_streams_that_end_early_fail_or_are_never_read(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import asyncio, contextlib

@ci.inference
async def stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        if i == 2:
            raise OSError("lost")
        with ci.scope("chunk"):
            yield i

async def main():
    unread = stream(1)
    del unread
    async with contextlib.aclosing(stream(2)) as chunks:
        async for chunk in chunks:
            with ci.scope("reader"):
                break
    try:
        async for chunk in stream(3):
            pass
    except OSError:
        pass
    async with contextlib.aclosing(stream(2)) as chunks:
        await anext(chunks)
        try:
            await chunks.athrow(LookupError)
        except LookupError:
            pass
asyncio.run(main())
assert ci.health()["out_of_order"] == ci.health()["double_closed"] == 0
""",
    )
    assert run.tree == "reader 1\nrequest 4\n  chunk 4"
    assert run.node("request")["failed"] == 2
    assert run.node("request", "chunk")["failed"] == 1
    assert run.left_open == 0


def test_requests_at_the_same_time_keep_apart(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import asyncio, random

@ci.inference
async def answer(n):
    with ci.scope(f"model {n}"):
        await asyncio.sleep(random.random() / 100)
        await asyncio.gather(*(part(n) for _ in range(3)))
    return n

async def part(n):
    with ci.scope(f"part {n}"):
        await asyncio.sleep(random.random() / 100)

async def main():
    await asyncio.gather(*(answer(n) for n in range(30)))
asyncio.run(main())
""",
    )
    for n in range(30):
        assert run.node("request", f"model {n}", f"part {n}")["count"] == 3
    assert len(run.report["nodes"]) == 61


def test_a_providers_stream_object_stays_what_it_is(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + STREAMS
        + """
import io

class Usage:
    prompt_tokens, completion_tokens, total_tokens = 5, 40, 45

class Chunk:
    def __init__(self, usage=None):
        self.usage = usage

@ci.inference
def ask():
    return Stream(Chunk(), Chunk(Usage()))

@ci.inference
async def ask_async():
    return AsyncStream(Chunk(), Chunk())

@ci.inference
def download():
    return io.BytesIO(b"abc")

with ask() as answer:
    assert answer.response_id == "r-1"
    assert len(list(answer)) == 2
assert Stream.closed
assert download().read() == b"abc"

async def main():
    answer = await ask_async()
    assert answer.response_id == "r-2"
    assert len([chunk async for chunk in answer]) == 2
asyncio.run(main())
""",
    )
    assert run.tree == "request 3"
    assert run.left_open == 0
    assert run.marks("request")["output_tokens"]["max"] == 40


def test_what_is_not_done_is_counted_and_said_once(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
import json, os
model = object()
profiler = ci.profile(frameworks=["torch"], snapshots="full", output=["spool", "stdout"])
assert ci.profile() is profiler
assert ci.watch(model) is model and ci.watch(model) is model and ci.watch(None) is None
assert ci.wrap(model) is model
print(json.dumps(ci.health()))
""",
        CIRRON_RUN_ID="run-1",
    )
    health = json.loads(run.output)
    assert health["not_done"]["watch"] == 2 and health["not_done"]["wrap"] == 1
    assert {"hooks for torch", "snapshots", "output='stdout'", "sending"} <= set(health["not_done"])
    assert health["platform_context"] == {"run_id": "run-1"}
    assert run.errors.count("watch") == 1


def test_an_instance_with_settings(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        """
from hodo.compat.cirron import Cirron
import os
folder = os.environ.pop("HODO_DIR")
ci = Cirron(output_dir=folder, flush_interval=0.5, spool_max_bytes=10**8, api_key=None)
with_profile = ci.profile({"profiling": {"flush_interval": 0.25}})
with ci.scope("x"):
    ci.mark("m", True)
assert with_profile.cirron is ci and with_profile.health()["enabled"]
with_profile.flush()
with_profile.shutdown()
""",
    )
    assert run.tree == "x 1"


TRACED = (
    START
    + """
import json
for epoch in ci.epochs(range(2)):
    with ci.scope("forward", index=epoch, variant="x"):
        ci.mark("loss", 0.5)
    with ci.scope("backward"):
        pass
"""
)


def test_a_trace_in_the_peers_shape(tmp_path: Path) -> None:
    pytest.importorskip("hodo._trace")
    run = record(
        tmp_path,
        TRACED
        + """
with ci.scope("still open"):
    trace = ci.trace("dict")
assert json.loads(ci.trace("json", name="epoch"))["span_count"] == 6
assert ci.trace("dict", name="forward")["span_count"] == 2
assert [s["name"] for s in ci.trace("dict", last=1)["roots"]] == ["still open"]
ci.shutdown()
assert ci.trace("dict")["span_count"] == 7
print(json.dumps(trace))
""",
    )
    trace = json.loads(run.output)
    assert trace["span_count"] == 7
    assert [root["name"] for root in trace["roots"]] == ["epoch", "epoch", "still open"]
    first, still_open = trace["roots"][0], trace["roots"][2]
    forward, backward = first["children"]
    assert (forward["name"], forward["attrs"], forward["index"]) == ("forward", {"variant": "x"}, 0)
    assert forward["marks"] == [{"name": "loss", "value": 0.5, "kind": "point"}]
    assert forward["parent_id"] == first["id"] and first["parent_id"] is None
    assert backward["end_ns"] >= backward["start_ns"] >= forward["end_ns"]
    assert still_open["end_ns"] is None


def test_a_printed_trace(tmp_path: Path) -> None:
    pytest.importorskip("hodo._trace")
    run = record(tmp_path, TRACED + "assert ci.trace() is None\n")
    assert "forward" in run.output and "backward" in run.output


def test_a_trace_as_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip("hodo._trace")
    pytest.importorskip("pandas")
    run = record(tmp_path, TRACED + "print(ci.trace('df').to_json(orient='records'))\n")
    rows = json.loads(run.output)
    assert [(row["name"], row["depth"], row["mark_count"]) for row in rows[:3]] == [
        ("epoch", 0, 0),
        ("forward", 1, 1),
        ("backward", 1, 0),
    ]


def test_bad_arguments_raise_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="output"):
        ci.profile(output="disk")
    with pytest.raises(ValueError, match="kind"):
        ci.mark("m", 1, kind="histogram")
    with pytest.raises(ValueError, match="format"):
        ci.trace("xml")  # type: ignore[arg-type]


def test_names_that_are_not_a_profilers_come_from_the_peer() -> None:
    if importlib.util.find_spec("cirron") is None:
        with pytest.raises(AttributeError, match="cirron-sdk"):
            ci.load  # noqa: B018
    else:
        assert callable(ci.load)


@pytest.mark.parametrize("owner", ["module", "Cirron"])
def test_names_and_signatures_are_the_peers(owner: str) -> None:
    peer = pytest.importorskip("cirron")
    theirs, ours = (peer, ci) if owner == "module" else (peer.Cirron, ci.Cirron)
    names = peer.__all__ if owner == "module" else [n for n in dir(theirs) if n[0] != "_"]
    for name in names:
        if name in ci._OTHERS:
            continue
        assert hasattr(ours, name), name
        assert _parameters(getattr(theirs, name)) <= _parameters(getattr(ours, name)), name


def test_health_has_the_peers_keys() -> None:
    peer = pytest.importorskip("cirron")
    assert set(peer.health()) <= set(ci.health())


def _parameters(named: Any) -> set[str]:
    if inspect.isclass(named) and named.__name__ == "Profiler":
        return set()  # made by profile() alone, there and here
    try:
        return set(inspect.signature(named).parameters)
    except ValueError:
        return set()
