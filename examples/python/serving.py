"""A server that streams: every request with its tokens, its time to the first of them, and its caller."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import hodo

rng = random.Random(7)


@hodo.inference(model="parrot")
async def complete(prompt: str) -> AsyncIterator[str]:
    with hodo.scope("prefill"):
        await asyncio.sleep(rng.uniform(0.001, 0.005))
    hodo.tokens(input=len(prompt.split()))
    for word in prompt.split():
        with hodo.scope("decode"):
            await asyncio.sleep(rng.uniform(0.0005, 0.002))
        yield word


async def client(number: int) -> int:
    words = 0
    async for _ in complete("a parrot says what it hears"):
        words += 1
        # Some hear enough after a word or two, which ends their request.
        if number % 5 == 0 and words == 2:
            break
    return words


async def main(clients: int = 20) -> None:
    with hodo.scope("server"):
        words = await asyncio.gather(*(client(number) for number in range(clients)))
    print(f"{clients} requests, {sum(words)} words")


if __name__ == "__main__":
    hodo.init(app="serving")
    asyncio.run(main())
