"""A slow, obvious model of scopes: what must be recorded, kept in an immutable context variable."""

from __future__ import annotations

import contextvars
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import runs
import hodo

_STACK: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("oracle", default=())


class Oracle:
    """Opens scopes with names that occur once, and knows the parent each of them must have."""

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self._numbers = itertools.count()

    def name(self, hint: str) -> str:
        return f"{hint}.{next(self._numbers)}"

    def open(self, hint: str) -> tuple[str, hodo.Scope]:
        stack = _STACK.get()
        name = self.name(hint)
        self.parents[name] = stack[-1] if stack else None
        _STACK.set((*stack, name))
        scope = hodo.scope(name)
        scope.__enter__()
        return name, scope

    def close(self, name: str, scope: hodo.Scope) -> None:
        scope.__exit__(None, None, None)
        _STACK.set(tuple(other for other in _STACK.get() if other != name))

    @contextmanager
    def scope(self, hint: str) -> Iterator[str]:
        name, scope = self.open(hint)
        try:
            yield name
        finally:
            self.close(name, scope)

    def check(self, dir: Path) -> None:
        """Every scope once, each under its parent."""
        recorded = runs.paths(dir)
        counts: Counter[str] = Counter()
        wrong = []
        for path, count in recorded.items():
            name = path[-1]
            if name in self.parents:
                counts[name] += count
                parent = path[-2] if len(path) > 1 else None
                if parent != self.parents[name]:
                    wrong.append((name, parent, self.parents[name]))
        missing = [name for name in self.parents if counts[name] != 1]
        assert not wrong, (len(wrong), wrong[:5])
        assert not missing, (len(missing), missing[:5])
