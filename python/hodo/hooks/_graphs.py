"""CUDA graphs of torch: capturing one and launching it are scopes."""

from __future__ import annotations

import functools
from typing import Any

from hodo import _hodo
from hodo.hooks import Undo
from hodo.hooks._spans import Spans


def install(torch: Any, spans: Spans, undo: Undo) -> None:
    """Hooks captures and replays."""
    graphs = torch.cuda.graphs
    replay = graphs.CUDAGraph.replay
    enter, leave = graphs.graph.__enter__, graphs.graph.__exit__

    @functools.wraps(replay)
    def replayed(self: Any) -> Any:
        if undo.done:
            return replay(self)
        with spans.open("graph_replay"):
            return replay(self)

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        spans.events.captures += 1
        self._hodo = None if undo.done else _hodo.scope("graph_capture").__enter__()
        try:
            return enter(self)
        except BaseException as error:
            done(self, error)
            raise

    @functools.wraps(leave)
    def __exit__(self: Any, *args: Any) -> Any:
        try:
            return leave(self, *args)
        finally:
            done(self, args[1] if len(args) > 1 else None)

    def done(graph: Any, error: Any) -> None:
        scope = graph.__dict__.pop("_hodo", None)
        if scope is not None:
            scope.__exit__(None if error is None else type(error), error, None)
        spans.events.captures = max(0, spans.events.captures - 1)

    undo.patch(graphs.CUDAGraph, "replay", replayed)
    undo.patch(graphs.graph, "__enter__", __enter__)
    undo.patch(graphs.graph, "__exit__", __exit__)
