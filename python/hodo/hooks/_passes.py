"""Which backward pass a thread of autograd's own works for.

Autograd works on a device by one thread, which all passes share. With several passes at once only the
number that torch gives each of its runs tells them apart, and only its own threads are told that.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

from hodo import _hodo
from hodo.hooks._compiled import compiling
from hodo.hooks._spans import here


@functools.cache
def passes_of(torch: Any) -> Passes:
    """Those of the process."""
    passes = Passes(torch)
    # A child is in none of its parent's.
    os.register_at_fork(after_in_child=passes.clear)
    return passes


class Passes:
    """The scopes of the backward passes that run, the oldest first."""

    def __init__(self, torch: Any) -> None:
        # Before torch 2.0 there is none.
        self._task = getattr(torch._C, "_current_graph_task_id", None)
        self._is_compiling = compiling(torch)
        self._running: list[_hodo.Link] = []
        self._by_task: dict[int, _hodo.Link] = {}

    def clear(self) -> None:
        self._running.clear()
        self._by_task.clear()

    def run(self, own: _hodo.Link, run: Any, args: Any, kwargs: Any) -> Any:
        """Runs a pass that has a scope."""
        running = self._running
        try:
            running.append(own)
            # Alone, nobody has to ask.
            return run(*args, **kwargs) if len(running) == 1 else self._told(own, run, args, kwargs)
        finally:
            # A signal may have come before it was there.
            if own in running:
                running.remove(own)
            if self._by_task:
                self._forget(own)

    def run_inside(self, around: _hodo.Link, run: Any, args: Any, kwargs: Any) -> Any:
        """Runs a pass that another one makes, and that is of the same scope."""
        if len(self._running) == 1:
            return run(*args, **kwargs)
        return self._told(around, run, args, kwargs)

    def of_thread(self) -> _hodo.Link | None:
        """The pass that this thread works for; None where it is not one of autograd's, as threads of other kinds
        that are not Python's own either. Without numbers, nothing tells those apart."""
        running = self._running
        if not running:
            return None
        task = -2 if self._task is None else self._task()
        if task == -1:
            return None
        # Every pass that began beside another is known by its number, so one that is not is the oldest.
        try:
            return self._by_task.get(task) or running[0]
        except IndexError:
            return None

    def _told(self, own: _hodo.Link, run: Any, args: Any, kwargs: Any) -> Any:
        """Runs a pass whose number is noted as soon as it has one: where its first nodes are run."""
        if self._task is None:
            return run(*args, **kwargs)
        task, by_task, is_compiling = self._task, self._by_task, self._is_compiling

        def note(_: Any) -> None:
            # A pass that is compiled has this in its graph, and must see nothing of it.
            if is_compiling() or own not in self._running:
                return
            # A pass of another thread may begin with the same nodes.
            state = here.state
            if state.backward is own or state.is_foreign:
                by_task[task()] = own

        handles: list[Any] = []
        try:
            handles.extend(node.register_prehook(note) for node in _roots(args, kwargs))
            return run(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()

    def _forget(self, own: _hodo.Link) -> None:
        for task, scope in list(self._by_task.items()):
            if scope is own:
                self._by_task.pop(task, None)


def _roots(args: Any, kwargs: Any) -> list[Any]:
    """The nodes that a pass begins with, of the arguments of ``autograd.backward`` or ``autograd.grad``."""
    given = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
    try:
        # An edge of the graph is a tuple, and a tensor can be gone through.
        is_one = hasattr(given, "node") or hasattr(given, "grad_fn")
        # What can be gone through only once is torch's to go through.
        is_several = not is_one and isinstance(given, Iterable) and iter(given) is not given
        nodes = [_node(each) for each in (given if is_several else (given,))]
    except Exception:
        # A tensor of the program's own class may raise anything.
        return []
    return [node for node in nodes if hasattr(node, "register_prehook")]


def _node(root: Any) -> Any:
    """That of a tensor, or of an edge."""
    return getattr(root, "grad_fn", None) or getattr(root, "node", None)
