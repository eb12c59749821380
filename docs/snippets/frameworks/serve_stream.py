"""A model server: each request is a scope, with the time to its first token and its tokens as marks."""

import asyncio

import hodo

hodo.init(app="server")


@hodo.inference(model="small")
async def complete(prompt):
    with hodo.scope("prefill"):
        await asyncio.sleep(0.002)
    for word in prompt.split():
        with hodo.scope("decode"):
            await asyncio.sleep(0.001)
        yield word


async def read(prompt):
    return [word async for word in complete(prompt)]


async def main():
    await asyncio.gather(*(read("three words each") for _ in range(10)))


asyncio.run(main())
