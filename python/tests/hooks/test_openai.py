"""Answers of OpenAI's own client, from a server that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import record

pytest.importorskip("openai")

START = """
import asyncio, json
import httpx, hodo, openai
hodo.init(app="client", gpu="off")

USAGE = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21,
         "prompt_tokens_details": {"cached_tokens": 4}}

def chunk(delta, usage=None):
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": None}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": usage}

def server(request):
    asked = json.loads(request.content)
    message = {"role": "assistant", "content": "hello there"}
    if not asked.get("stream"):
        whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": USAGE,
                 "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return httpx.Response(200, json=whole)
    parts = [chunk({"role": "assistant", "content": ""}), chunk({"content": "hello"}), chunk({"content": " there"})]
    if asked.get("stream_options"):
        parts.append(chunk({}, USAGE))
    lines = [f"data: {json.dumps(part)}\\n\\n" for part in parts] + ["data: [DONE]\\n\\n"]
    return httpx.Response(200, text="".join(lines), headers={"content-type": "text/event-stream"})

client = openai.OpenAI(api_key="none", base_url="http://here",
                       http_client=httpx.Client(transport=httpx.MockTransport(server)))
async_client = openai.AsyncOpenAI(api_key="none", base_url="http://here",
                                  http_client=httpx.AsyncClient(transport=httpx.MockTransport(server)))
ASKED = dict(model="m", messages=[{"role": "user", "content": "hi"}])
"""


def test_answers_and_streams(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def ask(**more):
    return client.chat.completions.create(**ASKED, **more)

@hodo.inference
async def ask_async(**more):
    return await async_client.chat.completions.create(**ASKED, **more)

with hodo.scope("whole"):
    assert ask().choices[0].message.content == "hello there"
with hodo.scope("stream"):
    answer = ask(stream=True)
    assert isinstance(answer, openai.Stream) and answer.response.status_code == 200
    assert "".join(part.choices[0].delta.content or "" for part in answer) == "hello there"
with hodo.scope("counted"):
    with ask(stream=True, stream_options={"include_usage": True}) as answer:
        assert len(list(answer)) == 4
with hodo.scope("left"):
    with ask(stream=True) as answer:
        next(answer)

async def main():
    with hodo.scope("async"):
        async with await ask_async(stream=True) as answer:
            assert isinstance(answer, openai.AsyncStream)
            assert len([part async for part in answer]) == 3
asyncio.run(main())
""",
    )
    assert run.left_open == 0
    usage = {"input_tokens": 9, "output_tokens": 12, "total_tokens": 21, "cached_tokens": 4}
    assert run.tokens("whole") == run.tokens("counted") == usage
    assert run.tokens("stream") == run.tokens("async") == {"output_tokens": 2}
    assert run.tokens("left") == {"output_tokens": 0}, "it has only said who speaks"
    assert "closed_early" in run.marks("left", "request")


def test_a_manager_of_a_stream(tmp_path: Path) -> None:
    run = record(
        tmp_path,
        START
        + """
@hodo.inference
def ask():
    return client.chat.completions.stream(**ASKED)

@hodo.inference
def ask_async():
    return async_client.chat.completions.stream(**ASKED)

with hodo.scope("sync"):
    with ask() as events:
        assert len(list(events)) > 3
        assert events.get_final_completion().choices[0].message.content == "hello there"

async def main():
    async with ask_async() as events:
        assert len([event async for event in events]) > 3
with hodo.scope("async"):
    asyncio.run(main())
""",
    )
    assert run.left_open == 0
    for name in ("sync", "async"):
        marks = run.marks(name, "request")
        assert marks["output_tokens"]["last"] == 2 and "closed_early" not in marks
