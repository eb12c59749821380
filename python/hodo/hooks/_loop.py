"""Loops that call back: their scopes stay open between one call and the next.

The program may raise from a handler of signals, as torch does when a worker has died: at the start of any
function of Python's and after any call. So what is noted of a scope is noted right before the call that makes
it so, and what ends scopes may be called again to do the rest.
"""

from __future__ import annotations

from asyncio import _get_running_loop, current_task
from typing import Any
from weakref import WeakKeyDictionary

from hodo import _hodo
from hodo.hooks._spans import State, here


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
        self.taken_for: dict[str, int] | None = None
        """Passes so far by their names, where that of this one is a guess."""
        # Without one of its own, its steps are inside of what is open.
        self._pass = _hodo.scope(name, index, **attrs) if is_pass else None
        self._step: Any = None
        self._around: Any = self._pass
        """What the steps are in."""
        self._is_data_open = False
        """Whether data that were fetched leave scopes open."""
        self._past_data: list[Any] = []
        """What keeps the scopes of the step out of those, and the step itself: see ``past_data``."""
        self.is_open = False
        self._is_over = False
        """Whether the scope of the pass was ended."""
        self._home: list[Loop] = here.state.loops
        """Those of the thread or task that opened it, which alone can end its scopes."""
        self._hooking = _hooking
        self._failure: type[BaseException] | None = None
        """Class of the exception that it was left by. Not the exception: that holds the frames it went
        through, and they the loader with its workers."""

    @property
    def is_here(self) -> bool:
        """Whether this thread or task opened it."""
        state = here.state
        # Written out, for every batch asks.
        return self._home is (state.loops if _get_running_loop() is None else _of_task(state))

    @property
    def is_stale(self) -> bool:
        """Whether it is of a hooking that was undone: its scopes are of a run that is over."""
        return self._hooking != _hooking

    def open(self) -> None:
        """Begins the pass."""
        innermost()
        self._home, self._hooking = loops_here(), _hooking
        self.is_open = True
        self._home.append(self)
        if self._pass is not None:
            self._pass.__enter__()
        else:
            self._around = _hodo.current()

    def turn_out(self, name: str, is_sure: bool = True) -> None:
        """It is a pass of this kind, whatever it was taken for."""
        counts = self.taken_for
        if is_sure:
            self.taken_for = None
        if counts is not None and name != self.name and not self.is_stale:
            index = counts.get(name, 0)
            counts[self.name] -= 1
            counts[name] = index + 1
            self.name = name
            if self._pass is not None:
                self._pass._rename(name, index)

    def step(self, index: int | None = None) -> Any:
        """The step's scope, opened unless it is."""
        if self._step is None:
            if index is not None:
                self.next_step = index
            if self._is_data_open:
                self._enter(self._around)
            self._step = _hodo.scope("step", self.next_step)
            self._step.__enter__()
        return self._step

    def past_data(self) -> None:
        """Data that were fetched have left scopes open, as a generator does that waits inside of one: what
        the step does is in the step all the same, and the next step where this one is."""
        self._is_data_open = True
        if self._step is not None:
            self._enter(self._step)

    def _enter(self, scope: Any) -> None:
        attached = _hodo.attach(scope)
        attached.__enter__()
        self._past_data.append(attached)

    def _leave_data(self) -> None:
        while self._past_data:
            self._past_data.pop().__exit__(None, None, None)

    def step_end(self, failure: type[BaseException] | None = None) -> None:
        """Ends the step, if one is open, with the loops inside, which were left without a word."""
        step = self._step
        if step is not None:
            loops = loops_here()
            while self in loops and loops[-1] is not self:
                loops[-1]._leave(failure)
                loops.pop()
            if self._past_data:
                self._leave_data()
            self.next_step += 1
            self._step = None
            step.__exit__(failure, None, None)

    def mark(self, name: str, value: Any, kind: Any = "point") -> None:
        """A value of the step, or, outside of one or as a summary, of the pass."""
        on = self._step if self._step is not None and kind == "point" else self._pass
        (_hodo if on is None else on).mark(name, value, kind)

    def close(self, error: BaseException | None = None) -> None:
        """Ends the pass, with the step in it; again does what is left of that.

        On another thread than its own it is over from now on; its scopes end when its own thread
        next looks at its loops.
        """
        if self.is_open:
            self.is_open, self._failure = False, None if error is None else error.__class__
        if self.is_here:
            self._end()

    def _end(self) -> None:
        """Ends the scopes, with those of the loops inside."""
        loops = loops_here()
        while self in loops:
            loops[-1]._leave(self._failure)
            loops.pop()

    def _leave(self, failure: type[BaseException] | None) -> None:
        self.is_open = False
        if self.is_stale:
            return
        self.step_end(failure)
        if self._pass is not None and not self._is_over:
            self._is_over = True
            self._pass.__exit__(failure, None, None)

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
                self._leave_data()
            raise


_hooking = 0


def forget() -> None:
    """All loops are of a hooking that is undone now, those of other threads too."""
    global _hooking
    _hooking += 1


def loops_here() -> list[Loop]:
    """The loops of the task that runs on this thread; of the thread where none does."""
    state = here.state
    return state.loops if _get_running_loop() is None else _of_task(state)


def _of_task(state: State) -> list[Loop]:
    task = current_task()
    if task is None:
        return state.loops
    if state.tasks is None:
        state.tasks = WeakKeyDictionary()
    return state.tasks.setdefault(task, [])


def innermost() -> Loop | None:
    """The loop that this thread is in, of those that call back."""
    loops = loops_here()
    # Another thread may have closed it.
    while loops and (not loops[-1].is_open or loops[-1].is_stale):
        loops[-1]._end()
    return loops[-1] if loops else None


def is_fetching() -> bool:
    """Whether this thread is waiting for data, in somebody's step."""
    return here.state.fetching > 0


class Evaluating:
    """While it is entered, a framework evaluates on this thread, whatever the mode of its model."""

    def __enter__(self) -> None:
        here.state.evaluating += 1

    def __exit__(self, *_: object) -> None:
        here.state.evaluating -= 1


class Fetching:
    """While it is entered, this thread is waiting for data."""

    def __enter__(self) -> None:
        here.state.fetching += 1

    def __exit__(self, *_: object) -> None:
        here.state.fetching -= 1


def wait(items: Any) -> Any:
    """The next of ``items``, waited for; raises as ``next`` does."""
    scope = _hodo.scope("data_wait")
    state = here.state
    before = state.fetching
    try:
        scope.__enter__()
        state.fetching = before + 1
        item = next(items)
        is_left_open = _hodo.levels_to("data_wait") != 0
    except StopIteration:
        scope._cancel()
        raise
    except BaseException as error:
        scope.__exit__(error.__class__, error, None)
        raise
    finally:
        state.fetching = before
    scope.__exit__(None, None, None)
    if is_left_open:
        loop = innermost()
        if loop is not None:
            loop.past_data()
    return item
