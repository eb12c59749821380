"""What hooks change, and how it is put back."""

from __future__ import annotations

import operator
from collections.abc import Callable
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
