"""Parents: by context, whatever tasks, threads and generators do."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hodo
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Oracle

TASKS = 500
# A schedule is far too long to be drawn choice by choice.
SCHEDULES = st.integers(0, 1 << 62).map(random.Random)
UNRELATED: contextvars.ContextVar[int] = contextvars.ContextVar("unrelated", default=0)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """One run for all examples; its scopes are checked when they have all been made."""
    dir = tmp_path_factory.mktemp("context")
    assert hodo.init(app="context", dir=dir) == "on", hodo.health()
    oracle = Oracle()
    yield oracle
    health = hodo.health()
    hodo.shutdown()
    assert health["lost_records"] == 0
    assert health["internal_errors"] == 0
    assert health["wrong_thread"] == 0
    assert len(oracle.parents) > 10_000
    oracle.check(dir)


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=count, deadline=None, suppress_health_check=slow)


class Tasks:
    """A random program of tasks that open scopes, wait, start other tasks and close again."""

    def __init__(self, oracle: Oracle, choose: random.Random, budget: int) -> None:
        self.oracle, self.choose, self.budget = oracle, choose, budget
        self.started: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        while self.budget > 0:
            self.start()
            await asyncio.sleep(0)
        while self.started:
            await asyncio.gather(*self.started[:50])
            del self.started[:50]

    def start(self) -> None:
        if self.budget > 0:
            self.budget -= 1
            self.started.append(asyncio.create_task(self.task()))

    async def task(self) -> None:
        opened: list[tuple[str, hodo.Scope]] = []
        for _ in range(self.choose.randint(1, 6)):
            match self.choose.randint(0, 5):
                case 0 | 1:
                    opened.append(self.oracle.open("s"))
                case 2 if opened:
                    # Not always the innermost.
                    self.oracle.close(*opened.pop(self.choose.randrange(len(opened))))
                case 3:
                    self.start()
                case 4:
                    UNRELATED.set(self.choose.randint(0, 9))
                case _:
                    await asyncio.sleep(0)
        for name, scope in reversed(opened):
            if self.choose.random() < 0.5:
                await asyncio.sleep(0)
            self.oracle.close(name, scope)


@examples(12)
@given(choose=SCHEDULES)
def test_500_tasks_have_the_parents_of_their_contexts(
    recording: Oracle, choose: random.Random
) -> None:
    with recording.scope("run"):
        asyncio.run(Tasks(recording, choose, TASKS).run())


def test_a_task_belongs_to_the_scope_it_was_created_in(recording: Oracle) -> None:
    async def work() -> None:
        with recording.scope("work"):
            await asyncio.sleep(0)

    async def main() -> None:
        with recording.scope("launch"):
            task = asyncio.create_task(work())
        # The scope it was created in is closed when the task first runs, another one is open.
        with recording.scope("idle"):
            await task

    asyncio.run(main())


def test_another_variable_set_after_a_copy_does_not_hide_the_copy(recording: Oracle) -> None:
    with recording.scope("outer"):
        copy = contextvars.copy_context()
    UNRELATED.set(1)
    with recording.scope("later"):

        def inside() -> None:
            with recording.scope("inside"):
                pass

        copy.run(inside)


@examples(10)
@given(choose=SCHEDULES)
def test_threads_with_loops_of_their_own(recording: Oracle, choose: random.Random) -> None:
    seeds = [choose.randrange(1 << 30) for _ in range(4)]

    def loop(seed: int) -> None:
        with recording.scope("thread"):
            asyncio.run(Tasks(recording, random.Random(seed), 40).run())

    threads = [threading.Thread(target=loop, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_work_given_to_a_thread_by_a_task_is_inside_of_the_task(recording: Oracle) -> None:
    def work() -> None:
        with recording.scope("in-thread"):
            pass

    async def task() -> None:
        with recording.scope("task"):
            await asyncio.gather(*(asyncio.to_thread(work) for _ in range(20)))

    async def main() -> None:
        await asyncio.gather(*(task() for _ in range(20)))

    asyncio.run(main())


def test_carry_takes_the_scope_to_an_executor(recording: Oracle) -> None:
    def work() -> None:
        name = recording.name("carried")
        recording.parents[name] = parent
        with hodo.scope(name):
            pass

    with ThreadPoolExecutor(4) as executor:
        with recording.scope("submit") as parent:
            futures = [executor.submit(hodo.carry(work)) for _ in range(40)]
            for future in futures:
                future.result()


def test_attach_makes_a_scope_of_another_thread_the_parent(recording: Oracle) -> None:
    def work(handle: hodo.Scope | hodo.Begin) -> None:
        with hodo.attach(handle):
            name = recording.name("attached")
            recording.parents[name] = handle.name
            with hodo.scope(name):
                pass

    name, scope = recording.open("attach")
    begun_name = recording.name("begun")
    recording.parents[begun_name] = name
    begun = hodo.begin(begun_name)
    for handle in (scope, begun):
        thread = threading.Thread(target=work, args=(handle,))
        thread.start()
        thread.join()
    begun.end()
    recording.close(name, scope)


@examples(20)
@given(choose=SCHEDULES)
def test_plain_scopes_in_zipped_generators(recording: Oracle, choose: random.Random) -> None:
    """The parent is what was innermost when the scope opened; its exit closes it alone."""

    def numbers(count: int) -> Iterator[int]:
        with recording.scope("generator"):
            for i in range(count):
                with recording.scope("item"):
                    yield i

    with recording.scope("zip"):
        counts = [choose.randint(0, 5) for _ in range(3)]
        for _ in zip(*(numbers(count) for count in counts), strict=False):
            with recording.scope("body"):
                pass


@examples(20)
@given(choose=SCHEDULES)
def test_decorated_generators_are_not_the_parent_while_they_wait(
    recording: Oracle, choose: random.Random
) -> None:
    def decorated(count: int, around: str) -> Iterator[int]:
        name = recording.name("decorated")
        recording.parents[name] = around

        @hodo.scope(name)
        def numbers() -> Iterator[int]:
            for i in range(count):
                inside = recording.name("inside")
                recording.parents[inside] = name
                with hodo.scope(inside):
                    yield i

        return numbers()

    with recording.scope("zip") as around:
        # One that gives nothing is begun by the first `next` like the others.
        counts = [choose.randint(1, 5) for _ in range(3)]
        for _ in zip(*(decorated(count, around) for count in counts), strict=False):
            with recording.scope("body"):
                pass


@examples(10)
@given(choose=SCHEDULES)
def test_decorated_async_generators(recording: Oracle, choose: random.Random) -> None:
    async def consume(count: int) -> None:
        with recording.scope("consumer") as around:
            name = recording.name("stream")
            recording.parents[name] = around

            @hodo.scope(name)
            async def stream():  # type: ignore[no-untyped-def]
                for i in range(count):
                    inside = recording.name("inside")
                    recording.parents[inside] = name
                    with hodo.scope(inside):
                        await asyncio.sleep(0)
                        yield i

            async for _ in stream():
                with recording.scope("body"):
                    await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(consume(choose.randint(1, 4)) for _ in range(20)))

    asyncio.run(main())


def test_scopes_closed_in_any_order(recording: Oracle) -> None:
    choose = random.Random(7)
    for _ in range(100):
        opened = [recording.open("any") for _ in range(8)]
        choose.shuffle(opened)
        for name, scope in opened:
            recording.close(name, scope)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_and_trio(recording: Oracle, backend: str) -> None:
    anyio = pytest.importorskip("anyio")
    pytest.importorskip("trio")
    choose = random.Random(3)

    async def task(depth: int) -> None:
        with recording.scope("task"):
            await anyio.sleep(0)
            async with anyio.create_task_group() as group:
                for _ in range(choose.randint(0, 3) if depth < 4 else 0):
                    with recording.scope("start"):
                        group.start_soon(task, depth + 1)
                    with recording.scope("between"):
                        await anyio.sleep(0)
            await anyio.to_thread.run_sync(in_thread)

    def in_thread() -> None:
        with recording.scope("in-thread"):
            pass

    with recording.scope("run"):
        anyio.run(task, 0, backend=backend)
