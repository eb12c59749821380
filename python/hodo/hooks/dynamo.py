"""torch.compile: scopes are nothing while it compiles, and compiling is a scope."""

from __future__ import annotations

from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo


def install(undo: Undo, settings: Settings) -> None:
    """Shows when and for how long something is compiled."""
    from torch._dynamo import callback

    handler = callback.callback_handler
    open_scopes: list[Any] = []

    def started(*_: Any) -> None:
        scope = _hodo.scope("compile")
        scope.__enter__()
        open_scopes.append(scope)

    def ended(*_: Any) -> None:
        if open_scopes:
            open_scopes.pop().__exit__(None, None, None)

    handler.register_start_callback(started)
    handler.register_end_callback(ended)
    undo.later(lambda: handler.remove_start_callback(started))
    undo.later(lambda: handler.remove_end_callback(ended))
