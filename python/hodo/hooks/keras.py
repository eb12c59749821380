"""Keras: ``fit``, ``evaluate`` and ``predict`` with their epochs, steps and waits for data.

Scopes open and close where Keras tells its list of callbacks, on the thread that trains. Values come
by a callback of the list, when Keras has fetched them for its own: nothing is waited for.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo
from hodo.hooks._loop import Loop, innermost


def install(undo: Undo, settings: Settings) -> None:
    """Hooks every model, whatever it is computed with."""
    keras = sys.modules["keras"]
    _model(undo, keras.Model)
    _callbacks(undo, keras.callbacks.CallbackList, _values(keras.callbacks.Callback))
    iterators = sys.modules.get("keras.src.trainers.epoch_iterator")
    if iterators is not None:
        _data(undo, iterators.EpochIterator)


def _model(undo: Undo, model: Any) -> None:
    for name in ("fit", "evaluate", "predict"):
        undo.patch(model, name, _loops(undo, name, getattr(model, name)))


def _loops(undo: Undo, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is one pass over its data, or, as ``fit``, has passes inside: it ends those that were left
    open, as when it is interrupted."""

    @functools.wraps(method)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done or not _hodo.is_on():
            return method(self, *args, **kwargs)
        # `fit` itself has no steps.
        loop = Loop(name, is_called=name != "fit", model=self.name)
        loop.open()
        try:
            result = method(self, *args, **kwargs)
        except BaseException as error:
            loop.close(error)
            raise
        loop.close()
        return result

    return hooked


def _callbacks(undo: Undo, kind: Any, values: type) -> None:
    """Opens and closes scopes around what a list of callbacks is told."""

    def told(
        name: str, before: Callable[..., None] | None, after: Callable[..., None] | None
    ) -> None:
        tell = getattr(kind, name)

        @functools.wraps(tell)
        def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
            is_on = not undo.done and _hodo.is_on()
            index = args[0] if args else kwargs.get("epoch", kwargs.get("batch"))
            if is_on and before is not None:
                before(self, index)
            try:
                return tell(self, *args, **kwargs)
            finally:
                if is_on and after is not None:
                    after(self, index)

        undo.patch(kind, name, hooked)

    begin = kind.__init__

    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if not undo.done and _hodo.is_on():
            self.callbacks.append(values())

    undo.patch(kind, "__init__", __init__)
    told("on_epoch_begin", _epoch, None)
    told("on_epoch_end", _step_end, _epoch_end)
    told("on_train_end", None, _epoch_end)
    for word, name in (("train", "epoch"), ("test", "evaluate"), ("predict", "predict")):
        told(f"on_{word}_batch_begin", functools.partial(_step, name), None)
        told(f"on_{word}_batch_end", functools.partial(_remember, word), _step_end)


# By number of the list of callbacks that was told of them; with the list they end.
_epochs: dict[int, tuple[Loop, weakref.finalize[..., Any]]] = {}


def _epoch(callbacks: Any, index: int | None) -> None:
    _epoch_end(callbacks, None)
    loop = Loop("epoch", index)
    # A list that goes without being told of the end.
    gone = weakref.finalize(callbacks, _forget, id(callbacks), loop)
    gone.atexit = False
    _epochs[id(callbacks)] = loop, gone
    loop.open()


def _epoch_end(callbacks: Any, _: int | None) -> None:
    known = _epochs.pop(id(callbacks), None)
    if known is not None:
        loop, gone = known
        gone.detach()
        loop.close()


def _forget(number: int, loop: Loop) -> None:
    loop.close()
    known = _epochs.get(number)
    if known is not None and known[0] is loop:
        del _epochs[number]


def _step(name: str, _: Any, index: int | None) -> None:
    loop = innermost()
    if loop is not None and loop.name == name:
        # Open already where its data were fetched before.
        loop.step(index)


def _step_end(_: Any, index: int | None) -> None:
    loop = innermost()
    if loop is not None:
        loop.step_end()


def _remember(word: str, callbacks: Any, index: int | None) -> None:
    """Notes the scope of a step whose values may come later, on another thread, and when an evaluation has begun."""
    for callback in callbacks.callbacks:
        if hasattr(callback, "hodo_steps"):
            callback.hodo_steps[word, index] = _hodo.current()


def _values(callback: Any) -> type:
    """The callback that marks steps and passes with what Keras logs."""

    class Values(callback):  # type: ignore[misc]
        # Keras may go on training while it tells callbacks of this kind.
        async_safe = True

        def __init__(self) -> None:
            super().__init__()
            self.hodo_steps: dict[tuple[str, int], _hodo.Link] = {}

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._mark(batch, logs)

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            # Values of the pass so far: its end has them all.
            self.hodo_steps.pop(("test", batch), None)

        def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
            self.hodo_steps.pop(("predict", batch), None)

        def _mark(self, batch: int, logs: Any) -> None:
            step = self.hodo_steps.pop(("train", batch), None)
            if step is not None and logs:
                with _hodo.attach(step):
                    for name, value in logs.items():
                        _hodo.mark(name, value)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            _summary("epoch", logs)

        def on_test_end(self, logs: Any = None) -> None:
            _summary("evaluate", logs)

    return Values


def _summary(name: str, logs: Any) -> None:
    loop = innermost()
    if loop is not None and loop.name == name:
        for key, value in (logs or {}).items():
            loop.mark(key, value, "summary")


def _data(undo: Undo, kind: Any) -> None:
    """Shows how long steps wait for their data, where Python code fetches them."""
    for one in (kind, *kind.__subclasses__()):
        get = vars(one).get("_get_iterator")
        # TensorFlow fetches inside of what it has compiled.
        if get is None or "tensorflow" in one.__module__:
            continue

        @functools.wraps(get)
        def hooked(self: Any, get: Callable[[Any], Any] = get) -> Any:
            items = get(self)
            is_on = not undo.done and _hodo.is_on() and "tensorflow" not in type(self).__module__
            return Waited(items) if is_on else items

        undo.patch(one, "_get_iterator", hooked)


class Waited:
    """Batches, each waited for in the step that it is for."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __iter__(self) -> Waited:
        self._items = iter(self._items)
        return self

    def __next__(self) -> Any:
        loop = innermost()
        return next(self._items) if loop is None or not loop.is_called else loop.fetch(self._items)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._items, name)
