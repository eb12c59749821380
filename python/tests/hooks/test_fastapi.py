"""Requests of a FastAPI application, and of Starlette below it."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import record


def test_starlette_and_fastapi(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    run = record(
        tmp_path,
        """
        import asyncio, httpx, hodo
        from fastapi import FastAPI
        from fastapi.responses import StreamingResponse
        from hodo.asgi import Middleware

        hodo.init(app="web", gpu="off")
        app = FastAPI()
        app.add_middleware(Middleware)

        async def tokens(n):
            for i in range(n):
                with hodo.scope("token"):
                    await asyncio.sleep(0)
                yield f"{i} "

        @app.get("/answer/{n}")
        @hodo.inference(model="small")
        async def answer(n: int):
            return StreamingResponse(tokens(n))

        @app.get("/plain")
        @hodo.inference
        def plain(x: int = 0):
            return {"x": x, "usage": {"completion_tokens": 5}}

        @app.get("/sync/{n}")
        @hodo.inference
        def sync(n: int):
            return StreamingResponse(str(i) for i in range(n))

        async def main():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                assert (await client.get("/answer/3")).text == "0 1 2 "
                assert (await client.get("/plain", params={"x": 4})).json()["x"] == 4
                assert (await client.get("/sync/4")).text == "0123"
                assert (await client.get("/answer/no")).status_code == 422

        asyncio.run(main())
        """,
    )
    assert run.tree == "http 4\n  request 3\n    token 3"
    assert run.left_open == 0
    marks = run.marks("http", "request")
    assert marks["output_tokens"]["count"] == 3 and marks["output_tokens"]["max"] == 5
    assert marks["time_to_first_token_ms"]["count"] == 2
    assert {attrs["status"] for attrs in run.attributes("http")} == {200, 422}
