"""What hooks change, and how it is put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hodo import _control


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
