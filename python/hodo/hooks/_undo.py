"""What hooks change, and how it is put back."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hodo import _control


class Stand:
    """What stands in a class for a function. In a class that is pickled by value, as those of a script are by
    cloudpickle, that function stands instead: it is loaded where there is no hodo."""

    def __init__(self, made: Any, inner: Any) -> None:
        self._made = made
        self.__wrapped__ = inner

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._made.__get__(instance, owner)

    def __reduce__(self) -> tuple[Any, ...]:
        return (operator.getitem, ((self.__wrapped__,), 0))


class Undo:
    """What was changed, to be put back."""

    def __init__(self) -> None:
        self.done = False
        """Whether it was put back. What somebody wrapped meanwhile stays in there, and looks here."""
        self._steps: list[Callable[[], None]] = []

    def patch(self, owner: Any, name: str, made: Any) -> None:
        """Sets an attribute of a module or class."""
        is_own, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, made)
        put = vars(owner).get(name)
        is_known = isinstance(put, (FunctionType, Stand)) and getattr(put, "__wrapped__", None) is before
        if isinstance(owner, type) and is_known:
            self._steps.append(_back_in_class(owner, name, put))
            return

        def back() -> None:
            if vars(owner).get(name) is not put:
                return
            if is_own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)

        self._steps.append(back)

    def later(self, step: Callable[[], None]) -> None:
        """Calls ``step`` when it is undone, before what was changed until now is put back."""
        self._steps.append(step)

    def undo(self) -> None:
        """Puts everything back, the latest first."""
        self.done = True
        while self._steps:
            step = self._steps.pop()
            try:
                step()
            except Exception as error:
                _control._log().warning("a hook could not be undone: %r", error)


def _back_in_class(owner: type, name: str, put: Any) -> Callable[[], None]:
    """Puts back what ``put`` wraps. Keeps neither the class nor what is in it, which may know the class: one
    that was made while the program runs goes when the program is done with it."""
    kind, ours = weakref.ref(owner), weakref.ref(put)

    def back() -> None:
        there, stands = kind(), ours()
        if there is None or stands is None:
            return
        inner = stands.__wrapped__
        if vars(there).get(name) is stands:
            setattr(there, name, inner)

    return back
