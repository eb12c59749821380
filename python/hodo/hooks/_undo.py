"""What hooks change, and how it is put back."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hodo import _control


class Stand:
    """What stands in a class for a function. In a class that is pickled by value, as those of a script are by
    cloudpickle, that function stands instead: it is loaded where there is no hodo."""

    __wrapped__: Any

    def __init__(self, made: Any, inner: Any) -> None:
        self._made = made
        # Its name and what it says too, for who looks into the class.
        functools.update_wrapper(self, inner, updated=())

    @property
    def __isabstractmethod__(self) -> bool:
        return bool(getattr(self.__wrapped__, "__isabstractmethod__", False))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a function that is taken out of a class is called: with the object first."""
        return self.__get__(None, type(args[0]) if args else None)(*args, **kwargs)

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
        if isinstance(owner, type):
            self._steps.append(_back_in_class(owner, name, put, is_own, before))
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


def _back_in_class(
    owner: type, name: str, put: Any, is_own: bool, before: Any
) -> Callable[[], None]:
    """Puts back what stood in a class. Keeps neither the class nor what is in it, which may know the class:
    one that was made while the program runs goes when the program is done with it."""
    is_known = isinstance(put, (FunctionType, Stand))
    is_around = is_known and is_own and getattr(put, "__wrapped__", None) is before
    kind = weakref.ref(owner)
    ours: Any = weakref.ref(put) if is_known else lambda: put
    kept = None if is_around else before

    def back() -> None:
        there, stands = kind(), ours()
        if there is None or stands is None or vars(there).get(name) is not stands:
            return
        if is_own:
            setattr(there, name, getattr(stands, "__wrapped__") if is_around else kept)
        else:
            delattr(there, name)

    return back
