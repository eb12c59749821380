"""torch's own layers, whose calls are most of a model's, and which only other modules call.

A hook that looks at every call of a module costs a small model some percent. So after the first steps
the classes of torch's layers that nobody called but other modules are left as torch has them. Whenever
a program turns to something new, all are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hodo.hooks import Undo

# Outermost calls after which it is known who calls what.
LOOKED_AT = 16
HOME = "torch.nn.modules."
CALL = "__call__"


class Leaves:
    """Which classes are left alone."""

    def __init__(self, torch: Any, undo: Undo, *, is_on: bool) -> None:
        self.call: Any = None
        """What a call of a module is without hooks."""
        self._loss = torch.nn.modules.loss._Loss
        self._is_on = is_on
        self._left_to_look = LOOKED_AT if is_on else 0
        self._tops: set[type] = set()
        """Classes of modules that were outermost, ever."""
        self._found: set[type] = set()
        """Classes of modules inside of those, since it was last looked."""
        self._alone: set[type] = set()
        self._modes: dict[type, bool] = {}
        """Whether the last outermost module of a class was being trained."""
        self._told: list[Callable[[], None]] = []
        undo.later(self._look_at_all)

    @property
    def are_known(self) -> bool:
        """Whether it has been looked long enough."""
        return self._is_on and not self._left_to_look

    def when_looking(self, told: Callable[[], None]) -> None:
        """Calls ``told`` when all calls are looked at again."""
        self._told.append(told)

    def is_new(self, module: Any) -> bool:
        """Whether it matters that this one was called by none."""
        return self._left_to_look > 0 or self._modes.get(type(module)) is not module.training

    def outermost(self, module: Any) -> None:
        """A module was called by none."""
        kind, mode = type(module), module.training
        if self._modes.get(kind) is not mode:
            self._modes[kind] = mode
            self.look_again()
        if self._left_to_look:
            self._look(kind, module)

    def look_again(self) -> None:
        """The program does something else than before: evaluates, has a new optimizer or loader."""
        if self._is_on and not self._left_to_look:
            self._look_at_all()
            self._left_to_look = LOOKED_AT
            for told in self._told:
                told()

    def _look(self, kind: type, module: Any) -> None:
        self._tops.add(kind)
        if module._modules:
            self._found.update(type(inner) for inner in module.modules() if not inner._modules)
        self._left_to_look -= 1
        if not self._left_to_look:
            for found in filter(self._is_leaf, self._found):
                setattr(found, CALL, self.call)
                self._alone.add(found)
            self._found.clear()

    def _is_leaf(self, kind: type) -> bool:
        is_own = kind.__module__.startswith(HOME) and CALL not in vars(kind)
        # What is set on a class counts for those made of it too.
        is_top = any(issubclass(top, kind) for top in self._tops)
        return is_own and not is_top and not issubclass(kind, self._loss)

    def _look_at_all(self) -> None:
        while self._alone:
            kind = self._alone.pop()
            if vars(kind).get(CALL) is self.call:
                delattr(kind, CALL)
