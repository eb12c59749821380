"""joblib, which scikit-learn works in parallel with: its threads and processes join the run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from hodo import _children, _estimators, _hodo
from hodo.hooks import Settings, Undo


def install(undo: Undo, settings: Settings) -> None:
    """Makes every task run in the scope that asked for it."""
    parallel = sys.modules["joblib.parallel"].Parallel
    run = parallel.__call__

    @functools.wraps(run)
    def __call__(self: Any, iterable: Iterable[Any]) -> Any:
        if undo.done or not _estimators.is_recorded() or not _is_here(self):
            return run(self, iterable)
        link = _hodo.current()
        tasks = ((Task(function, link), args, kwargs) for function, args, kwargs in iterable)
        # Of a list the length is known, which some progress bars show.
        return run(self, list(tasks) if isinstance(iterable, (list, tuple)) else tasks)

    undo.patch(parallel, "__call__", __call__)


def _is_here(parallel: Any) -> bool:
    """Whether the tasks run on this machine: the workers of a cluster's backend may have no hodo."""
    backend = getattr(parallel, "_backend", None)
    return type(backend).__module__.startswith("joblib.")


class Task:
    """A function that runs in the scope it was handed out in, also on another thread.

    In another process it is the function, and the process records into the run meanwhile.
    """

    def __init__(self, function: Callable[..., Any], link: _hodo.Link) -> None:
        self._function = function
        self._link = link
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _hodo.attach(self._link):
            return _estimators.in_task(self._function, args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_in_process, (self._function, _children.child_env().get("HODO_RUN")))


def _in_process(function: Callable[..., Any], run: str | None) -> Callable[..., Any]:
    _children.join(run, None)
    return _estimators.Task(function)
