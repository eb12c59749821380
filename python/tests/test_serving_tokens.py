"""What is counted of a request, and who counted it."""

from __future__ import annotations

from pathlib import Path

from helpers import serve


def test_usage_is_found_in_objects_dicts_and_streams(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
from types import SimpleNamespace as Of

class Bad:
    @property
    def usage(self):
        raise RuntimeError("not yet")

def chunk(content, usage=None):
    return Of(choices=[Of(delta=Of(content=content, role="assistant"))], usage=usage)

@hodo.inference
def answer(what):
    return what

@hodo.inference
def chat():
    time.sleep(0.001)
    yield chunk(None)                    # says only who speaks
    time.sleep(0.03)
    for text in ("a", "b", "c"):
        yield chunk(text)
    yield Of(choices=[], usage=Of(prompt_tokens=11, completion_tokens=30, total_tokens=41))

with hodo.scope("object"):
    answer(Of(usage=Of(prompt_tokens=5, completion_tokens=6, total_tokens=11,
                       prompt_tokens_details=Of(cached_tokens=4), completion_tokens_details=None)))
with hodo.scope("responses"):
    answer({"usage": {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}}})
with hodo.scope("none"):
    for what in (Bad(), None, 5, "usage", {"usage": None}, {"usage": {"prompt_tokens": "3"}}, [1], object):
        assert answer(what) is what
with hodo.scope("chat"):
    assert len(list(chat())) == 5
with hodo.scope("no usage"):
    assert len([c for c in answer(iter([chunk(""), chunk("x"), {"choices": [{"text": "y"}]}, ""]))]) == 4
with hodo.scope("given"):
    @hodo.inference
    def counted():
        hodo.tokens(output=100)
        hodo.tokens(output=1, input=2)
        return {"usage": {"completion_tokens": 7}}
    counted()
hodo.tokens(output=5)                    # outside of requests
for bad in (-1, 1.5, True, "3"):
    try:
        hodo.tokens(output=bad)
        raise SystemExit("took it")
    except ValueError:
        pass
""",
    )
    assert run.tokens("object") == {
        "input_tokens": 5, "output_tokens": 6, "total_tokens": 11, "cached_tokens": 4,
    }
    assert run.tokens("responses") == {
        "input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "reasoning_tokens": 1,
    }
    assert run.tokens("none") == {}, "not captured is not 0"
    assert run.tokens("chat") == {"input_tokens": 11, "output_tokens": 30, "total_tokens": 41}
    assert run.marks("chat", "request")["time_to_first_token_ms"]["last"] >= 31
    assert run.tokens("no usage") == {"output_tokens": 2}
    assert run.tokens("given") == {"output_tokens": 101, "input_tokens": 2, "total_tokens": 103}


def test_parts_of_responses_and_of_server_sent_events(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
@hodo.inference
def answer(*parts):
    for part in parts:
        time.sleep(0.02)
        yield part

def event(kind, **more):
    return {"type": f"response.{kind}", **more}

with hodo.scope("responses"):
    list(answer(
        event("created", response={"id": "r", "usage": None}), event("in_progress", response={"id": "r"}),
        event("output_text.delta", delta="Hel"), event("output_text.delta", delta=""),
        event("function_call_arguments.delta", delta="{"), event("output_text.done", text="Hel"),
        event("completed", response={"id": "r"}),
    ))
with hodo.scope("with usage"):
    list(answer(
        event("created", response={}), event("output_text.delta", delta="Hi"),
        event("completed", response={"usage": {"input_tokens": 5, "output_tokens": 2}}),
    ))
with hodo.scope("sse"):
    list(answer(
        ": ping\\n\\n",
        'data: {"choices":[{"delta":{"role":"assistant"}}]}\\n\\n',
        'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n',
        b'event: message\\r\\ndata: {"choices":[{"delta":{"content":"!"}}]}\\r\\n\\r\\n',
        'data: {"choices":[],"usage":{"prompt_tokens":7}}',
        "data: [DONE]\\n\\n",
    ))
with hodo.scope("plain events"):
    list(answer("data: one\\n\\n", "data:\\n\\n", "event: end\\n\\n"))
with hodo.scope("words"):
    # Of these none is an event, though all begin as one.
    list(answer("data:", " x", ":", "id: 5", "data: {broken", ""))
""",
    )
    assert run.tokens("responses") == {"output_tokens": 2}
    assert run.marks("responses", "request")["time_to_first_token_ms"]["last"] >= 60
    assert run.tokens("with usage") == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert run.tokens("sse") == {"output_tokens": 2, "input_tokens": 7, "total_tokens": 9}
    assert run.marks("sse", "request")["time_to_first_token_ms"]["last"] >= 60
    assert run.tokens("plain events") == {"output_tokens": 1}
    assert run.tokens("words") == {"output_tokens": 5}


def test_numbers_of_numpy_and_coroutines_of_types(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
import types

class Whole:
    "As of numpy: a whole number that is no int."
    def __index__(self): return 3

class Items:
    left = 2
    def __aiter__(self): return self
    @types.coroutine
    def __anext__(self):
        yield from asyncio.sleep(0).__await__()
        self.left -= 1
        if self.left < 0: raise StopAsyncIteration
        return self.left

class Broken(Items):
    def __anext__(self): return 5

@hodo.inference
def counted():
    hodo.tokens(output=Whole())

@hodo.inference
def items(kind=Items): return kind()

async def main():
    assert [item async for item in items()] == [1, 0]
    try:
        [item async for item in items(Broken)]
        raise SystemExit("not raised")
    except TypeError as error:
        assert "int" in str(error) and "await" in str(error)
with hodo.scope("counted"):
    counted()
asyncio.run(main())
""",
    )
    assert run.marks("counted", "request")["output_tokens"]["last"] == 3
    assert run.attributes("request")[-1]["error"] == "TypeError"


def test_tokens_of_several_threads_all_count(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
@hodo.inference
def answer():
    def work():
        for _ in range(100):
            hodo.tokens(input=2, output=1)
    threads = [threading.Thread(target=hodo.carry(work)) for _ in range(4)]
    for each in threads: each.start()
    for each in threads: each.join()

def others_run(frame, event, what):
    "After every instruction of what adds."
    if frame.f_code.co_name == "add":
        frame.f_trace_opcodes = True
        time.sleep(0)
        return others_run

threading.settrace(others_run)
answer()
""",
    )
    marks = run.marks("request")
    assert (marks["input_tokens"]["last"], marks["output_tokens"]["last"]) == (800, 400)


def test_events_that_clients_make_of_a_stream_count_once(tmp_path: Path) -> None:
    run = serve(
        tmp_path,
        """
from types import SimpleNamespace as Of

@hodo.inference
def answer(*parts):
    yield from parts

def chunk(content, usage=None):
    made = Of(choices=[Of(delta=Of(content=content))] if usage is None else [], usage=usage)
    return Of(type="chunk", chunk=made, snapshot=Of(usage=None))

with hodo.scope("chat"):
    list(answer(
        chunk(None), chunk("a"), Of(type="content.delta", delta="a", snapshot="a"),
        chunk("b"), Of(type="content.delta", delta="b", snapshot="ab"), Of(type="content.done", content="ab"),
    ))
with hodo.scope("chat with usage"):
    list(answer(chunk("a"), chunk(None, Of(prompt_tokens=4, completion_tokens=6))))
with hodo.scope("messages"):
    list(answer(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "text", "text": "hi", "snapshot": "hi"},
        {"type": "content_block_stop"}, {"type": "message_delta", "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ))
with hodo.scope("own"):
    list(answer({"type": "text", "text": "hi"}, {"type": "token"}))
""",
    )
    assert run.tokens("chat") == {"output_tokens": 2}
    assert run.tokens("chat with usage") == {"input_tokens": 4, "output_tokens": 6, "total_tokens": 10}
    assert run.tokens("messages") == {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    assert run.tokens("own") == {"output_tokens": 2}
