"""Loops that call back: their scopes stay open between one call and the next."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from hodo import _hodo
from hodo.hooks import Undo


class Loop:
    """The scopes of a training or evaluating loop: of a pass over the data, and of its steps.

    While it is the innermost of its thread, whoever fetches data opens the step that the data are
    for: so the wait is inside of it.
    """

    def __init__(
        self,
        name: str,
        index: int | None = None,
        *,
        is_called: bool = True,
        is_pass: bool = True,
        **attrs: Any,
    ) -> None:
        self.name = name
        self.is_called = is_called
        """Whether a framework calls back: it has the steps, and who fetches opens them for it."""
        self.next_step = 0
        """Index of the step that opens next."""
        # Without one of its own, its steps are inside of what is open.
        self._pass = _hodo.scope(name, index, **attrs) if is_pass else None
        self._step: Any = None
        self.is_open = False

    def open(self) -> None:
        """Begins the pass."""
        if self._pass is not None:
            self._pass.__enter__()
        self.is_open = True
        here.loops.append(self)
        for told in _when_passing:
            told()

    def step(self, index: int | None = None) -> Any:
        """The step's scope, opened unless it is."""
        if self._step is None:
            if index is not None:
                self.next_step = index
            self._step = _hodo.scope("step", self.next_step)
            self._step.__enter__()
        return self._step

    def step_end(self, error: BaseException | None = None) -> None:
        """Ends the step, if one is open."""
        step, self._step = self._step, None
        if step is not None:
            self.next_step += 1
            _leave(step, error)

    def mark(self, name: str, value: Any, kind: Any = "point") -> None:
        """A value of the step, or, outside of one or as a summary, of the pass."""
        on = self._step if self._step is not None and kind == "point" else self._pass
        (_hodo if on is None else on).mark(name, value, kind)

    def close(self, error: BaseException | None = None) -> None:
        """Ends the pass, with the step in it; again does nothing."""
        if not self.is_open:
            return
        self.is_open = False
        if self in here.loops:
            # Those inside were left without a word.
            while here.loops[-1] is not self:
                here.loops[-1].close(error)
            here.loops.pop()
        self.step_end(error)
        if self._pass is not None:
            _leave(self._pass, error)

    def fetch(self, items: Any) -> Any:
        """The next of ``items``, waited for in the step it is for; raises as ``next`` does."""
        is_new = self._step is None
        step = self.step()
        try:
            return wait(items)
        except StopIteration:
            if is_new and step is self._step:
                self._step = None
                step._cancel()
            raise


class Here(threading.local):
    """What is known of the thread that asks."""

    def __init__(self) -> None:
        self.loops: list[Loop] = []
        self.fetching = 0


here = Here()


def _in_forked_child() -> None:
    """A child is in none of its parent's loops."""
    here.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_in_forked_child)


_when_passing: list[Callable[[], None]] = []


def when_passing(told: Callable[[], None], undo: Undo) -> None:
    """Calls ``told`` whenever a pass begins, until it is undone."""
    _when_passing.append(told)
    undo.later(lambda: _when_passing.remove(told))


def innermost() -> Loop | None:
    """The loop that this thread is in, of those that call back."""
    loops = here.loops
    # Another thread may have closed it.
    while loops and not loops[-1].is_open:
        loops.pop()
    return loops[-1] if loops else None


def is_fetching() -> bool:
    """Whether this thread is waiting for data, in somebody's step."""
    return here.fetching > 0


class Fetching:
    """While it is entered, this thread is waiting for data."""

    def __enter__(self) -> None:
        here.fetching += 1

    def __exit__(self, *_: object) -> None:
        here.fetching -= 1


def wait(items: Any) -> Any:
    """The next of ``items``, waited for; raises as ``next`` does."""
    scope = _hodo.scope("data_wait")
    scope.__enter__()
    here.fetching += 1
    try:
        item = next(items)
    except StopIteration:
        scope._cancel()
        raise
    except BaseException as error:
        _leave(scope, error)
        raise
    finally:
        here.fetching -= 1
    _leave(scope, None)
    return item


def _leave(scope: Any, error: BaseException | None) -> None:
    scope.__exit__(None if error is None else type(error), error, None)
