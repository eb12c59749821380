"""torch: calls of modules, backward passes and steps of optimizers are scopes.

Wrappers ask first whether they are being compiled: for ``torch.compile`` the answer is a constant, so
it sees the function that they wrap and nothing else.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

from hodo import _hodo
from hodo._signature import signature_of
from hodo.hooks import Settings, Undo, _graphs, _loop, _optimizer
from hodo.hooks._compiled import compiling
from hodo.hooks._passes import passes_of
from hodo.hooks._spans import NOTHING, Spans, State, here


# What a module that torch.compile made calls the one that it is made of: no layer of its own.
COMPILED = "_orig_mod"
# Modules that are no part of their caller, of which one caller remembers so many.
MOST_NOT_FOUND = 1000
LOSS = "loss"


def install(undo: Undo, settings: Settings) -> None:
    """Hooks modules, autograd, optimizers, scalers and CUDA graphs."""
    import torch

    spans = Spans(torch, settings, undo)
    hooks = _Torch(torch, spans, undo)
    hooks.modules(settings.layers)
    hooks.autograd()
    _optimizer.install(torch, spans, undo)
    _graphs.install(torch, spans, undo)


class _Torch:
    """One hooking of torch's modules and of autograd."""

    def __init__(self, torch: Any, spans: Spans, undo: Undo) -> None:
        self._torch, self._spans, self._undo = torch, spans, undo
        self._is_compiling = compiling(torch)
        # Of those by device each call would warn.
        any_autocast = getattr(torch._C, "_is_any_autocast_enabled", None)
        self._any_autocast = any_autocast or (
            lambda: torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
        )
        # By the parent's number, not in a WeakKeyDictionary: that is Python, which would be compiled.
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}
        self._trained: dict[int, Any] = {}
        """Those with something to train: a program may call several in turn."""
        # By the number of the class, which nothing here keeps: some are made while the program runs.
        self._usual: dict[int, tuple[str, str, Any]] | None = None
        """See ``State.usual``; None where layers have scopes too."""
        self._passes = passes_of(torch)

    def modules(self, layers: int) -> None:
        """The outermost module that is called, and those inside it down to ``layers``."""
        module = self._torch.nn.Module
        if layers == 0:
            self._usual = {}
            # The threads have it beyond this hooking.
            self._undo.later(self._usual.clear)
        call, is_compiling, undo = module.__call__, self._is_compiling, self._undo
        outermost, inner = self._outermost, self._inner
        spans, events, scope = self._spans, self._spans.events, _hodo.scope
        any_autocast = self._any_autocast
        # torch's own does nothing but look for a compiled one: that saves a call of Python's.
        is_torchs = call is vars(module).get("_wrapped_call_impl")

        # Written out: most calls are of inner modules, or of the same outermost one again, and pay for
        # this and nothing else.
        def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return call(self, *args, **kwargs)
            state = here.state
            depth = state.depth
            if depth > layers or undo.done:
                if is_torchs and self._compiled_call_impl is None:
                    return self._call_impl(*args, **kwargs)
                return call(self, *args, **kwargs)
            usual = None if depth else state.usual.get(id(type(self)))
            if (
                usual is None
                or events.left <= 0
                or not spans.are_plain
                or self.training is not True
                or state.fetching
                or any_autocast()
                or (state.trained() is not self and usual[0] != LOSS)
            ):
                return (inner if depth else outermost)(state, call, self, args, kwargs)
            events.left -= 1
            state.depth = 1
            state.forwards += 1
            try:
                with scope(usual[0], tag=usual[1]):
                    return call(self, *args, **kwargs)
            finally:
                state.depth = 0

        functools.update_wrapper(__call__, call)
        undo.patch(module, "__call__", __call__)

    def _outermost(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        # Transforms of a dataset are modules too, a hundred a batch.
        if _loop.is_fetching():
            return call(module, *args, **kwargs)
        # One that makes a pass itself is in it.
        if state.is_foreign and not state.backward and (own := self._passes.of_thread()):
            with _hodo.attach(own):
                return self._forward(state, call, module, args, kwargs)
        return self._forward(state, call, module, args, kwargs)

    def _forward(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        kind, attrs = self._described(state, module)
        opened = self._spans.open(kind, attrs)
        if state.backward or state.is_foreign:
            opened = _Again(opened)
        state.forwards += 1
        state.evals += "mode" in attrs and kind != LOSS
        try:
            state.depth = 1
            state.modules.append(module)
            with opened:
                return call(module, *args, **kwargs)
        finally:
            state.depth = 0
            state.modules.clear()
            self._learn(state, module, kind, attrs.get("tag"))

    def _described(self, state: State, module: Any) -> tuple[str, dict[str, Any]]:
        """What is said of a call. Whatever a class of the program's own does when it is asked, it is called."""
        kind = "forward"
        try:
            kind = self._kind(state, module)
            return kind, self._attributes(module)
        except Exception:
            return kind, {}

    def _learn(self, state: State, module: Any, kind: str, tag: str | None) -> None:
        """What calls of this class are from now on, but for what is asked each time."""
        if self._usual is None or state.backward or state.is_foreign:
            return
        # All that are compiled are of one class.
        if tag is not None and tag == type(module).__name__ and not self._undo.done:
            usual, number = self._usual, id(type(module))
            if number not in usual:
                gone = weakref.ref(type(module), lambda _: usual.pop(number, None) and None)
                usual[number] = (kind, tag, gone)
            state.usual = usual

    def _kind(self, state: State, module: Any) -> str:
        torch = self._torch
        if isinstance(module, torch.nn.modules.loss._Loss):
            return LOSS
        if state.backward or (state.is_foreign and self._passes.of_thread()):
            # As where activations are not kept but computed anew.
            return "recompute"
        if torch.is_grad_enabled() and state.trained() is not module:
            state.trained = self._trainable(module) or state.trained
        return "forward"

    def _trainable(self, module: Any) -> Any:
        """A weak reference to a module whose mode tells; None for one that has nothing to train, as a loss,
        which is in the mode of training whatever the program does."""
        number = id(module)
        known = self._trained.get(number)
        if known is not None and known() is module:
            return known
        if getattr(module, "training", False) and not _has_parameters(module):
            return None
        gone = weakref.ref(module, lambda _: self._trained.pop(number, None) and None)
        self._trained[number] = gone
        return gone

    def _attributes(self, module: Any) -> dict[str, Any]:
        attrs: dict[str, Any] = {"tag": _class_of(module)}
        # A frozen one has no mode.
        if not getattr(module, "training", True):
            attrs["mode"] = "eval"
        if self._any_autocast():
            attrs["autocast"] = self._autocast()
        return attrs

    def _autocast(self) -> str:
        """The type that numbers are cast to."""
        torch = self._torch
        device = "cuda" if torch.is_autocast_enabled() else "cpu"
        # By their own names, which newer ones warn of.
        older = {"cuda": "get_autocast_gpu_dtype", "cpu": "get_autocast_cpu_dtype"}
        if hasattr(torch, "get_autocast_dtype"):
            return str(torch.get_autocast_dtype(device))[6:]
        return str(getattr(torch, older[device])())[6:]

    def _inner(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        depth = state.depth
        # Nobody knows whose it is in a call that began before layers were asked for.
        name = self._name(state.modules[-1], module) if state.modules else type(module).__name__
        try:
            state.modules.append(module)
            if name == COMPILED:
                return call(module, *args, **kwargs)
            state.depth = depth + 1
            opened = self._spans.open(name, {"tag": type(module).__name__})
            if state.backward or state.is_foreign:
                opened = _Again(opened)
            with opened:
                return call(module, *args, **kwargs)
        finally:
            state.modules.pop()
            state.depth = depth

    def _name(self, parent: Any, module: Any) -> str:
        """What the parent calls a module: ``layers.3``, or by its kind too where that is a number."""
        known = self._names.get(id(parent))
        if known is None or known[0]() is not parent or id(module) not in known[1]:
            number, names = id(parent), _names_in(parent)
            # One that is no part of its caller goes by its class, and is not looked for again.
            names.setdefault(id(module), "")
            if known is not None and known[0]() is parent and len(known[1]) < len(names) + MOST_NOT_FOUND:
                names = {**{each: "" for each, name in known[1].items() if not name}, **names}
            gone = weakref.ref(parent, lambda _: self._names.pop(number, None) and None)
            known = self._names[number] = (gone, names)
        name, kind = known[1].get(id(module), ""), type(module).__name__
        return f"{kind}.{name}" if name.isdecimal() else name or kind

    def autograd(self) -> None:
        """Every way into the backward pass; ``Tensor.backward`` goes through the first."""
        autograd = self._torch.autograd
        for name, attrs in (("backward", {}), ("grad", {"tag": "grad"})):
            self._undo.patch(autograd, name, self._passing(getattr(autograd, name), attrs))

    def _passing(self, run: Any, attrs: dict[str, str]) -> Any:
        is_compiling, undo, opened, current = self._is_compiling, self._undo, self._spans.open, _hodo.current
        passes = self._passes

        @functools.wraps(run)
        def passing(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return run(*args, **kwargs)
            state = here.state
            if undo.done or state.is_tracing:
                return run(*args, **kwargs)
            if around := state.backward or (state.is_foreign and passes.of_thread()):
                return passes.run_inside(around, run, args, kwargs)
            # Those for gradients that are handed out add to none.
            state.backwards += not attrs
            # Modules that are called meanwhile are called anew.
            before = state.depth, state.modules, state.usual
            state.depth, state.modules, state.usual = 0, [], NOTHING
            try:
                with opened("backward", attrs):
                    state.backward = own = current()
                    return passes.run(own, run, args, kwargs)
            finally:
                state.backward = None
                state.forwards = 0
                state.depth, state.modules, state.usual = before

        # `inspect.getfullargspec` does not look at what is wrapped, which may be anything that can be called.
        signature = signature_of(run)
        if signature is not None:
            passing.__signature__ = signature  # type: ignore[attr-defined]
        return passing


class _Again:
    """The scope of a module that is called anew. Torch leaves it by an exception of its own as soon as it
    has what it needs: that is no failure."""

    __slots__ = ("_opened",)

    def __init__(self, opened: Any) -> None:
        self._opened = opened

    def __enter__(self) -> Any:
        return self._opened.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and isinstance(error, _enough()):
            kind = error = trace = None
        self._opened.__exit__(kind, error, trace)


def _enough() -> Any:
    """The exception by which torch stops computing anew; nothing where it has none."""
    checkpoint = sys.modules.get("torch.utils.checkpoint")
    return getattr(checkpoint, "_StopRecomputationError", ())


def _has_parameters(module: Any) -> bool:
    """Whether there is something to train."""
    try:
        # A method of the program's own may give a list.
        return any(True for _ in module.parameters())
    except Exception:
        # Or ask for more. A class that left out `super().__init__()` is told of that when it is called.
        return "_parameters" in vars(module)


def _names_in(parent: Any) -> dict[int, str]:
    """What a module calls those inside it, by their numbers."""
    try:
        return {id(child): name for name, child in parent.named_modules()}
    except Exception:
        # As above: a method of the program's own.
        return {}


def _class_of(module: Any) -> str:
    """The name of the class that a module is of; of the one that it was compiled or scripted from."""
    # The modules of a scripted one are in a dictionary of its own kind.
    parts = getattr(module, "_modules", None)
    made_of = parts.get(COMPILED) if isinstance(parts, dict) else None
    try:
        name = getattr(module, "original_name", None) if made_of is None else type(made_of).__name__
    except Exception:
        # A `__getattr__` of the program's own may raise anything.
        name = None
    return name if isinstance(name, str) else type(module).__name__
