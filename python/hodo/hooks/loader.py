"""torch's DataLoader: a pass over it is an epoch, each batch a step, the wait for it ``data_wait``."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from opcode import opmap
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _loop
from hodo.hooks._spans import here

_FOR_ITER = opmap["FOR_ITER"]
# Scopes inside of which nothing is trained, of hooks and of programs.
EVALUATIONS = ("evaluate", "predict", "validate", "test")


def install(undo: Undo, settings: Settings) -> None:
    """Hooks every class of loaders, and what their workers do."""
    from torch.utils.data import DataLoader

    make = DataLoader.__init__

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        if not undo.done:
            kinds = type(self).__mro__
            hook(undo, *kinds[: kinds.index(DataLoader)])

    undo.patch(DataLoader, "__init__", __init__)
    hook(undo, DataLoader)
    _workers(undo)


def hook(undo: Undo, *kinds: type) -> None:
    """Makes passes over loaders of these classes have scopes, if they are not hooked."""
    for kind in kinds:
        begin = vars(kind).get("__iter__")
        if begin is not None and getattr(begin, "_hodo", None) is not undo:
            undo.patch(kind, "__iter__", _iterating(begin, undo))


def _iterating(begin: Any, undo: Undo) -> Any:
    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:
        # A loader that asks another for its items, or the class above, has one pass, not two.
        if undo.done or _loop.is_fetching() or _is_starting(self):
            return begin(self)
        return Pass(_begun(self, begin), _passes.setdefault(self, {}))

    __iter__._hodo = undo  # type: ignore[attr-defined]
    return __iter__


_passes: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""How often each loader was gone over, by what for."""


def _is_starting(loader: Any) -> bool:
    return _starting.loader is loader


class _Starting(threading.local):
    """The loader that is being iterated over, while its class asks the one above."""

    loader: Any = None


_starting = _Starting()


def _begun(loader: Any, begin: Any) -> Any:
    """A loader's own iterator; its workers, if it starts any, are inside a scope of its own."""
    before, _starting.loader = _starting.loader, loader
    try:
        if not getattr(loader, "num_workers", 0):
            return begin(loader)
        with _hodo.scope("loader", workers=loader.num_workers):
            return begin(loader)
    finally:
        _starting.loader = before


class Pass:
    """One pass over a loader, instead of the iterator it has."""

    def __init__(self, items: Any, passes: dict[str, int]) -> None:
        self._items = items
        self._passes = passes
        self._loop: _loop.Loop | None = None
        self._next: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Whoever asks for the iterator's class means what is in here.
        return type(self._items)

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self._items)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._items, name)

    def __next__(self) -> Any:
        if self._next is None:
            self._next = self._chosen(_is_for_loop(sys._getframe(1)))
        return self._next(self)

    def __del__(self) -> None:
        self.close()

    def close(self, error: BaseException | None = None) -> None:
        """Ends the scopes of the pass."""
        loop, self._loop = self.__dict__.get("_loop"), None
        if loop is not None:
            loop.close(error)

    def _chosen(self, is_for_loop: bool) -> Any:
        """How items are fetched: that is known when the first is asked for.

        A function, not a method of this one: a pass that held itself would outlive its loop.
        """
        if _loop.is_fetching() or _hodo.levels_to("data_wait") == 0:
            # Somebody waits already: another loader, or `hodo.batches`.
            return Pass._passing
        name = "epoch" if _is_training() else "evaluate"
        outer = _loop.innermost()
        # One that a program asks by hand, as for a sample, may never be finished; and in two loops
        # of one kind, as of loaders that are zipped, the outer one has the steps.
        if not is_for_loop or (outer is not None and outer.name == name):
            return Pass._waiting
        index = self._passes.get(name, 0)
        self._passes[name] = index + 1
        # The program's own scope of that name is enough, as that of `hodo.epochs`.
        around = EVALUATIONS if name == "evaluate" else (name,)
        self._loop = _loop.Loop(name, index, is_called=False, is_pass=not _is_inside(*around))
        self._loop.open()
        return Pass._stepping

    def _passing(self) -> Any:
        return next(self._items)

    def _waiting(self) -> Any:
        loop = _loop.innermost()
        if loop is not None and loop.is_called:
            return loop.fetch(self._items)
        return _loop.wait(self._items)

    def _stepping(self) -> Any:
        loop = self._loop
        if loop is None:
            return next(self._items)
        loop.step_end()
        try:
            return loop.fetch(self._items)
        except BaseException as error:
            self.close(None if isinstance(error, StopIteration) else error)
            raise


def _is_for_loop(frame: Any) -> bool:
    """Whether what runs in a frame is the head of a ``for`` loop."""
    code = frame.f_code.co_code
    return bool(0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == _FOR_ITER)


def _is_training() -> bool:
    """Whether a pass that begins now trains: by the mode of gradients, and of the last module."""
    import torch

    if _is_inside(*EVALUATIONS):
        return False
    trained = here.state.trained
    model = trained and trained()
    return bool(torch.is_grad_enabled() and (model is None or model.training))


def _is_inside(*names: str) -> bool:
    """Whether a scope of one of these names is open around this."""
    return any(_hodo.levels_to(name) is not None for name in names)


def _workers(undo: Undo) -> None:
    """What a worker does for a batch is a scope of the worker's."""
    from torch.utils.data import _utils, get_worker_info

    def fetching(fetch: Any) -> Any:
        @functools.wraps(fetch)
        def fetched(self: Any, *args: Any, **kwargs: Any) -> Any:
            if undo.done or get_worker_info() is None:
                return fetch(self, *args, **kwargs)
            with _loop.Fetching(), _hodo.scope("fetch"):
                return fetch(self, *args, **kwargs)

        return fetched

    for kind in (_utils.fetch._MapDatasetFetcher, _utils.fetch._IterableDatasetFetcher):
        undo.patch(kind, "fetch", fetching(kind.fetch))
