"""torch: calls of modules, backward passes and steps of optimizers are scopes.

Wrappers ask first whether they are being compiled: for ``torch.compile`` the answer is a constant, so
it sees the function that they wrap and nothing else.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _graphs, _loop, _optimizer
from hodo.hooks._compiled import compiling
from hodo.hooks._leaves import Leaves
from hodo.hooks._spans import NOTHING, Spans, State, here


# What a module that torch.compile made calls the one that it is made of: no layer of its own.
COMPILED = "_orig_mod"
LOSS = "loss"


def install(undo: Undo, settings: Settings) -> None:
    """Hooks modules, autograd, optimizers, scalers and CUDA graphs."""
    import torch

    spans = Spans(torch, settings, undo)
    leaves = Leaves(torch, undo, is_on=settings.layers == 0)
    _loop.when_passing(leaves.look_again, undo)
    hooks = _Torch(torch, spans, undo, leaves)
    hooks.modules(settings.layers)
    hooks.autograd()
    _optimizer.install(torch, spans, undo, leaves.look_again)
    _graphs.install(torch, spans, undo)


class _Torch:
    """One hooking of torch's modules and of autograd."""

    def __init__(self, torch: Any, spans: Spans, undo: Undo, leaves: Leaves) -> None:
        self._torch, self._spans, self._undo, self._leaves = torch, spans, undo, leaves
        self._is_compiling = compiling(torch)
        # Of those by device each call would warn.
        any_autocast = getattr(torch._C, "_is_any_autocast_enabled", None)
        self._any_autocast = any_autocast or (
            lambda: torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
        )
        # By the parent's number, not in a WeakKeyDictionary: that is Python, which would be compiled.
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}
        self._usual: dict[type, tuple[str, str]] = {}
        """See ``State.usual``; empty while it is looked who calls what."""
        leaves.when_looking(self._usual.clear)
        # The threads have it beyond this hooking.
        undo.later(self._usual.clear)
        self._backward: Any = None
        """What the backward pass that is running is inside of, for threads of autograd's own."""

    def modules(self, layers: int) -> None:
        """The outermost module that is called, and those inside it down to ``layers``."""
        torch = self._torch
        module = torch.nn.Module
        call, is_compiling, undo = module.__call__, self._is_compiling, self._undo
        outermost, inner = self._outermost, self._inner
        events, scope, loops = self._spans.events, _hodo.scope, _loop.here
        any_autocast = self._any_autocast

        # Written out: most calls are of inner modules, or of the same outermost one again, and pay for
        # this and nothing else.
        def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return call(self, *args, **kwargs)
            state = here.state
            depth = state.depth
            if depth > layers or undo.done:
                return call(self, *args, **kwargs)
            usual = None if depth else state.usual.get(type(self))
            if (
                usual is None
                or events.left <= 0
                or not self.training
                or loops.fetching
                or any_autocast()
                or (usual[0] != LOSS and state.trained() is not self)
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
        self._leaves.call = call

    def _outermost(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        # Transforms of a dataset are modules too, a hundred a batch.
        if _loop.is_fetching():
            return call(module, *args, **kwargs)
        if state.is_foreign and self._backward is not None:
            with _hodo.attach(self._backward):
                return self._forward(state, call, module, args, kwargs)
        return self._forward(state, call, module, args, kwargs)

    def _forward(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        if self._leaves.is_new(module):
            self._leaves.outermost(module)
        state.depth = 1
        state.forwards += 1
        state.modules.append(module)
        kind, attrs = self._kind(state, module), self._attributes(module)
        try:
            with self._spans.open(kind, **attrs):
                return call(module, *args, **kwargs)
        finally:
            state.depth = 0
            state.modules.clear()
            if self._leaves.are_known and self._spans.are_plain:
                self._learn(state, module, kind, attrs["tag"])

    def _learn(self, state: State, module: Any, kind: str, tag: str) -> None:
        """What calls of this class are from now on, but for what is asked each time."""
        if not (state.is_backward or state.is_foreign):
            self._usual[type(module)] = (kind, tag)
            state.usual = self._usual

    def _kind(self, state: State, module: Any) -> str:
        torch = self._torch
        if isinstance(module, torch.nn.modules.loss._Loss):
            return LOSS
        if state.is_backward or (state.is_foreign and self._backward is not None):
            # As where activations are not kept but computed anew.
            return "recompute"
        if torch.is_grad_enabled() and (state.trained is None or state.trained() is not module):
            state.trained = weakref.ref(module)
        return "forward"

    def _attributes(self, module: Any) -> dict[str, Any]:
        made_of = module._modules.get(COMPILED)
        attrs: dict[str, Any] = {"tag": type(module if made_of is None else made_of).__name__}
        if not module.training:
            attrs["mode"] = "eval"
        if self._any_autocast():
            attrs["autocast"] = self._autocast()
        return attrs

    def _autocast(self) -> str:
        """The type that numbers are cast to."""
        torch = self._torch
        if torch.is_autocast_enabled():
            return str(torch.get_autocast_gpu_dtype())[6:]
        if hasattr(torch, "get_autocast_dtype"):
            return str(torch.get_autocast_dtype("cpu"))[6:]
        return str(torch.get_autocast_cpu_dtype())[6:]

    def _inner(self, state: State, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        depth = state.depth
        name = self._name(state.modules[-1], module)
        state.modules.append(module)
        try:
            if name == COMPILED:
                return call(module, *args, **kwargs)
            state.depth = depth + 1
            with self._spans.open(name, tag=type(module).__name__):
                return call(module, *args, **kwargs)
        finally:
            state.modules.pop()
            state.depth = depth

    def _name(self, parent: Any, module: Any) -> str:
        """What the parent calls a module: ``layers.3``, or by its kind too where that is a number."""
        known = self._names.get(id(parent))
        if known is None or known[0]() is not parent or id(module) not in known[1]:
            number, names = id(parent), {id(child): name for name, child in parent.named_modules()}
            # One that is no part of its caller goes by its class, and is not looked for again.
            names.setdefault(id(module), "")
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
        is_compiling, undo = self._is_compiling, self._undo

        @functools.wraps(run)
        def passing(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return run(*args, **kwargs)
            state = here.state
            if undo.done or state.is_backward or state.is_foreign:
                return run(*args, **kwargs)
            if not state.forwards:
                self._leaves.look_again()
            state.is_backward = True
            state.backwards += 1
            # Modules that are called meanwhile are called anew.
            depth, state.depth = state.depth, 0
            modules, state.modules = state.modules, []
            usual, state.usual = state.usual, NOTHING
            try:
                with self._spans.open("backward", **attrs):
                    self._backward = _hodo.current()
                    return run(*args, **kwargs)
            finally:
                self._backward = None
                state.is_backward = False
                state.forwards = 0
                state.depth, state.modules, state.usual = depth, modules, usual

        return passing
