"""torch's DataLoader: a pass over it is an epoch, each batch a step, the wait for it ``data_wait``."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any

from hodo import _children, _hodo
from hodo._proxy import Proxy
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

    _now.undo = undo
    # The next recording counts anew.
    undo.later(_passes.clear)
    undo.later(_left.clear)
    # Not where one is made: a class may have no use for what the one above does then.
    for kind in (DataLoader, *kinds_of(DataLoader)):
        hook(undo, kind)
    if "__init_subclass__" not in vars(DataLoader):
        undo.patch(DataLoader, "__init_subclass__", classmethod(__init_subclass__))
    _workers(undo)


def hook(undo: Undo, kind: Any) -> None:
    """Makes passes over loaders of a class have scopes, unless those of the class above do already."""
    begin = kind.__iter__
    if getattr(begin, "_hodo", None) is not _now:
        made = _iterating(begin)
        # A class of the program's own may refuse it.
        with contextlib.suppress(Exception):
            undo.patch(kind, "__iter__", Stand(made, begin) if _is_of_script(kind) else made)


def _is_of_script(kind: type) -> bool:
    """Whether a class may be pickled by value. For all others a function is what `for` asks: on the way
    through one of Python's, a handler of signals that raises would make it "not iterable"."""
    return kind.__module__ == "__main__" or "<locals>" in kind.__qualname__


class _Now:
    """The hooking that is on."""

    __slots__ = ("undo",)

    def __init__(self) -> None:
        self.undo: Undo | None = None

    def over(self, loader: Any, begin: Any) -> Any:
        """The iterator of a pass over a loader, whose own ``begin`` makes."""
        undo = self.undo
        # A loader that asks another for its items, or the class above, has one pass, not two.
        if undo is None or undo.done or _loop.is_fetching() or _is_starting(loader):
            return begin(loader)
        return Pass(_begun(loader, begin), _passes_of(loader), undo)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_now_there(), ())


_now = _Now()


def _now_there() -> Callable[[], Any]:
    """What stands for the hooking in what is pickled by value. A function inside of one, which is pickled by
    value too: it may be called where there is no hodo."""
    nothing = SimpleNamespace

    def plain(loader: Any, begin: Any) -> Any:
        return begin(loader)

    def now() -> Any:
        import sys

        there = sys.modules.get("hodo.hooks.loader")
        return nothing(over=plain) if there is None else there._now

    return now


def _iterating(begin: Any) -> Any:
    # It uses no name of this module: a program may keep it in a class of a script, which is pickled by value,
    # and this with it, to be loaded where there is no hodo.
    now = _now

    @functools.wraps(begin)
    def __iter__(self: Any) -> Any:
        return now.over(self, begin)

    __iter__._hodo = now  # type: ignore[attr-defined]
    return __iter__


# By number, since a class that compares its loaders may not hash them.
_passes: dict[int, tuple[Any, dict[str, int]]] = {}
# What loaders that are gone leave to the next one over the same data, by the number of these.
_left: dict[int, tuple[Any, dict[str, int]]] = {}


def _passes_of(loader: Any) -> dict[str, int]:
    """How often a loader was gone over, by what for. One that is made anew for each pass goes on where the
    one before, which is gone, has ended."""
    number = id(loader)
    known = _passes.get(number)
    if known is None or known[0]() is not loader:
        data = _data_of(loader)
        counts = _left_over(data)

        def leave(_: Any) -> None:
            _passes.pop(number, None)
            there = None if data is None else data()
            if there is not None:
                _left[id(there)] = (data, counts)

        known = _passes[number] = (weakref.ref(loader, leave), counts)
    return known[1]


def _data_of(loader: Any) -> Any:
    """A weak reference to a loader's data; None for what takes none, as a list."""
    # A class of the program's own may raise anything when it is asked.
    with contextlib.suppress(Exception):
        number = id(loader.dataset)
        return weakref.ref(loader.dataset, lambda _: _left.pop(number, None) and None)
    return None


def _left_over(data: Any) -> dict[str, int]:
    there = None if data is None else data()
    left = None if there is None else _left.pop(id(there), None)
    return left[1] if left is not None and left[0]() is there else {}


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


def _close(items: Any, *args: Any, **kwargs: Any) -> Any:
    """Closes an iterator that can be, as a generator; with it the pass is over."""
    items._hodo_end()
    return items._hodo_stream.close(*args, **kwargs)


def _enter(items: Any) -> Any:
    return items._hodo_entered(items._hodo_stream.__enter__())


class Pass(Proxy):
    """One pass over a loader, instead of the iterator it has; what is its own begins with ``_hodo_``."""

    __slots__ = (
        "_hodo_passes",
        "_hodo_undo",
        "_hodo_seen",
        "_hodo_loop",
        "_hodo_places",
        "_hodo_next",
        "_hodo_is_data_open",
    )
    _hodo_where_there = {"__enter__": _enter, "close": _close}

    def __new__(cls, items: Any, passes: dict[str, int], undo: Undo) -> Pass:
        return super().__new__(cls, None, items)

    def __init__(self, items: Any, passes: dict[str, int], undo: Undo) -> None:
        self._hodo_passes = passes
        self._hodo_undo = undo
        self._hodo_seen = (0, 0)
        """Calls in the mode of evaluation, and backward passes, when it began."""
        self._hodo_loop: _loop.Loop | None = None
        self._hodo_places: tuple[_asked.Place, ...] = ()
        """Where the loops are that ask."""
        self._hodo_next: Any = None
        self._hodo_is_data_open = False

    def __iter__(self) -> Pass:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Copied and pickled as what is in here, where that can be.
        return self._hodo_stream.__reduce_ex__(protocol)

    def __next__(self) -> Any:
        if self._hodo_undo.done:
            return next(self._hodo_stream)
        # After the first items were asked for by hand, a loop may ask for the others.
        if self._hodo_next is None or self._hodo_next is Pass._hodo_by_hand:
            try:
                self._hodo_next = self._hodo_chosen(sys._getframe(1))
            except BaseException as error:
                self._hodo_end(error)
                raise
        return self._hodo_next(self)

    def __del__(self) -> None:
        if getattr(self, "_hodo_loop", None) is not None:
            # Which exception, nobody can tell here.
            failed = False
            try:
                failed = _asked.is_left_by_exception(sys._getframe().f_back, self._hodo_places)
            finally:
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
        self._hodo_places = _asked.loops(frame)
        if not self._hodo_places:
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
        return next(self._hodo_stream)

    def _hodo_waiting(self) -> Any:
        loop = _loop.innermost()
        if loop is not None and loop.is_called:
            return loop.fetch(self._hodo_stream)
        return _loop.wait(self._hodo_stream)

    def _hodo_by_hand(self) -> Any:
        if _loop.innermost() is not None:
            return self._hodo_waiting()
        if self._hodo_is_data_open:
            # As without hooks: a wait would be inside of what the last item left open.
            return next(self._hodo_stream)
        before = _hodo.current_scope_id()
        item = _loop.wait(self._hodo_stream)
        self._hodo_is_data_open = _hodo.current_scope_id() != before
        return item

    def _hodo_stepping(self) -> Any:
        loop = self._hodo_loop
        if loop is None:
            return next(self._hodo_stream)
        if not (loop.is_open and loop.is_here):
            # Goes on after the step that it began in, or on another thread: the steps were those until then.
            self._hodo_end()
            self._hodo_next = Pass._hodo_waiting
            return self._hodo_waiting()
        try:
            if loop.taken_for is not None and here.state.evals != self._hodo_seen[0]:
                self._hodo_look(loop)
            loop.step_end()
            return loop.fetch(self._hodo_stream)
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
    return model is None or getattr(model, "training", False) is True or state.trained_in_eval() is model


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
        scope = _hodo.scope("fetch")
        scope.__enter__()
        try:
            yield
        except StopIteration:
            # The end of the data is no failure, but took what was done to find it.
            scope.__exit__(None, None, None)
            raise
        except BaseException as error:
            scope.__exit__(error.__class__, error, None)
            raise
        scope.__exit__(None, None, None)
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
        # The end of the data is no failure.
        steps.end(None if isinstance(error, StopIteration) else type(error).__name__)
        raise
    steps.end()
