"""An ASGI application: the middleware gives each HTTP request a scope, around what it calls."""

import asyncio

import hodo
from hodo.asgi import Middleware

hodo.init(app="web")


@hodo.inference
async def answer(question):
    with hodo.scope("model"):
        await asyncio.sleep(0.001)
    return {"text": "42", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


async def app(scope, receive, send):
    said = await answer("why?")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said["text"].encode()})


async def browse():
    async def receive():
        return {"type": "http.request"}

    async def send(event):
        pass

    for path in ("/v1/answer", "/v1/answer", "/health"):
        request = {"type": "http", "method": "POST", "path": path, "headers": []}
        await Middleware(app, skip=["/health"])(request, receive, send)


asyncio.run(browse())
