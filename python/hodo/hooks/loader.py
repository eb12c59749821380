"""torch's DataLoader: a pass over it is an epoch, each batch a step, the wait for it ``data_wait``."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import sys
import threading
import weakref
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from hodo import _children, _hodo
from hodo.hooks import Settings, Undo, _asked, _loop
from hodo.hooks._optimizer import kinds_of
from hodo.hooks._spans import here
from hodo.hooks._undo import Stand

# Scopes of evaluations, of hooks and of programs.
EVALUATIONS = ("evaluate", "predict", "validate", "test")


def install(undo: Undo, settings: Settings) -> None:
    """Hooks every class of loaders, and what their workers do."""
    from torch.utils.data import DataLoader

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        super(DataLoader, cls).__init_subclass__(**kwargs)
        if not undo.done:
            hook(undo, cls)

    # Not where one is made: a class may have no use for what the one above does then.
    for kind in (DataLoader, *kinds_of(DataLoader)):
        hook(undo, kind)
    if "__init_subclass__" not in vars(DataLoader):
        undo.patch(DataLoader, "__init_subclass__", classmethod(__init_subclass__))
    _workers(undo)


def hook(undo: Undo, kind: Any) -> None:
    """Makes passes over loaders of a class have scopes, unless those of the class above do already."""
    begin = kind.__iter__
    if getattr(begin, "_hodo", None) is not undo:
        made = _iterating(begin, undo)
        undo.patch(kind, "__iter__", Stand(made, begin) if _is_of_script(kind) else made)


def _is_of_script(kind: type) -> bool:
    """Whether a class may be pickled by value. For all others a function is what `for` asks: on the way
    through one of Python's, a handler of signals that raises would make it "not iterable"."""
    return kind.__module__ == "__main__" or "<locals>" in kind.__qualname__


def _iterating(begin: Any, undo: Undo) -> Any:
    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:
        # A loader that asks another for its items, or the class above, has one pass, not two.
        if undo.done or _loop.is_fetching() or _is_starting(self):
            return begin(self)
        return Pass(_begun(self, begin), _passes_of(self), undo)

    __iter__._hodo = undo  # type: ignore[attr-defined]
    return __iter__


# By number, since a class that compares its loaders may not hash them.
_passes: dict[int, tuple[Any, dict[str, int]]] = {}


def _passes_of(loader: Any) -> dict[str, int]:
    """How often a loader was gone over, by what for."""
    number = id(loader)
    known = _passes.get(number)
    if known is None or known[0]() is not loader:
        gone = weakref.ref(loader, lambda _: _passes.pop(number, None) and None)
        known = _passes[number] = (gone, {})
    return known[1]


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
            if not _is_spawning(loader):
                return begin(loader)
            with _children.parent_in_environment():
                return begin(loader)
    finally:
        _starting.loader = before


def _is_spawning(loader: Any) -> bool:
    """Whether the workers get this process's environment; those of a server get that of the server."""
    context = getattr(loader, "multiprocessing_context", None) or multiprocessing.get_context()
    return bool(context.get_start_method() == "spawn")


class Pass:
    """One pass over a loader, instead of the iterator it has; what is its own begins with ``_hodo_``."""

    def __init__(self, items: Any, passes: dict[str, int], undo: Undo) -> None:
        self._hodo_items = items
        self._hodo_passes = passes
        self._hodo_undo = undo
        self._hodo_seen = (0, 0)
        """Calls in the mode of evaluation, and backward passes, when it began."""
        self._hodo_loop: _loop.Loop | None = None
        self._hodo_codes: tuple[CodeType, ...] = ()
        """The code of the loops that ask."""
        self._hodo_next: Any = None
        self._hodo_is_data_open = False

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Whoever asks for the iterator's class means what is in here.
        return type(self._hodo_items)

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self._hodo_items)

    def __bool__(self) -> bool:
        return bool(self._hodo_items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_hodo_"):
            # Asked of one that was never made, as by whoever copies it.
            raise AttributeError(name)
        found = getattr(self._hodo_items, name)
        return self._hodo_closing(found) if name == "close" else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_hodo_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._hodo_items, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._hodo_items, name)

    def _hodo_closing(self, close: Any) -> Any:
        """What closes an iterator that can be, as a generator; with it the pass is over."""

        @functools.wraps(close)
        def closed(*args: Any, **kwargs: Any) -> Any:
            self._hodo_end()
            return close(*args, **kwargs)

        return closed

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Copied and pickled as what is in here, where that can be.
        return self._hodo_items.__reduce_ex__(protocol)

    def __next__(self) -> Any:
        if self._hodo_undo.done:
            return next(self._hodo_items)
        # After the first items were asked for by hand, a loop may ask for the others.
        if self._hodo_next is None or self._hodo_next is Pass._hodo_by_hand:
            try:
                self._hodo_next = self._hodo_chosen(sys._getframe(1))
            except BaseException as error:
                self._hodo_end(error)
                raise
        return self._hodo_next(self)

    def __del__(self) -> None:
        if self.__dict__.get("_hodo_loop") is not None:
            # Which exception, nobody can tell here.
            failed = _asked.is_left_by_exception(sys._getframe().f_back, self._hodo_codes)
            self._hodo_end(Exception() if failed else None)

    def _hodo_end(self, error: BaseException | None = None) -> None:
        """Ends the scopes of the pass: as failed, unless it came to its end."""
        if self._hodo_loop is not None:
            if self._hodo_loop.is_open and self._hodo_loop.is_here:
                self._hodo_look(self._hodo_loop)
            self._hodo_loop.close(None if isinstance(error, StopIteration) else error)
            self._hodo_loop = None

    def _hodo_chosen(self, frame: FrameType) -> Any:
        """How items are fetched: that is known when one is asked for.

        A function, not a method of this one: a pass that held itself would outlive its loop.
        """
        if _loop.is_fetching() or _hodo.levels_to("data_wait") == 0:
            # Somebody waits already: another loader, or `hodo.batches`.
            return Pass._hodo_passing
        self._hodo_codes = _asked.loops(frame)
        if not self._hodo_codes:
            # As for a sample: nobody knows whether it is ever finished.
            return Pass._hodo_by_hand
        outer = _loop.innermost()
        name = "epoch" if _is_training(outer) else "evaluate"
        alike = (name,) if name == "epoch" else EVALUATIONS
        # In two loops of one kind, as of loaders that are zipped, the outer one has the steps.
        if outer is not None and outer.name in alike:
            return Pass._hodo_waiting
        index = self._hodo_passes.get(name, 0)
        self._hodo_passes[name] = index + 1
        # The program's own scope of that kind is enough, as that of `hodo.epochs`.
        is_pass = not _is_inside(*alike)
        self._hodo_loop = _loop.Loop(name, index, is_called=False, is_pass=is_pass)
        if outer is None and _is_guess() and (is_pass or name == "evaluate"):
            # What is done in it tells better.
            self._hodo_loop.taken_for = self._hodo_passes
            self._hodo_seen = (here.state.evals, here.state.backwards)
        self._hodo_loop.open()
        return Pass._hodo_stepping

    def _hodo_look(self, loop: _loop.Loop) -> None:
        """A pass in which a model was called in the mode of evaluation, and none trained, is none of training;
        an optimizer that makes a step in it tells better still."""
        evals, backwards = self._hodo_seen
        state = here.state
        if loop.taken_for is not None and state.evals != evals and state.backwards <= backwards:
            loop.turn_out("evaluate", is_sure=False)

    def _hodo_passing(self) -> Any:
        return next(self._hodo_items)

    def _hodo_waiting(self) -> Any:
        loop = _loop.innermost()
        if loop is not None and loop.is_called:
            return loop.fetch(self._hodo_items)
        return _loop.wait(self._hodo_items)

    def _hodo_by_hand(self) -> Any:
        if _loop.innermost() is not None:
            return self._hodo_waiting()
        if self._hodo_is_data_open:
            # As without hooks: a wait would be inside of what the last item left open.
            return next(self._hodo_items)
        before = _hodo.current_scope_id()
        item = _loop.wait(self._hodo_items)
        self._hodo_is_data_open = _hodo.current_scope_id() != before
        return item

    def _hodo_stepping(self) -> Any:
        loop = self._hodo_loop
        if loop is None:
            return next(self._hodo_items)
        if not (loop.is_open and loop.is_here):
            # Goes on after the step that it began in, or on another thread: the steps were those until then.
            self._hodo_end()
            self._hodo_next = Pass._hodo_waiting
            return self._hodo_waiting()
        try:
            if loop.taken_for is not None and here.state.evals != self._hodo_seen[0]:
                self._hodo_look(loop)
            loop.step_end()
            return loop.fetch(self._hodo_items)
        except BaseException as error:
            try:
                self._hodo_end(error)
            except BaseException:
                # A handler of signals raised in the midst of that.
                self._hodo_end(error)
                raise
            raise


def _is_training(outer: _loop.Loop | None) -> bool:
    """Whether a pass that begins now, in a loop or none, trains."""
    import torch

    if here.state.evaluating or (outer is not None and outer.name in EVALUATIONS):
        return False
    if not torch.is_grad_enabled():
        return False
    if outer is not None and outer.is_called:
        # A framework says when it evaluates; until it trains again its model may be in that mode.
        return True
    state = here.state
    model = state.trained()
    return model is None or bool(getattr(model, "training", False)) or state.trained_in_eval() is model


def _is_guess() -> bool:
    """Whether it is only by the mode of a model that a pass which begins now is for evaluation."""
    import torch

    return not here.state.evaluating and bool(torch.is_grad_enabled())


def _is_inside(*names: str) -> bool:
    """Whether a scope of one of these names is open around this."""
    return any(_hodo.levels_to(name) is not None for name in names)


def _workers(undo: Undo) -> None:
    """What a worker does for a batch is a scope of the worker's."""
    from torch.utils.data import _utils, get_worker_info

    def fetching(fetch: Any, is_iterable: bool) -> Any:
        @functools.wraps(fetch)
        def fetched(self: Any, *args: Any, **kwargs: Any) -> Any:
            if undo.done or get_worker_info() is None:
                return fetch(self, *args, **kwargs)
            with _loop.Fetching(), _apart(self) if is_iterable else _hodo.scope("fetch"):
                return fetch(self, *args, **kwargs)

        return fetched

    iterable = _utils.fetch._IterableDatasetFetcher
    for kind in (_utils.fetch._MapDatasetFetcher, iterable):
        undo.patch(kind, "fetch", fetching(kind.fetch, kind is iterable))


@contextlib.contextmanager
def _apart(fetcher: Any) -> Iterator[None]:
    """A scope ``fetch``. What a dataset leaves open, as a generator does that waits inside of a scope, is put
    aside with it: the next one is not inside of that."""
    if not getattr(fetcher, "_hodo_apart", True):
        with _hodo.scope("fetch"):
            yield
        return
    steps = _hodo.steps(_hodo.scope("fetch"))
    try:
        with steps:
            before = _hodo.current_scope_id()
            yield
            fetcher._hodo_apart = _hodo.current_scope_id() != before
            # Kept until the dataset has gone on, and closed what is in it.
            fetcher._hodo_steps = steps
    except BaseException as error:
        steps.end(type(error).__name__)
        raise
    steps.end()
