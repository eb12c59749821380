"""What a scope is and does."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import runs
import hodo
import pytest


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    """A recorder that is on, in this process."""
    assert hodo.init(app="scope", dir=tmp_path) == "on"
    yield tmp_path
    hodo.shutdown()
    assert hodo.health()["internal_errors"] == 0


def paths(dir: Path) -> dict[tuple[str, ...], int]:
    assert hodo.flush(60)
    return dict(runs.paths(dir))


def attributes(dir: Path) -> dict[str, dict[str, Any]]:
    """The attributes of each scope, as the Chrome export shows them."""
    import json
    import subprocess

    hodo.flush()
    command = [runs.PROGRAM, "export", "--to", "chrome", "--dir", dir]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    events = json.loads(done.stdout)["traceEvents"]
    return {event["name"]: event.get("args", {}) for event in events if event.get("ph") == "X"}


def test_scopes_nest(run: Path) -> None:
    for i in range(3):
        with hodo.scope("outer", i):
            with hodo.scope("inner"):
                pass
    assert paths(run) == {("outer",): 3, ("outer", "inner"): 3}


def test_a_handle_knows_what_it_is(run: Path) -> None:
    import time

    before = time.time_ns()
    with hodo.scope("step", index=7) as s:
        assert (s.name, s.index, s.recorded) == ("step", 7, True)
        assert s.id is not None and len(s.id) == 32 and int(s.id, 16) > 0
        assert s.start_ns is not None and before - 5e9 < s.start_ns < time.time_ns() + 5e9
        assert "open" in repr(s)
        id = s.id
    assert s.id == id and "closed" in repr(s)


def test_every_kind_of_attribute(run: Path) -> None:
    numpy = pytest.importorskip("numpy")
    text = "made " + "here"
    with hodo.scope("a", i=1, f=0.5, b=True, s="literal", t=text, tag="x") as s:
        s.set(j={"k": [1, None, "z"]}, n=numpy.float32(2.5), m=numpy.int64(3), big=10**30)
    args = attributes(run)["a"]
    expected = {"i": 1, "f": 0.5, "b": True, "s": "literal", "t": text, "n": 2.5, "m": 3}
    assert {key: args[key] for key in expected} == expected
    assert args["j"] == {"k": [1, None, "z"]} or args["j"] == '{"k":[1,null,"z"]}'
    assert args["big"] == str(10**30)


def test_more_attributes_than_a_record_holds(run: Path) -> None:
    with hodo.scope("many", **{f"k{i}": i for i in range(20)}):
        pass
    args = attributes(run)["many"]
    assert {f"k{i}": i for i in range(20)}.items() <= args.items()


def test_an_exception_passes_and_the_scope_failed(run: Path) -> None:
    class Odd(Exception):
        pass

    with pytest.raises(Odd):
        with hodo.scope("bad"):
            raise Odd("why")
    hodo.flush()
    assert runs.node(run, "bad")["failed"] == 1
    assert attributes(run)["bad"]["error"] == "Odd"


def test_a_closed_generator_did_not_fail(run: Path) -> None:
    def numbers() -> Iterator[int]:
        with hodo.scope("numbers"):
            yield 1

    numbers_ = numbers()
    next(numbers_)
    numbers_.close()
    hodo.flush()
    assert runs.node(run, "numbers")["failed"] == 0


def test_async_with(run: Path) -> None:
    async def main() -> str:
        async with hodo.scope("a") as s:
            await asyncio.sleep(0)
            return s.name

    assert asyncio.run(main()) == "a"
    assert paths(run) == {("a",): 1}


def test_exit_stack(run: Path) -> None:
    with contextlib.ExitStack() as stack:
        handle = stack.enter_context(hodo.scope("a"))
        stack.enter_context(hodo.scope("b"))
        assert handle.name == "a"
    assert paths(run) == {("a",): 1, ("a", "b"): 1}


def test_the_same_object_again_and_inside_itself(run: Path) -> None:
    again = hodo.scope("again")
    for _ in range(2):
        with again:
            pass
    with again, again:
        pass
    assert paths(run) == {("again",): 3, ("again", "again"): 1}


def test_not_entered_is_not_recorded(run: Path) -> None:
    hodo.scope("never")
    with hodo.scope("ever"):
        hodo.scope("never")
    assert paths(run) == {("ever",): 1}


def test_past_the_depth_limit_a_handle_is_inert(run: Path) -> None:
    with contextlib.ExitStack() as stack:
        for i in range(70):
            handle = stack.enter_context(hodo.scope("deep", i))
            handle.set(x=1)
            handle.mark("m", 1)
        assert handle.id is None and not handle.recorded and handle.name == "deep"
        assert hodo.current_scope_id() == 71
    assert hodo.health()["depth_dropped"] == 6
    assert sum(paths(run).values()) == 64
    assert hodo.current_scope_id() == 1


def test_closing_twice_and_out_of_order_closes_the_right_one(run: Path) -> None:
    a, b = hodo.scope("a"), hodo.scope("b")
    a.__enter__()
    b.__enter__()
    a.end()
    a.end()
    with hodo.scope("c"):
        pass
    b.end()
    assert paths(run) == {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1}
    assert hodo.health()["out_of_order"] == 1


def test_a_decorated_function_stays_what_it_is(run: Path) -> None:
    @hodo.scope
    def plain(x: int, *, y: int = 2) -> int:
        "Adds."
        return x + y

    @hodo.scope("named", k=1)
    async def coroutine() -> int:
        return 5

    @hodo.scope
    def generator() -> Iterator[int]:
        got = yield 1
        yield got * 2

    class Thing:
        @hodo.scope("method")
        def method(self) -> "Thing":
            return self

        @hodo.scope
        @staticmethod
        def static(x: int) -> int:
            return x

        @classmethod
        @hodo.scope("class")
        def cls(cls) -> type:
            return cls

    assert plain(1, y=3) == 4 and plain.__doc__ == "Adds." and plain.__name__ == "plain"
    assert str(inspect.signature(plain)) == "(x: 'int', *, y: 'int' = 2) -> 'int'"
    assert inspect.iscoroutinefunction(coroutine) and asyncio.run(coroutine()) == 5
    assert inspect.isgeneratorfunction(generator)
    steps = generator()
    assert (next(steps), steps.send(21)) == (1, 42)
    thing = Thing()
    assert thing.method() is thing and Thing.static(4) == 4 and Thing.cls() is Thing
    steps.close()
    names = {path[-1].rsplit(".", 1)[-1] for path in paths(run)}
    assert names == {"plain", "named", "generator", "method", "static", "class"}


@hodo.scope
def module_level(x: int) -> int:
    return x + 1


def test_a_decorated_function_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(module_level))(1) == 2


def test_decorated_before_init_recorded_after(run: Path) -> None:
    assert module_level(1) == 2
    assert paths(run) == {("module_level",): 1}


def test_recursion_of_a_decorated_function(run: Path) -> None:
    @hodo.scope("fact")
    def fact(n: int) -> int:
        return 1 if n == 0 else n * fact(n - 1)

    assert fact(5) == 120
    assert max(map(len, paths(run))) == 6


def test_what_makes_no_sense_is_said() -> None:
    with pytest.raises(TypeError, match="repeat=10"):
        iter(hodo.scope("x"))
    with pytest.raises(TypeError, match="name"):
        hodo.scope()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="whole number"):
        hodo.scope("x", repeat="often")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="class"):

        @hodo.scope
        class Thing:
            pass


def test_a_benchmark_loop(run: Path) -> None:
    seen = list(hodo.scope("mm", tag="math", repeat=3, warmup=2))
    assert seen == [-2, -1, 0, 1, 2]
    for i in hodo.scope("broken", repeat=10):
        if i == 2:
            break
    with pytest.raises(ValueError):
        for _ in hodo.scope("raised", repeat=10):
            raise ValueError
    got = paths(run)
    assert got[("mm",)] == 1 and got[("mm", "iteration")] == 3
    assert got[("mm warm-up", "iteration")] == 2
    assert got[("broken", "iteration")] == 3
    assert got[("raised", "iteration")] == 1
    assert hodo.current_scope_id() == 1


def test_bench_gives_statistics(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    synced = []
    stats = hodo.bench(lambda: None, repeat=20, warmup=2, sync=lambda: synced.append(1), name="b")
    assert len(stats.samples_ns) == 20 and len(synced) == 22
    assert stats.min_ns <= stats.median_ns <= stats.p95_ns <= stats.max_ns
    low, high = stats.ci95_ns
    assert low <= stats.mean_ns <= high
    assert "20 passes" in capsys.readouterr().out
    assert paths(run)[("b", "iteration")] == 20


def test_loops_keep_what_they_were_given(run: Path) -> None:
    class Loader:
        dataset = "data"

        def __len__(self) -> int:
            return 4

        def __iter__(self) -> Iterator[int]:
            return iter(range(4))

    loader = Loader()
    for _ in hodo.epochs(range(2)):
        wrapped = hodo.batches(loader)
        assert len(wrapped) == 4 and wrapped.dataset == "data"  # type: ignore[attr-defined, arg-type]
        assert list(wrapped) == [0, 1, 2, 3]
    assert paths(run) == {("epoch",): 2, ("epoch", "batch"): 8, ("epoch", "batch", "data_wait"): 8}


def test_loops_close_on_break_and_errors(run: Path) -> None:
    for i in hodo.batches(range(10)):
        if i == 3:
            break
    assert hodo.current_scope_id() == 1
    with pytest.raises(KeyError):
        for _ in hodo.batches(range(10)):
            raise KeyError
    assert hodo.current_scope_id() == 1

    def failing() -> Iterator[int]:
        yield 1
        raise OSError

    with pytest.raises(OSError):
        list(hodo.batches(failing()))
    assert hodo.current_scope_id() == 1
    got = paths(run)
    assert got[("batch",)] == 4 + 1 + 2
    hodo.flush()
    assert runs.node(run, "batch")["failed"] == 1


def test_an_empty_loop_records_nothing(run: Path) -> None:
    assert list(hodo.batches([])) == []
    assert list(hodo.epochs(iter(()))) == []
    assert paths(run) == {}


def test_next_on_a_loop(run: Path) -> None:
    numbers = hodo.batches(iter(range(2)))
    assert next(numbers) == 0 and next(numbers) == 1  # type: ignore[call-overload]
    with pytest.raises(StopIteration):
        next(numbers)  # type: ignore[call-overload]
    assert paths(run)[("batch",)] == 2


def test_marks_of_every_kind(run: Path) -> None:
    numpy = pytest.importorskip("numpy")
    with hodo.scope("s") as s:
        hodo.mark("int", 3)
        hodo.mark("float", float("nan"))
        hodo.mark("bool", True)
        hodo.mark("str", "text")
        hodo.mark("np", numpy.float32(0.25), kind="summary")
        hodo.mark("array", numpy.array([1.5]))
        hodo.mark("object", object(), step=4)
        hodo.mark(name="keywords", value=1)
        with hodo.scope("inner"):
            s.mark("outer", 9)
    hodo.flush()
    marks = {mark["name"]: mark for mark in runs.node(run, "s")["marks"]}
    names = {"int", "float", "bool", "str", "np", "array", "object", "keywords", "outer"}
    assert names <= set(marks)
    assert marks["np"]["summary"] and marks["np"]["last"] == 0.25
    assert marks["array"]["last"] == 1.5
    assert hodo.health()["values_as_text"] >= 1
    with pytest.raises(TypeError):
        hodo.mark("only a name")  # type: ignore[call-arg]


def test_begin_and_end(run: Path) -> None:
    with hodo.scope("outer"):
        copy = hodo.begin("copy", 3, bytes=10)
        copy.set(more=1)
        with hodo.scope("inner"):
            pass
        assert copy.recorded and copy.index == 3 and copy.id is not None
    copy.end()
    copy.end()
    hodo.begin("failed").end(ValueError("x"))
    got = paths(run)
    assert got[("outer", "copy")] == 1 and got[("outer", "inner")] == 1
    assert runs.node(run, "failed")["failed"] == 1


def test_scope_numbers(run: Path) -> None:
    assert hodo.current_scope_id() == 1
    with hodo.enter_new_scope():
        assert hodo.current_scope_id() == 2
        with hodo.scope("x"):
            assert hodo.current_scope_id() == 3
            with pytest.raises(ValueError), hodo.enter_new_scope():
                assert hodo.current_scope_id() == 4
                raise ValueError
            assert hodo.current_scope_id() == 3

        async def task() -> int:
            with hodo.enter_new_scope():
                await asyncio.sleep(0)
                return hodo.current_scope_id()

        async def main() -> list[int]:
            return await asyncio.gather(*(task() for _ in range(5)))

        assert asyncio.run(main()) == [3] * 5
    assert hodo.current_scope_id() == 1


def test_scope_numbers_when_off() -> None:
    assert not hodo.is_on()
    with hodo.enter_new_scope(), hodo.enter_new_scope():
        assert hodo.current_scope_id() == 3
    assert hodo.current_scope_id() == 1


def test_off_everything_is_inert() -> None:
    assert not hodo.is_on()
    with hodo.scope("x", 1, a=2) as s:
        s.set(b=1)
        s.mark("m", 1)
        hodo.mark("m", object())
        assert s.id is None and s.name == "x"
    assert list(hodo.batches([1, 2])) == [1, 2]
    assert list(hodo.scope("x", repeat=2, warmup=1)) == [-1, 0, 1]
    hodo.begin("y").end()
    with hodo.attach(s):
        pass
    assert hodo.flush() is False
    hodo.shutdown()


def test_started_and_stopped_and_started(tmp_path: Path) -> None:
    for i in range(3):
        dir = tmp_path / str(i)
        assert hodo.init(dir=dir) == "on"
        assert hodo.init(dir=dir) == "already"
        with hodo.scope("again"):
            pass
        hodo.shutdown()
        hodo.shutdown()
        assert runs.paths(dir) == {("again",): 1}


def test_torch_is_met_also_by_a_recorder_that_was_there(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finders = [one for one in sys.meta_path if type(one).__name__ != "Watch"]
    monkeypatch.setattr(sys, "meta_path", finders)
    before = len(finders)
    added = set()
    for _ in range(3):
        assert hodo.init(by_layer=True) == "already"
        added.add(len(finders) - before)
    # Watched for once, however often it is asked for.
    assert len(added) == 1 and added.pop() > 0


def test_a_scope_across_a_restart_closes_nothing_else(tmp_path: Path) -> None:
    hodo.init(dir=tmp_path / "a")
    old = hodo.scope("old")
    old.__enter__()
    hodo.shutdown()
    hodo.init(dir=tmp_path / "b")
    with hodo.scope("new"):
        old.end()
        with hodo.scope("inner"):
            pass
    hodo.shutdown()
    assert runs.paths(tmp_path / "b") == {("new",): 1, ("new", "inner"): 1}


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for options in ({"max_depth": -1}, {"flush_interval": 0}, {"max_bytes": 1.5}):
        with pytest.raises(ValueError):
            hodo.init(dir=tmp_path, **options)  # type: ignore[arg-type]
    assert not hodo.is_on()


def test_health_has_the_documented_keys() -> None:
    text = hodo.health.__doc__ or ""
    missing = [key for key in hodo.health() if key not in text]
    assert not missing


def test_texts_made_for_one_use_fill_no_table(tmp_path: Path) -> None:
    code = """
    import hodo
    hodo.init()
    long = "a" * 3000
    for i in range(3000):
        with hodo.scope("x", request=f"request {i}", long=long):
            pass
    """
    # A process of its own: names outlive a recorder, and every run gets all of them.
    runs.run(tmp_path, code)
    strings = sum(len(p.read_bytes()) for p in tmp_path.glob("*/*/catalog.hodo"))
    assert 0 < strings < 20_000, strings
    args = attributes(tmp_path)["x"]
    assert args["request"] == "request 2999" and args["long"] == "a" * 3000


def test_a_loop_can_be_closed(run: Path) -> None:
    numbers = hodo.batches([1, 2])
    assert next(numbers) == 1  # type: ignore[call-overload]
    assert hodo.current_scope_id() == 2
    numbers.close()  # type: ignore[attr-defined]
    assert hodo.current_scope_id() == 1


def test_a_link_knows_the_scope(run: Path) -> None:
    assert hodo.current().id is None
    with hodo.scope("x") as s:
        assert hodo.current().id == s.id


def test_a_scope_on_a_classmethod(run: Path) -> None:
    class Thing:
        @hodo.scope
        @classmethod
        def make(cls) -> "Thing":
            return cls()

    assert isinstance(Thing.make(), Thing)
    assert {path[-1].rsplit(".", 1)[-1] for path in paths(run)} == {"make"}
    assert hodo.current_scope_id() == 1


def test_bench_prints_what_it_records(run: Path) -> None:
    stats = hodo.bench(lambda: sum(range(200)), repeat=50, warmup=5, name="sum", show=False)
    hodo.flush()
    bench = runs.node(run, "sum")["bench"]
    recorded = bench["min_ns"] if "min_ns" in bench else bench["durations"]["min_ns"]
    # One clock read apart.
    assert abs(stats.min_ns - recorded) < 1000
