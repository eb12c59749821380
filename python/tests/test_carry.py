"""Functions of every kind that are carried to where they run."""

from __future__ import annotations

from pathlib import Path

from helpers import serve

FUNCTIONS = """
async def coroutine():
    with hodo.scope("coroutine"):
        await asyncio.sleep(0)
        return hodo.request_id()

def generator(n):
    with hodo.scope("generator"):
        for i in range(n):
            with hodo.scope("part"):
                got = yield hodo.request_id()
                assert got in (None, "s"), got
    return 9

async def async_generator(n):
    with hodo.scope("async generator"):
        for i in range(n):
            with hodo.scope("async part"):
                await asyncio.sleep(0)
                yield hodo.request_id()

@hodo.inference
def carried(*functions):
    return [hodo.request_id(), *map(hodo.carry, functions)]

id, coroutine, generator, async_generator = carried(coroutine, generator, async_generator)
"""


def test_coroutines_and_generators_carry_too(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        FUNCTIONS
        + """
kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
told = [kind(function) for kind, function in zip(kinds, (coroutine, generator, async_generator))]
assert told == [True] * 3 and generator.__name__ == "generator"

def read():
    got = []
    for item in generator(3):
        with hodo.scope("reader"):
            assert hodo.request_id() is None
            got.append(item)
    return got

async def main():
    assert await asyncio.gather(coroutine(), coroutine()) == [id] * 2
    got = []
    async for item in async_generator(2):
        with hodo.scope("async reader"):
            assert hodo.request_id() is None
            await asyncio.sleep(0)
            got.append(item)
    assert got == [id] * 2

for run in (lambda: asyncio.run(main()), lambda: read() == [id] * 3 or os._exit(1)):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
assert read() == [id] * 3 and hodo.request_id() is None
""",
    )
    assert run.tree == (
        "async reader 2\nreader 6\nrequest 1\n  async generator 1\n    async part 2\n"
        "  coroutine 2\n  generator 2\n    part 6"
    )
    assert run.left_open == 0


def test_carried_generators_end_in_every_way(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        FUNCTIONS
        + """
def outer():
    yield (yield from generator(1))
assert list(outer()) == [id, 9]
sent = generator(2)
assert inspect.getgeneratorstate(sent) == inspect.GEN_CREATED
assert next(sent) == sent.send("s") == id
sent.close()
for end in (ValueError("thrown"), GeneratorExit()):
    thrown = generator(2)
    next(thrown)
    try:
        thrown.throw(end)
    except (ValueError, GeneratorExit) as error:
        assert error is end
dropped = generator(2)
next(dropped)
del dropped

async def main():
    async with contextlib.aclosing(async_generator(2)) as items:
        assert await anext(items) == id
    thrown = async_generator(2)
    await anext(thrown)
    try:
        await thrown.athrow(ValueError("thrown"))
    except ValueError:
        pass
    task = asyncio.ensure_future(anext(async_generator(1)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
asyncio.run(main())

def busy():
    try:
        yield next(itself)
    except ValueError as error:
        yield str(error)
itself = hodo.carry(busy)()
assert list(itself) == ["generator already executing"]
""",
    )
    assert run.left_open == 0
    assert run.node("request", "generator")["count"] == 5
    assert run.node("request", "async generator")["count"] == 3


def test_variables_of_a_context_pass_between_a_carried_generator_and_its_reader(tmp_path: Path) -> None:
    serve(
        tmp_path,
        """
from contextvars import ContextVar

user, answer = ContextVar("user"), ContextVar("answer")

def generator():
    for i in range(2):
        token = user.set("inside")
        user.reset(token)
        answer.set(i)
        yield user.get()

user.set("a")
items = hodo.carry(generator)()
assert (next(items), answer.get()) == ("a", 0)
token = user.set("b")
assert (next(items), answer.get()) == ("b", 1)
user.reset(token)
assert user.get() == "a" and list(items) == []
""",
    )
