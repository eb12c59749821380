"""A program's run, read back with its attributes and marks."""

from __future__ import annotations

import json
import subprocess
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import runs

# The end of a program in which every scope was closed once, by whom it should be.
WELL = """
health = hodo.health()
counters = ("out_of_order", "double_closed", "wrong_thread", "internal_errors", "lost_records")
wrong = {key: health[key] for key in counters if health[key]}
assert not wrong, wrong
"""

SERVER = """
import asyncio, contextlib, gc, inspect, io, os, pickle, sys, threading, time
import hodo
hodo.init(app="serving", gpu="off")
"""

# A function of each kind to be decorated, with scopes by the name `scope`; what sends into a generator to its end.
KINDS = """
import asyncio

def plain(x):
    "What it says."
    with scope("model"):
        return {"text": "hi", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}

def stream(n):
    for i in range(n):
        with scope("token"):
            received = yield i
    return received

async def coroutine(x):
    async def part():
        with scope("part"):
            await asyncio.sleep(0)
    await asyncio.gather(part(), part())
    return x

async def async_stream(n):
    for i in range(n):
        await asyncio.sleep(0)
        received = yield i
        assert received == ("s" if i == 0 else None)

def drive(generator):
    got = [next(generator)]
    try:
        while True:
            got.append(generator.send("s"))
    except StopIteration as stop:
        return got, stop.value

async def drive_async(generator):
    got = [await anext(generator), await generator.asend("s")]
    return got + [item async for item in generator]
"""

# What client libraries answer with: streams that are no generators.
STREAMS = """
import asyncio

class Stream:
    response_id, closed = "r-1", 0
    def __init__(self, *parts): self.left = list(parts)
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        return self.left.pop(0)
    def __enter__(self): return self
    def __exit__(self, *raised): self.close()
    def close(self): Stream.closed += 1

class AsyncStream:
    response_id, closed = "r-2", 0
    def __init__(self, *parts): self.left = list(parts)
    def __aiter__(self): return self
    async def __anext__(self):
        await asyncio.sleep(0)
        if not self.left: raise StopAsyncIteration
        return self.left.pop(0)
    async def __aenter__(self): return self
    async def __aexit__(self, *raised): await self.close()
    async def close(self): AsyncStream.closed += 1
"""


class Run:
    """The newest run in a folder, and what the program that made it printed."""

    def __init__(self, dir: Path, output: str = "", errors: str = "") -> None:
        self.dir, self.output, self.errors = dir, output, errors

    @cached_property
    def report(self) -> dict[str, Any]:
        """``hodo report --json``."""
        return runs.report(self.dir)

    @property
    def tree(self) -> str:
        """Every path of scopes on a line, indented, with its count; siblings by name."""
        nodes = sorted(self.report["nodes"], key=lambda node: node["path"])
        lines = ["  " * node["depth"] + f"{node['name']} {node['count']}" for node in nodes]
        return "\n".join(lines)

    def node(self, *path: str) -> dict[str, Any]:
        """The numbers of the scopes on a path."""
        return next(node for node in self.report["nodes"] if node["path"] == list(path))

    def marks(self, *path: str) -> dict[str, dict[str, Any]]:
        """The marks of the scopes on a path, by name; those outside all scopes for no path."""
        marks = self.node(*path)["marks"] if path else self.report["marks_outside_scopes"]
        return {mark["name"]: mark for mark in marks if mark["name"] != "hodo.overhead"}

    def tokens(self, name: str) -> dict[str, float]:
        """What was counted of the request in the scope of a name."""
        marks = self.marks(name, "request")
        return {mark: marks[mark]["last"] for mark in marks if mark.endswith("_tokens")}

    @property
    def left_open(self) -> int:
        """Scopes that nobody closed."""
        return sum(node["open"] for node in self.report["nodes"])

    @cached_property
    def _spans(self) -> list[dict[str, Any]]:
        command = [str(runs.PROGRAM), "export", "--to", "chrome", "--dir", str(self.dir)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        # A scope that belongs to no thread is a pair of events, and the first has all there is.
        kinds = ("X", "b")
        events = json.loads(done.stdout)["traceEvents"]
        spans = [event for event in events if event["ph"] in kinds]
        return sorted(spans, key=lambda span: float(span["ts"]))

    def attributes(self, name: str) -> list[dict[str, Any]]:
        """Index and attributes of the scopes of a name, in order of their start."""
        own = ("cpu_ns", "hodo.overhead", "hodo.scope_id", "hodo.parent_id", "failed")
        named = [span.get("args", {}) for span in self._spans if span["name"] == name]
        return [{k: v for k, v in args.items() if k not in own} for args in named]


def record(dir: Path, code: str, *args: str, **env: Any) -> Run:
    """Runs ``code`` as a program; what it recorded."""
    ended = runs.run(dir, code, *args, **env)
    return Run(dir, ended.out, ended.err)


def serve(dir: Path, code: str, *args: str) -> Run:
    """Runs ``code`` as a server, in which every scope is closed once; what it recorded."""
    return record(dir, SERVER + code + WELL, *args)


def plugin() -> list[str]:
    """Arguments that make pytest load the plugin, where no installed package does."""
    known = any(entry.name == "hodo" for entry in entry_points(group="pytest11"))
    return [] if known else ["-p", "hodo.pytest_plugin"]
