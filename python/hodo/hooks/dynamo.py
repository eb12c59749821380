"""torch.compile: compiling is a scope, wherever a program comes to it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo
from hodo.hooks._compiled import hide
from hodo.hooks._spans import here


def _skip() -> Any:
    """The function by which torch leaves a function as it is; its home has changed."""
    from torch._dynamo import eval_frame

    try:
        return eval_frame.skip_code
    except AttributeError:
        from torch._C._dynamo.eval_frame import skip_code

        return skip_code


def install(undo: Undo, settings: Settings) -> None:
    """Shows when and for how long something is compiled; torch before 2.3 does not tell."""
    from torch._dynamo import callback

    hide(_skip())
    handler = callback.CompilationCallbackHandler
    told = getattr(handler, "install_callbacks", None)
    if told is None:
        return

    @contextlib.contextmanager
    @functools.wraps(told)
    def install_callbacks(self: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
        # One compilation leads to another: the outermost has the time.
        if undo.done or _hodo.levels_to("compile") is not None:
            with told(self, *args, **kwargs):
                yield
            return
        why = {"tag": args[0].name.lower()} if args and hasattr(args[0], "name") else {}
        with _hodo.scope("compile", **why), _tracing(), told(self, *args, **kwargs):
            yield

    undo.patch(handler, "install_callbacks", install_callbacks)


@contextlib.contextmanager
def _tracing() -> Iterator[None]:
    state = here.state
    before, state.is_tracing = state.is_tracing, True
    try:
        yield
    finally:
        state.is_tracing = before
