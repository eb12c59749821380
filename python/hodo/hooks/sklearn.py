"""scikit-learn: a scope around every call of every estimator."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

from hodo import _estimators
from hodo.hooks import Settings, Undo


def install(undo: Undo, settings: Settings) -> None:
    """Changes the methods of the estimators there are, and of those that are defined later."""
    base = sys.modules["sklearn.base"]
    _estimators.hooked.is_on = True
    undo.later(lambda: _put_back(base.BaseEstimator))
    _later(undo, base.BaseEstimator)
    # Gives the classes of transformers other methods when they are made, so it comes before.
    output = next(k for k in base.TransformerMixin.__mro__ if "__init_subclass__" in vars(k))
    _later(undo, output)
    for kind in _with_those_below(base.BaseEstimator):
        _change(undo, kind)


def _with_those_below(base: type) -> set[type]:
    seen: set[type] = set()
    waiting = [base]
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            waiting.extend(kind.__subclasses__())
    return seen


def _put_back(base: type) -> None:
    """What came into classes in another way, as with those that were loaded, and no call is recorded from now on."""
    _estimators.hooked.is_on = False
    for kind in {above for each in _with_those_below(base) for above in each.__mro__}:
        for name in _estimators.METHODS:
            there = vars(kind).get(name)
            if isinstance(there, _estimators.Method) and there.calls is _estimators.hooked:
                # A class may refuse it.
                with contextlib.suppress(Exception):
                    setattr(kind, name, there.__wrapped__)


def _change(undo: Undo, estimator: type) -> None:
    """Changes the methods of a class, and those it has from others."""
    for kind in estimator.__mro__:
        for name in _estimators.METHODS:
            inner = vars(kind).get(name)
            made = None if inner is None else _estimators.scoped(name, inner)
            if made is not None:
                # A class that is written in C, or that refuses for itself, stays as it is.
                with contextlib.suppress(Exception):
                    undo.patch(kind, name, made)


class _Making(threading.local):
    """The classes that are being made by this thread."""

    def __init__(self) -> None:
        self.kinds: list[Any] = []


_making = _Making()


def _later(undo: Undo, kind: Any) -> None:
    """Changes the classes that are derived from ``kind`` from now on: when scikit-learn is done with one, for
    it puts functions of its own around those of a class."""
    own = vars(kind).get("__init_subclass__")

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        is_inner = any(each is cls for each in _making.kinds)
        _making.kinds.append(cls)
        try:
            if own is None:
                super(kind, cls).__init_subclass__(**kwargs)
            else:
                own.__get__(None, cls)(**kwargs)
        finally:
            _making.kinds.pop()
        if not undo.done and not is_inner:
            _change(undo, cls)

    undo.patch(kind, "__init_subclass__", classmethod(__init_subclass__))
