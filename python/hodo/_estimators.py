"""scikit-learn's estimators with a scope around each of their calls."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

from hodo import _hodo, hooks
from hodo.hooks._undo import Stand

METHODS = (
    "fit",
    "partial_fit",
    "fit_predict",
    "fit_transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score",
    "score_samples",
)


class _Here(threading.local):
    """The calls that this thread is in: a method of a parent class is part of that of the child."""

    def __init__(self) -> None:
        self.calls: set[tuple[int, str]] = set()
        self.tasks = 0


_here = _Here()


class Task:
    """Work of a program that records, in a process that it shares with others and that outlives it:
    once there was one, what comes without is not recorded."""

    is_needed = False

    def __init__(self, function: Callable[..., Any]) -> None:
        Task.is_needed = True
        self._function = function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return in_task(self._function, args, kwargs)


def in_task(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a function as work of a program that records."""
    _here.tasks += 1
    try:
        return function(*args, **kwargs)
    finally:
        _here.tasks -= 1


def is_recorded() -> bool:
    """Whether what this thread does now is for a program that records."""
    return bool(_hodo.is_on()) and (not Task.is_needed or _here.tasks > 0)


def call(estimator: Any, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a method of an estimator in a scope, unless it is in that one already."""
    key = (id(estimator), name)
    # A class that some estimators are derived from may have others too.
    if not is_recorded() or key in _here.calls or not hasattr(estimator, "get_params"):
        return method(*args, **kwargs)
    if not _here.calls:
        _meet_joblib()
    kind = type(estimator).__name__
    attrs: dict[str, Any] = {"estimator": kind, "method": name, **_shape(args, kwargs)}
    _here.calls.add(key)
    try:
        with _hodo.scope(f"{kind}.{name}", **attrs):
            return method(*args, **kwargs)
    finally:
        _here.calls.discard(key)


def _meet_joblib() -> None:
    """For the threads and processes that estimators may work with, once hodo is on."""
    if _hodo.is_on():
        hooks.install_part("sklearn", "hodo.hooks.joblib", is_told=False)


def _shape(args: Any, kwargs: Any) -> dict[str, int]:
    """Rows and columns of the data of a call, as far as they say so."""
    data = args[0] if args else kwargs.get("X")
    try:
        shape = getattr(data, "shape", None)
    except Exception:
        # As data that are not computed yet: whoever needs them is told.
        return {}
    if not isinstance(shape, tuple):
        return {"rows": len(data)} if isinstance(data, (list, tuple)) else {}
    sizes = [size for size in shape[:2] if isinstance(size, int)]
    return dict(zip(("rows", "columns"), sizes))


class Calls:
    """Whose methods record: those of hooked classes while they are hooked, those of wrapped estimators always."""

    __slots__ = ("is_on", "is_wrapped")

    def __init__(self, *, is_wrapped: bool) -> None:
        self.is_on = self.is_wrapped = is_wrapped

    def call(self, estimator: Any, name: str, method: Any, args: Any, kwargs: Any) -> Any:
        """Calls a method of an estimator, in a scope where it is recorded."""
        return call(estimator, name, method, args, kwargs) if self.is_on else method(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_calls_there(), (self.is_wrapped,))


hooked, _wrapped = Calls(is_wrapped=False), Calls(is_wrapped=True)


def _calls_there() -> Callable[[bool], Any]:
    """What stands for them in what is pickled by value. A function inside of one, which is pickled by value
    too: it may be called where there is no hodo."""
    nothing = SimpleNamespace

    def plain(estimator: Any, name: str, method: Any, args: Any, kwargs: Any) -> Any:
        return method(*args, **kwargs)

    def calls(is_wrapped: bool) -> Any:
        import sys

        there = sys.modules.get("hodo._estimators")
        if there is None:
            return nothing(call=plain)
        return there._wrapped if is_wrapped else there.hooked

    return calls


class Method(Stand):
    """What stands in a class for a method: also for one that an estimator has only at times, as ``predict``
    of a pipeline without a model."""

    def __init__(self, name: str, inner: Any, calls: Calls) -> None:
        super().__init__(None, inner)
        self._name, self.calls = name, calls

    def __reduce__(self) -> tuple[Any, ...]:
        # With a class that is pickled by value, as those of a script are by cloudpickle.
        return (_method_there(), (self._name, self.__wrapped__, self.calls.is_wrapped))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inner = self.__wrapped__
        return (self._around(inner) if inspect.isfunction(inner) else inner)(*args, **kwargs)

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        method = self.__wrapped__.__get__(estimator, owner)
        if estimator is None:
            return self._around(method) if inspect.isfunction(self.__wrapped__) else method
        if inspect.ismethod(method):
            # One too, which has its object, is equal to itself and can be pickled.
            return MethodType(self._around(method.__func__), estimator)
        # What was asked for may be a value.
        return _bound(self.calls, self._name, estimator, method) if callable(method) else method

    def _around(self, function: Any) -> Any:
        """The function that stands for another, the same each time."""
        # Another thread may put its own there meanwhile.
        made = self._made
        if getattr(made, "__wrapped__", None) is not function:
            made = self._made = _unbound(self.calls, self._name, function)
        return made


# These use no name of this module: a program may keep what they make in a class of a script, which is pickled by
# value, and this with it, to be loaded where there is no hodo.
def _bound(calls: Calls, name: str, estimator: Any, method: Any) -> Any:
    @functools.wraps(method)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return calls.call(estimator, name, method, args, kwargs)

    return scoped


def _unbound(calls: Calls, name: str, function: Any) -> Any:
    partial = functools.partial

    @functools.wraps(function)
    def scoped(estimator: Any, /, *args: Any, **kwargs: Any) -> Any:
        return calls.call(estimator, name, partial(function, estimator), args, kwargs)

    return scoped


def _method_there() -> Callable[..., Any]:
    """What makes a method anew where it is loaded. A function inside of one, which is pickled by value: where
    there is no hodo, or scikit-learn is not hooked, the method is as it was."""

    def method(name: str, inner: Any, is_wrapped: bool) -> Any:
        import sys

        there = sys.modules.get("hodo._estimators")
        if there is None:
            return inner
        calls = there._wrapped if is_wrapped else there.hooked
        return there.Method(name, inner, calls) if calls.is_on else inner

    return method


def scoped(name: str, inner: Any, calls: Calls = hooked) -> Any:
    """What stands in a class for ``inner``, which stood there as ``name``; None for what is no method."""
    if isinstance(inner, (Method, staticmethod, classmethod, functools.cached_property)):
        return None
    # What takes what is set, as a property does, has no method to give.
    is_method = hasattr(type(inner), "__get__") and not hasattr(type(inner), "__set__")
    return Method(name, inner, calls) if is_method else None


def wrap(estimator: Any) -> Any:
    if isinstance(estimator, type) or not _is_estimator(estimator):
        raise TypeError(f"wrap takes an estimator, with fit and get_params, not {estimator!r}")
    _meet_joblib()
    plain = [inside for inside in _with_those_inside(estimator) if not _base(inside)]
    kinds: list[Any] = [type(inside) for inside in plain]
    # All or none: a class may allow no child.
    children = [_child(kind) for kind in kinds]
    for inside, child in zip(plain, children):
        inside.__class__ = child
    return estimator


def unwrap(estimator: Any) -> Any:
    for inside in _with_those_inside(estimator):
        base = _base(inside)
        if base:
            inside.__class__ = base
    return estimator


def _is_estimator(thing: Any) -> bool:
    return hasattr(thing, "get_params") and hasattr(type(thing), "fit")


def _with_those_inside(estimator: Any) -> list[Any]:
    """An estimator, those among its parameters, and those that a fit left in it."""
    found: dict[int, Any] = {}
    waiting = [estimator]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, (list, tuple)):
            waiting.extend(thing)
        elif isinstance(thing, dict):
            waiting.extend(thing.values())
        elif id(thing) not in found and not isinstance(thing, type) and _is_estimator(thing):
            found[id(thing)] = thing
            waiting.extend(getattr(thing, "__dict__", {}).values())
    return list(found.values())


def _base(estimator: Any) -> Any:
    """The class that an estimator had before it was wrapped; None where it was not."""
    return vars(type(estimator)).get("_hodo_base")


@functools.cache
def _child(base: Any) -> Any:
    """A class as ``base``, by its name too, whose methods record."""
    names = {"__slots__": (), "__module__": base.__module__, "__qualname__": base.__qualname__}
    try:
        child = type(base)(base.__name__, (base,), names)
    except TypeError as error:
        why = f"{base.__name__} cannot be wrapped, since it allows no plain child class: {error}"
        raise TypeError(f"{why}; hodo.profile() records it as it is") from error
    # Set now and not before: scikit-learn changes some methods of a class that is made.
    output = "_sklearn_auto_wrap_output_keys"
    if hasattr(base, output):
        setattr(child, output, getattr(base, output))
    for name in METHODS:
        inner = inspect.getattr_static(base, name, None)
        made = None if inner is None else scoped(name, _plain(inner), _wrapped)
        if made is not None:
            setattr(child, name, made)
    setattr(child, "__doc__", base.__doc__)
    setattr(child, "_hodo_base", base)
    setattr(child, "__reduce_ex__", _reduce)
    return child


def _plain(inner: Any) -> Any:
    """What stood in a class before the hooks of all estimators, which may be undone."""
    return inner.__wrapped__ if isinstance(inner, Method) else inner


def _reduce(estimator: Any, protocol: Any) -> Any:
    """How a wrapped estimator is pickled and copied: as its class would, to be wrapped again."""
    base, child = _base(estimator), type(estimator)
    # Protocols before the second name the class in another way.
    made = super(child, estimator).__reduce_ex__(max(2, int(protocol)))
    if not isinstance(made, tuple):
        return made
    args = tuple(base if arg is child else arg for arg in made[1])
    return (_made, (base, made[0], *args), *made[2:])


def _made(base: Any, make: Callable[..., Any], *args: Any) -> Any:
    estimator, child = make(*args), _child(base)
    if type(estimator) is base:
        estimator.__class__ = child
    return estimator
