"""The ``%%hodo`` magic: a cell in a scope, and the report of what it did."""

from __future__ import annotations

import ast
import importlib
import shlex
from typing import Any

import hodo

USAGE = "%%hodo [name] [key=value ...]"


def load(ipython: Any) -> None:
    """Gives the shell its ``%%hodo`` magic; ``%load_ext hodo`` calls this."""

    def magic(line: str, cell: str) -> None:
        """Run the cell in a scope and show where its time went.

        %%hodo [name] [key=value ...]
        """
        _run(ipython, line, cell)

    ipython.register_magic_function(magic, magic_kind="cell", magic_name="hodo")


def _run(ipython: Any, line: str, cell: str) -> None:
    name, attrs = parse(line)
    if not hodo.is_on():
        hodo.init("notebook")
    with hodo.scope(name or "cell") as scope:
        scope.set(**attrs)
        result = ipython.run_cell(cell)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            scope.fail(error)
    _show(scope)


def parse(line: str) -> tuple[str | None, dict[str, Any]]:
    """The name and the attributes that the magic's line gives."""
    name: str | None = None
    attrs: dict[str, Any] = {}
    for word in shlex.split(line):
        key, equals, value = word.partition("=")
        if equals and key.isidentifier():
            attrs[key] = _value(value)
        elif name is None:
            name = word
        else:
            raise ValueError(f"{word!r} is a second name; it is {USAGE}")
    return name, attrs


def _value(text: str) -> Any:
    """A number or another literal of Python's, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _show(scope: hodo.Scope) -> None:
    display: Any = importlib.import_module("IPython.display").display
    if scope.id is None:
        display(_Text("not recorded: " + str(hodo.health()["degraded"] or "recording is off")))
        return
    try:
        from hodo._trace import trace
    except ImportError:
        display(_Text(f"recorded: hodo report {hodo.health()['run']}"))
    else:
        display(trace(scope=scope.id))


class _Text:
    """A line of text, shown as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
