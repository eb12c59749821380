"""scikit-learn: a scope around every call of every estimator."""

from __future__ import annotations

import sys
from typing import Any

from hodo import _estimators
from hodo.hooks import Settings, Undo


def install(undo: Undo, settings: Settings) -> None:
    """Changes the methods of the estimators there are, and of those that are defined later."""
    base = sys.modules["sklearn.base"]
    _later(undo, base.BaseEstimator)
    # Gives the classes of transformers other methods when they are made, so it comes before.
    output = next(k for k in base.TransformerMixin.__mro__ if "__init_subclass__" in vars(k))
    _later(undo, output)
    seen = set()
    waiting = [base.BaseEstimator]
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            waiting.extend(kind.__subclasses__())
            _change(undo, kind)


def _change(undo: Undo, estimator: type) -> None:
    """Changes the methods of a class, and those it has from others."""
    for kind in estimator.__mro__:
        for name in _estimators.METHODS:
            inner = vars(kind).get(name)
            made = None if inner is None else _estimators.scoped(name, inner)
            if made is not None:
                undo.patch(kind, name, made)


def _later(undo: Undo, kind: Any) -> None:
    """Changes the classes that are derived from ``kind`` from now on."""
    own = vars(kind).get("__init_subclass__")

    def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:
        if own is None:
            super(kind, cls).__init_subclass__(**kwargs)
        else:
            own.__get__(None, cls)(**kwargs)
        if not undo.done:
            _change(undo, cls)

    undo.patch(kind, "__init_subclass__", classmethod(__init_subclass__))
