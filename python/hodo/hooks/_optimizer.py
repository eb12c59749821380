"""torch's optimizers: each step is a scope, also through a GradScaler."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from hodo._signature import parameters_of
from hodo.hooks import Undo, _loop
from hodo.hooks._compiled import compiling
from hodo.hooks._spans import NONE_CLEARED, Spans, State, here, nobody


class _Now:
    """The hooking that is on. Schedules keep the step that an optimizer had when they were made, also
    beyond the hooking that it was of: so that looks here."""

    __slots__ = ("here", "spans")

    def __init__(self) -> None:
        self.spans: Spans | None = None
        self.here = here

    def off(self) -> None:
        """None is on."""
        self.spans = None

    def after_closure(self, spans: Spans, optimizer: Any, place: int) -> _AfterClosure:
        """The scope of a step that has arguments."""
        return _AfterClosure(spans, optimizer, place)

    def steps_of(self, optimizer: Any, state: State) -> dict[str, Any]:
        """What is said of an optimizer's step: how many backward passes it is of, where not one."""
        backwards, cleared = state.backwards, state.cleared
        state.backwards, state.cleared = 0, NONE_CLEARED
        loops = state.loops if state.tasks is None else _loop.loops_here()
        if loops and loops[-1].taken_for is not None:
            loops[-1].turn_out("epoch")
        is_in_eval = getattr(state.trained(), "training", True) is False
        state.trained_in_eval = state.trained if is_in_eval else nobody
        attrs: dict[str, Any] = {"tag": type(optimizer).__name__}
        if backwards > 1:
            _meet(optimizer)
            if cleared:
                backwards -= _cleared_at(optimizer, cleared)
            if len(_known) == 1 and backwards > 1:
                attrs["accumulated"] = backwards
        return attrs

    def __reduce__(self) -> tuple[Any, ...]:
        return (_now_there(), ())


_now = _Now()


def _now_there() -> Callable[[], Any]:
    """What stands for the hooking in a class that is pickled by value. A function inside of one, which is
    pickled by value too: it may be called where there is no hodo."""
    nothing = SimpleNamespace

    def now() -> Any:
        import sys

        there = sys.modules.get("hodo.hooks._optimizer")
        return nothing(spans=None) if there is None else there._now

    return now


def install(torch: Any, spans: Spans, undo: Undo) -> None:
    """Hooks optimizers and scalers."""
    _now.spans = spans
    undo.later(_now.off)
    _optimizers(torch, undo)
    _modules(torch, undo)
    _scalers(torch, spans, undo)


def _optimizers(torch: Any, undo: Undo) -> None:
    """The steps of all optimizers, whatever their class."""
    optimizer, is_compiling = torch.optim.Optimizer, compiling(torch)
    begin = optimizer.__init__

    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if not undo.done:
            hook(type(self))
            _meet(self)

    clear = optimizer.zero_grad

    @functools.wraps(clear)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_compiling():
            here.state.backwards, here.state.cleared = 0, NONE_CLEARED
        return clear(self, *args, **kwargs)

    def hook(kind: type) -> None:
        for each in kind.__mro__[: kind.__mro__.index(optimizer)]:
            step = vars(each).get("step")
            # Whatever else may stand there has ways of its own to be asked for.
            if isinstance(step, FunctionType) and not _is_hooked(step):
                made = _stepping(step, is_compiling)
                # A class that is mixed in may be one of schedules too.
                is_mixed_in = not issubclass(each, optimizer)
                undo.patch(each, "step", _only_of(optimizer, made, step) if is_mixed_in else made)

    undo.patch(optimizer, "__init__", __init__)
    undo.patch(optimizer, "zero_grad", zero_grad)
    # torch marks the classes that have objects.
    for kind in kinds_of(optimizer):
        if getattr(vars(kind).get("step"), "hooked", False):
            hook(kind)


# Parameters whose clearing is remembered.
MOST_CLEARED = 100_000


def _modules(torch: Any, undo: Undo) -> None:
    """Gradients that are cleared by their module."""
    module, is_compiling = torch.nn.Module, compiling(torch)
    clear = module.zero_grad

    @functools.wraps(clear)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = clear(self, *args, **kwargs)
        if not is_compiling() and not undo.done and here.state.backwards:
            _note_cleared(here.state, self)
        return result

    undo.patch(module, "zero_grad", zero_grad)


def _note_cleared(state: State, module: Any) -> None:
    """Notes how many backward passes there were when the gradients of a module were cleared."""
    try:
        numbers = [id(each) for each in module.parameters()]
    except Exception:
        # A method of the program's own may raise anything; the gradients are cleared.
        return
    cleared = state.cleared
    if not isinstance(cleared, dict) or len(cleared) > MOST_CLEARED:
        # Where no optimizer steps, models may come and go.
        state.cleared = cleared = {}
    cleared.update(dict.fromkeys(numbers, state.backwards))


def _cleared_at(optimizer: Any, cleared: Mapping[int, int]) -> int:
    """How many backward passes there were when the last of an optimizer's gradients was cleared; 0 where one was not."""
    try:
        numbers = [id(each) for group in optimizer.param_groups for each in group["params"]]
    except Exception:
        # An optimizer of the program's own may keep them anywhere.
        return 0
    return min((cleared.get(number, 0) for number in numbers), default=0)


def _only_of(optimizer: type, made: Any, step: Any) -> Any:
    # As what it is made of: it uses no name of this module.
    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (made if isinstance(self, optimizer) else step)(self, *args, **kwargs)

    stepping._hodo = made._hodo  # type: ignore[attr-defined]
    return stepping


def _is_hooked(step: Any) -> bool:
    return getattr(step, "_hodo", None) is _now


def _stepping(step: Any, is_compiling: Callable[[], bool]) -> Any:
    # It uses no name of this module: a class of a script is pickled by value, and this with it, to be
    # loaded where there is no hodo.
    now, place = _now, _place_of_closure(step)

    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return step(self, *args, **kwargs)
        spans = now.spans
        if spans is None:
            return step(self, *args, **kwargs)
        state = now.here.state
        if state.is_optimizing:
            state.stepped = True
            return step(self, *args, **kwargs)
        state.is_optimizing = True
        try:
            if not args and not kwargs:
                with spans.open("optimizer", now.steps_of(self, state)):
                    return step(self)
            with now.after_closure(spans, self, place) as span:
                return step(self, *span.around(args), **span.around_named(kwargs))
        finally:
            state.is_optimizing = False

    stepping._hodo = now  # type: ignore[attr-defined]
    return stepping


_NOWHERE = -1


def _place_of_closure(step: Any) -> int:
    """Which of a step's arguments is its closure, by the name that the step has for it."""
    for place, each in enumerate(parameters_of(step)[1:]):
        # Or handed on by what stands around the step: that does not tell the name.
        if each.name == "closure" or each.kind is each.VAR_POSITIONAL:
            return place
    return _NOWHERE


# Others that can be called, as a model or an object that knows more than the loss, are handed on as they are.
_CLOSURES = (FunctionType, MethodType, BuiltinFunctionType, functools.partial)


class _AfterClosure:
    """The scope of an optimizer's step. A closure, which computes the loss anew, comes before it when it
    is first called; an optimizer that calls it again does so inside."""

    def __init__(self, spans: Spans, optimizer: Any, place: int) -> None:
        self._spans, self._optimizer, self._place = spans, optimizer, place
        self._span: Any = None
        self._before: tuple[int, Mapping[int, int]] = (0, NONE_CLEARED)
        self._is_told = False

    def around(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Positional arguments of a step, with a closure that tells when it is done."""
        at = self._place
        if at == _NOWHERE or at >= len(args):
            return args
        return (*args[:at], self._told(args[at]), *args[at + 1 :])

    def around_named(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The same for those by keyword."""
        if "closure" in kwargs:
            kwargs["closure"] = self._told(kwargs["closure"])
        return kwargs

    def _told(self, closure: Any) -> Any:
        if type(closure) not in _CLOSURES:
            return closure

        @functools.wraps(closure)
        def told(*args: Any, **kwargs: Any) -> Any:
            is_first, self._is_told = not self._is_told, True
            if is_first:
                self._take_back()
            # What is computed meanwhile may be optimized too, as by an optimizer of its own.
            state = here.state
            before, state.is_optimizing = state.is_optimizing, False
            try:
                result = closure(*args, **kwargs)
            finally:
                state.is_optimizing = before
            if is_first:
                self._open()
            return result

        return told

    def _open(self) -> None:
        state = here.state
        self._before = state.backwards, state.cleared
        self._span = self._spans.open("optimizer", _now.steps_of(self._optimizer, state))
        self._span.__enter__()

    def _take_back(self) -> None:
        """The step begins later, after the closure."""
        span, self._span = self._span, None
        span._cancel()
        here.state.backwards, here.state.cleared = self._before

    def __enter__(self) -> _AfterClosure:
        self._open()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        here.state.backwards, here.state.cleared = 0, NONE_CLEARED
        # An optimizer may keep its closure and call it later, outside of any step.
        self._is_told = True
        if self._span is not None:
            self._span.__exit__(kind, error, trace)


def _scalers(torch: Any, spans: Spans, undo: Undo) -> None:
    """Steps through a GradScaler, which may leave them out; and the unscaling before them."""
    for home in (getattr(torch, "amp", None), torch.cuda.amp):
        scaler = getattr(home, "GradScaler", None)
        if scaler is None or "step" not in vars(scaler):
            continue
        undo.patch(scaler, "step", _scaled(scaler.step, spans, undo))
        undo.patch(scaler, "unscale_", _unscaled(scaler.unscale_, spans, undo))


def _scaled(step: Any, spans: Spans, undo: Undo) -> Any:
    @functools.wraps(step)
    def scaled(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        state = here.state
        if undo.done or state.is_optimizing or not self.is_enabled():
            return step(self, optimizer, *args, **kwargs)
        state.is_optimizing, state.stepped = True, False
        # Whether another's is called, as that of an optimizer of a class of its own, nobody tells.
        is_told = _is_hooked(optimizer.step)
        try:
            with spans.open("optimizer", {"scaled": True, **_now.steps_of(optimizer, state)}) as scope:
                result = step(self, optimizer, *args, **kwargs)
                if is_told and not state.stepped:
                    scope.set(skipped=True)
                return result
        finally:
            state.is_optimizing = False

    return scaled


def _unscaled(unscale: Any, spans: Spans, undo: Undo) -> Any:
    @functools.wraps(unscale)
    def unscaled(self: Any, *args: Any, **kwargs: Any) -> Any:
        if undo.done or not self.is_enabled():
            return unscale(self, *args, **kwargs)
        with spans.open("unscale"):
            return unscale(self, *args, **kwargs)

    return unscaled


def kinds_of(kind: Any) -> list[type]:
    """All classes below one."""
    found: list[type] = []
    for below in kind.__subclasses__():
        found += [below, *kinds_of(below)]
    return found


# Those there are, by number: whose gradients a backward pass adds to is known where there is one.
_known: dict[int, Any] = {}


def _meet(optimizer: Any) -> None:
    number = id(optimizer)
    if number not in _known or _known[number]() is not optimizer:
        _known[number] = weakref.ref(optimizer, lambda _: _known.pop(number, None) and None)
