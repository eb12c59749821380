"""JAX: calls of jitted functions, what is compiled for them, and waits for what they compute."""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo

# What JAX tells of, and the scope that shows it.
_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


def install(undo: Undo, settings: Settings) -> None:
    """Hooks functions that are jitted from now on, compiling, and waiting."""
    jax = sys.modules["jax"]
    for name in ("jit", "pmap"):
        undo.patch(jax, name, _jit(undo, getattr(jax, name)))
    _stages(undo, jax)
    _waits(undo, jax)


def _jit(undo: Undo, jit: Callable[..., Any]) -> Callable[..., Any]:
    """``jax.jit``, with calls of what it makes in a scope."""
    is_running = getattr(sys.modules.get("jax._src.core"), "trace_state_clean", lambda: True)

    def called(function: Any) -> Any:
        return Jitted(function, undo, is_running) if callable(function) else function

    @functools.wraps(jit)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        made = jit(*args, **kwargs)
        if args or "fun" in kwargs:
            return called(made)
        # Without a function, as in `@jax.jit(static_argnames="n")`, it made a decorator.
        return lambda function: called(made(function))

    return hooked


class Jitted:
    """A jitted function whose calls are scopes; in everything else it is that function."""

    def __init__(self, inner: Any, undo: Undo, is_running: Callable[[], bool]) -> None:
        functools.update_wrapper(self, inner, updated=())
        self.__wrapped__ = getattr(inner, "__wrapped__", inner)
        self._hodo_inner = inner
        self._hodo_undo = undo
        self._hodo_is_running = is_running
        name = getattr(inner, "__qualname__", None) or getattr(inner, "__name__", None) or "jit"
        self._hodo_scope = _hodo.scope(str(name).rpartition("<locals>.")[2], tag="jit")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # While another function is traced this one is not run, only seen.
        if self._hodo_undo.done or not _hodo.is_on() or not self._hodo_is_running():
            return self._hodo_inner(*args, **kwargs)
        with _hodo.again(self._hodo_scope):
            return self._hodo_inner(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_hodo_"):
            raise AttributeError(name)
        return getattr(self._hodo_inner, name)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As the function's own."""
        return self._hodo_inner.lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """As the function's own."""
        return self._hodo_inner.trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As the function's own."""
        return self._hodo_inner.eval_shape(*args, **kwargs)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._hodo_inner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # As the function's own, so that it is loaded where there is no hodo.
        return self._hodo_inner.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self._hodo_inner)


class _Here(threading.local):
    def __init__(self) -> None:
        self.stages: list[tuple[str, _hodo.Scope]] = []
        self.is_waiting = False


_here = _Here()


def _stages(undo: Undo, jax: Any) -> None:
    """Tracing, lowering and compiling as scopes, by what JAX tells of when each begins and ends."""
    monitoring = jax.monitoring

    def begins(event: str, value: Any = None, fun_name: Any = None, **_: Any) -> None:
        if event in _STAGES and not undo.done and _hodo.is_on():
            scope = _hodo.scope(_STAGES[event])
            scope.__enter__()
            if fun_name is not None:
                scope.set(function=str(fun_name))
            _here.stages.append((event, scope))

    def ends(event: str, seconds: float, **_: Any) -> None:
        if event not in _STAGES:
            return
        if any(begun == event for begun, _ in _here.stages):
            while True:
                begun, scope = _here.stages.pop()
                scope.__exit__(None, None, None)
                if begun == event:
                    return
        if not undo.done and _hodo.is_on():
            # A release that does not tell of the beginning.
            _hodo.mark(f"{_STAGES[event]}_ms", seconds * 1e3, "summary")

    listen = getattr(monitoring, "register_scalar_listener", None)
    if listen is not None:
        listen(begins)
        _forget(undo, monitoring, "unregister_scalar_listener", begins)
    monitoring.register_event_duration_secs_listener(ends)
    _forget(undo, monitoring, "unregister_event_duration_listener", ends)


def _forget(undo: Undo, monitoring: Any, name: str, listener: Any) -> None:
    """Undoes a listener, where this release can; elsewhere it stays and does nothing."""
    forget = getattr(monitoring, name, None)
    if forget is not None:
        undo.later(functools.partial(forget, listener))


def _waits(undo: Undo, jax: Any) -> None:
    """Waiting for the device as scopes: asked for, or because a value is read."""
    array = sys.modules.get("jax._src.array")
    kind = getattr(array, "ArrayImpl", None)
    undo.patch(jax, "block_until_ready", _waiting(undo, "block_until_ready", jax.block_until_ready))
    if kind is None:
        return
    own = "block_until_ready"
    undo.patch(kind, own, _waiting(undo, own, getattr(kind, own)))
    value = vars(kind).get("_value")
    if isinstance(value, property) and value.fget is not None:
        undo.patch(kind, "_value", property(_fetching(undo, value.fget)))


def _fetching(undo: Undo, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    wait = _waiting(undo, "device_get", read)

    def fetch(array: Any) -> Any:
        # One that was read before is here already.
        is_here = getattr(array, "_npy_value", None) is not None
        return read(array) if is_here else wait(array)

    return fetch


def _waiting(undo: Undo, name: str, wait: Callable[..., Any]) -> Callable[..., Any]:
    # Methods written in C++ have no such names as functions have.
    words = functools.WRAPPER_ASSIGNMENTS
    told = [word for word in words if isinstance(getattr(wait, word, None), str)]

    @functools.wraps(wait, told)
    def waited(*args: Any, **kwargs: Any) -> Any:
        if _here.is_waiting or undo.done or not _hodo.is_on():
            return wait(*args, **kwargs)
        _here.is_waiting = True
        try:
            with _hodo.scope(name):
                return wait(*args, **kwargs)
        finally:
            _here.is_waiting = False

    return waited
