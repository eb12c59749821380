"""A server of asyncio tasks: every scope has its own task's scope as parent, however they mix."""

from __future__ import annotations

import asyncio
import random

import hodo

rng = random.Random(7)


async def query(table: str) -> int:
    async with hodo.scope("query", table=table):
        await asyncio.sleep(rng.uniform(0.001, 0.005))
        return len(table)


@hodo.scope("render")
async def render(rows: int) -> str:
    await asyncio.sleep(0.001)
    return "row " * rows


async def handle(number: int) -> str:
    with hodo.scope("request", index=number) as request:
        # Tasks started here are inside the request too.
        users, orders = await asyncio.gather(query("users"), query("orders"))
        page = await render(users + orders)
        request.set(bytes=len(page))
        if number % 10 == 7:
            raise LookupError(f"request {number}")
        return page


async def main(requests: int = 20) -> None:
    tasks = [asyncio.create_task(handle(number)) for number in range(requests)]
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    failed = sum(isinstance(answer, LookupError) for answer in answers)
    print(f"{len(answers)} requests, {failed} failed")


if __name__ == "__main__":
    hodo.init(app="asyncio_server")
    asyncio.run(main())
