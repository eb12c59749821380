"""Programs that use scopes in ways nobody should, or that only look odd: each found a defect once."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hodo
import pytest
import runs


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    assert hodo.init(app="hostile", dir=tmp_path) == "on"
    yield tmp_path
    hodo.shutdown()


def paths(dir: Path) -> dict[tuple[str, ...], int]:
    assert hodo.flush(60)
    return dict(runs.paths(dir))


def test_a_loop_closed_while_it_waits_for_an_item(run: Path) -> None:
    class Closing:
        def __iter__(self) -> Closing:
            return self

        def __next__(self) -> int:
            loop.close()  # type: ignore[attr-defined]
            return 1

    loop = hodo.batches(Closing())
    assert next(loop) == 1  # type: ignore[call-overload]
    assert hodo.current_scope_id() == 1
    assert paths(run)[("batch",)] == 1


def test_an_error_of_an_iterator_survives_hostile_context_variables(run: Path) -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:
            raise RuntimeError("no name")

    class Odd(metaclass=Meta):
        pass

    def items() -> Iterator[int]:
        yield 1
        for i in range(40):
            contextvars.ContextVar(f"odd{i}").set(Odd())
        raise ValueError("the loader failed")

    with pytest.raises(ValueError, match="the loader failed"):
        list(hodo.batches(items()))


def test_a_context_that_two_threads_run_leaves_neither_in_it(run: Path) -> None:
    def work(name: str) -> None:
        with hodo.scope(name):
            pass

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        with hodo.scope("request"):
            context = contextvars.copy_context()
            one.submit(context.run, work, "in").result()
            two.submit(context.run, work, "in").result()
        one.submit(work, "one").result()
        two.submit(work, "two").result()
    assert paths(run) == {("request",): 1, ("request", "in"): 2, ("one",): 1, ("two",): 1}


def test_variables_copied_back_into_a_context_do_not_move_it(run: Path) -> None:
    def call_and_copy_back(work: Any) -> None:
        child = contextvars.copy_context()
        thread = threading.Thread(target=child.run, args=(work,))
        thread.start()
        thread.join()
        for variable, value in child.items():
            variable.set(value)

    def query() -> None:
        with hodo.scope("query"):
            pass

    async def main() -> None:
        with hodo.scope("outer"):
            with hodo.scope("inner"):
                call_and_copy_back(query)
            with hodo.scope("sibling"):
                pass
        with hodo.scope("top"):
            pass

    asyncio.run(main())
    assert paths(run) == {
        ("outer",): 1,
        ("outer", "inner"): 1,
        ("outer", "inner", "query"): 1,
        ("outer", "sibling"): 1,
        ("top",): 1,
    }
    assert hodo.health()["out_of_order"] == 0


def test_a_destructor_that_records_while_a_context_changes(run: Path) -> None:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("held")

    class Recording:
        def __del__(self) -> None:
            with hodo.scope("del"):
                pass

    async def task() -> None:
        with hodo.scope("outer"):
            variable.set(Recording())
            with hodo.scope("a"):
                pass
            variable.set(None)
            with hodo.scope("b"):
                pass
            await asyncio.sleep(0)
            with hodo.scope("c"):
                pass

    asyncio.run(task())
    got = paths(run)
    assert {("outer", name) for name in "abc"} <= set(got)
    assert hodo.health()["out_of_order"] == 0


def test_a_scope_entered_twice_and_dropped_is_closed(run: Path) -> None:
    scope = hodo.scope("twice")
    scope.__enter__()
    scope.__enter__()
    del scope
    fresh = hodo.scope("fresh")
    assert "not open" in repr(fresh)
    with fresh:
        pass
    assert paths(run) == {("twice",): 1, ("twice", "twice"): 1, ("fresh",): 1}


def test_a_handle_that_outlived_its_thread_closes_nobody_else(run: Path) -> None:
    for _ in range(200):
        left: list[hodo.Scope] = []

        def leave_open(left: list[hodo.Scope] = left) -> None:
            scope = hodo.scope("left")
            scope.__enter__()
            left.append(scope)

        def victim(left: list[hodo.Scope] = left) -> None:
            with hodo.scope("victim"):
                left[0].end()
                with hodo.scope("inside"):
                    pass

        for target in (leave_open, victim):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert paths(run)[("victim", "inside")] == 200


def test_one_object_shared_by_tasks(run: Path) -> None:
    shared = hodo.scope("shared")
    job = hodo.begin("job")
    attached = hodo.attach(job)

    async def task(name: str, wait: int) -> None:
        with shared:
            for _ in range(wait):
                await asyncio.sleep(0)
            with hodo.scope(f"in-{name}"):
                pass
        with hodo.scope(f"after-{name}"):
            pass
        with attached:
            for _ in range(wait):
                await asyncio.sleep(0)
            with hodo.scope(f"attached-{name}"):
                pass
        with hodo.scope(f"end-{name}"):
            pass

    async def main() -> None:
        await asyncio.gather(task("a", 3), task("b", 1))

    asyncio.run(main())
    job.end()
    got = set(paths(run))
    for name in "ab":
        assert {("shared", f"in-{name}"), (f"after-{name}",), ("job", f"attached-{name}")} <= got
        assert (f"end-{name}",) in got


def test_tasks_that_wait_when_their_thread_ends_are_left_open(run: Path) -> None:
    kept: list[Any] = []

    def thread() -> None:
        async def task() -> None:
            with hodo.scope("task"):
                await asyncio.Event().wait()

        loop = asyncio.new_event_loop()
        kept.append([loop.create_task(task()) for _ in range(50)])
        loop.run_until_complete(asyncio.sleep(0.01))
        kept.append(loop)

    worker = threading.Thread(target=thread)
    worker.start()
    worker.join()
    assert hodo.flush(60)
    node = runs.node(run, "task")
    assert node["count"] == 50 and node["open"] == 50
    for tasks in kept[0]:
        tasks.get_loop().call_soon(tasks.cancel)
    kept[1].run_until_complete(asyncio.sleep(0))
    kept[1].close()


def test_contexts_and_what_they_hold_are_freed(run: Path) -> None:
    class Big:
        task: Any = None

    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("big")
    alive: list[weakref.ref[Big]] = []

    async def task() -> None:
        big = Big()
        big.task = asyncio.current_task()
        variable.set(big)
        alive.append(weakref.ref(big))
        with hodo.scope("t"):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(task() for _ in range(500)))

    asyncio.run(main())
    with hodo.scope("elsewhere"):
        pass
    gc.collect()
    assert sum(ref() is not None for ref in alive) <= 1


def test_a_loop_that_refers_to_itself_is_freed(run: Path) -> None:
    class Owner:
        loader: Any = None

        def __iter__(self) -> Iterator[int]:
            return iter(range(2))

    owner = Owner()
    owner.loader = hodo.batches(owner)
    assert list(owner.loader) == [0, 1]
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_fork_in_a_task_belongs_to_that_task(tmp_path: Path) -> None:
    code = """
    import asyncio, hodo, os
    hodo.init(app="forks")

    async def task(i):
        with hodo.scope(f"task{i}"):
            await asyncio.sleep(0.01)
            pid = os.fork()
            if pid == 0:
                with hodo.scope(f"forked{i}"):
                    pass
                os._exit(0)
            os.waitpid(pid, 0)
            await asyncio.sleep(0.01)

    async def main():
        await asyncio.gather(*(task(i) for i in range(4)))

    asyncio.run(main())
    """
    got = runs.recorded(tmp_path, code, flags=("-W", "ignore"))
    assert all(got[(f"task{i}", f"forked{i}")] == 1 for i in range(4)), got


@pytest.mark.parametrize("what", ["scope", "begin", "generator", "batches"])
def test_a_daemon_thread_in_a_values_own_code_at_exit(tmp_path: Path, what: str) -> None:
    code = """
    import hodo, sys, threading, time
    hodo.init(app="daemon")
    class Slow:
        def __str__(self):
            time.sleep(0.001)
            return "slow"
    class Items:
        def __iter__(self): return self
        def __next__(self):
            time.sleep(0.001)
            return 1
    @hodo.scope("generator", value=Slow())
    def generator():
        yield Slow()
    def work():
        while True:
            if sys.argv[1] == "scope":
                with hodo.scope("x", v=Slow()): hodo.mark("m", Slow(), a=Slow())
            elif sys.argv[1] == "begin":
                hodo.begin("x", v=Slow()).end()
            elif sys.argv[1] == "generator":
                list(generator())
            else:
                for _ in hodo.batches(Items()): pass
    for _ in range(4): threading.Thread(target=work, daemon=True).start()
    junk = [{i: [i]} for i in range(100000)]
    time.sleep(0.05)
    """
    for _ in range(3):
        ended = runs.run(tmp_path, code, what)
        assert ended.err == "", ended.err


def test_an_interrupt_in_a_values_own_code_is_not_lost(tmp_path: Path) -> None:
    code = """
    import hodo, signal, time
    # Whoever runs the tests in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hodo.init(app="interrupt")
    class Interrupted:
        def __str__(self):
            raise KeyboardInterrupt
    try:
        with hodo.scope("x", v=Interrupted()):
            pass
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert runs.run(tmp_path, code).out == "interrupted\n"


def test_the_run_folder_deleted_before_exit(tmp_path: Path) -> None:
    code = """
    import atexit, hodo, shutil, sys
    hodo.init(app="gone", dir=sys.argv[1])
    atexit.register(shutil.rmtree, sys.argv[1], True)
    for i in range(12000):
        with hodo.scope("x", i): pass
    """
    for i in range(10):
        runs.run(tmp_path / str(i), code, str(tmp_path / str(i) / "runs"))
