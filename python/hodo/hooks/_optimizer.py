"""torch's optimizers: each step is a scope, also through a GradScaler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hodo.hooks import Undo
from hodo.hooks._compiled import compiling
from hodo.hooks._spans import Spans, here


class _Now:
    """The hooking that is on. Schedules keep the step that an optimizer had when they were made, also
    beyond the hooking that it was of: so that looks here."""

    spans: Spans | None = None

    def off(self) -> None:
        """None is on."""
        self.spans = None


_now = _Now()


def install(torch: Any, spans: Spans, undo: Undo, made: Callable[[], None]) -> None:
    """Hooks optimizers and scalers; ``made`` is called when an optimizer is."""
    _now.spans = spans
    undo.later(_now.off)
    _optimizers(torch, undo, made)
    _scalers(torch, spans, undo)


def _optimizers(torch: Any, undo: Undo, made: Callable[[], None]) -> None:
    """The steps of all optimizers, whatever their class; ``made`` is called with each new one."""
    optimizer, is_compiling = torch.optim.Optimizer, compiling(torch)
    begin = optimizer.__init__

    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        if not undo.done:
            hook(type(self))
            made()

    def hook(kind: type) -> None:
        for each in kind.__mro__[: kind.__mro__.index(optimizer)]:
            step = vars(each).get("step")
            if step is not None and not hasattr(step, "_hodo"):
                undo.patch(each, "step", _stepping(step, is_compiling))

    undo.patch(optimizer, "__init__", __init__)
    # torch marks the classes that have objects.
    for kind in _kinds_of(optimizer):
        if getattr(vars(kind).get("step"), "hooked", False):
            hook(kind)


def _stepping(step: Any, is_compiling: Callable[[], bool]) -> Any:
    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return step(self, *args, **kwargs)
        spans, state = _now.spans, here.state
        if spans is None or state.is_optimizing:
            state.stepped = True
            return step(self, *args, **kwargs)
        state.is_optimizing = True
        try:
            if not args and not kwargs:
                with spans.open("optimizer", **_steps_of(self)):
                    return step(self)
            with _AfterClosure(spans, self) as span:
                return step(self, *span.around(args), **span.around_named(kwargs))
        finally:
            state.is_optimizing = False

    stepping._hodo = True  # type: ignore[attr-defined]
    return stepping


class _AfterClosure:
    """The scope of an optimizer's step. A closure, which computes the loss anew, comes before it when it
    is first called; an optimizer that calls it again does so inside."""

    def __init__(self, spans: Spans, optimizer: Any) -> None:
        self._spans, self._optimizer = spans, optimizer
        self._span: Any = None
        self._waits = False

    def around(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Positional arguments of a step, with a closure that tells when it is done."""
        return (self._told(args[0]), *args[1:]) if args else args

    def around_named(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The same for those by keyword."""
        if "closure" in kwargs:
            kwargs["closure"] = self._told(kwargs["closure"])
        if not self._waits:
            self._open()
        return kwargs

    def _told(self, closure: Any) -> Any:
        if not callable(closure):
            return closure
        self._waits = True

        @functools.wraps(closure)
        def told(*args: Any, **kwargs: Any) -> Any:
            # What is computed meanwhile may be optimized too, as by an optimizer of its own.
            state = here.state
            state.is_optimizing = False
            try:
                result = closure(*args, **kwargs)
            finally:
                state.is_optimizing = True
            self._open()
            return result

        return told

    def _open(self) -> None:
        if self._span is None:
            span = self._spans.open("optimizer", **_steps_of(self._optimizer))
            span.__enter__()
            self._span = span

    def __enter__(self) -> _AfterClosure:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
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
        try:
            with spans.open("optimizer", scaled=True, **_steps_of(optimizer)) as scope:
                result = step(self, optimizer, *args, **kwargs)
                if not state.stepped:
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


def _kinds_of(kind: Any) -> list[type]:
    """All classes below one."""
    found: list[type] = []
    for below in kind.__subclasses__():
        found += [below, *_kinds_of(below)]
    return found


def _steps_of(optimizer: Any) -> dict[str, Any]:
    """What is said of an optimizer's step: how many backward passes it is of, where not one."""
    state = here.state
    backwards, state.backwards = state.backwards, 0
    attrs: dict[str, Any] = {"tag": type(optimizer).__name__}
    if backwards > 1:
        attrs["accumulated"] = backwards
    return attrs
