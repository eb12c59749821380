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
from hodo.hooks._spans import Spans, here


# What a module that torch.compile made calls the one that it is made of: no layer of its own.
COMPILED = "_orig_mod"


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
        # By the parent's number, not in a WeakKeyDictionary: that is Python, which would be compiled.
        self._names: dict[int, tuple[Any, dict[int, str]]] = {}
        self._backward: Any = None
        """What the backward pass that is running is inside of, for threads of autograd's own."""

    def modules(self, layers: int) -> None:
        """The outermost module that is called, and those inside it down to ``layers``."""
        module = self._torch.nn.Module
        call, is_compiling, undo = module.__call__, self._is_compiling, self._undo
        outermost, inner = self._outermost, self._inner

        # Written out: most calls are of inner modules, which pay for this and nothing else.
        def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return call(self, *args, **kwargs)
            depth = here.depth
            if depth > layers or undo.done:
                return call(self, *args, **kwargs)
            return (inner if depth else outermost)(call, self, args, kwargs)

        functools.update_wrapper(__call__, call)
        undo.patch(module, "__call__", __call__)

    def _outermost(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        # Transforms of a dataset are modules too, a hundred a batch.
        if _loop.is_fetching():
            return call(module, *args, **kwargs)
        if here.is_foreign and self._backward is not None:
            with _hodo.attach(self._backward):
                return self._forward(call, module, args, kwargs)
        return self._forward(call, module, args, kwargs)

    def _forward(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        here.depth = 1
        here.modules.append(module)
        try:
            with self._spans.open(self._kind(module), **self._attributes(module)):
                return call(module, *args, **kwargs)
        finally:
            here.depth = 0
            here.modules.clear()

    def _kind(self, module: Any) -> str:
        torch = self._torch
        if isinstance(module, torch.nn.modules.loss._Loss):
            return "loss"
        if here.is_backward or (here.is_foreign and self._backward is not None):
            # As where activations are not kept but computed anew.
            return "recompute"
        if torch.is_grad_enabled() and (here.trained is None or here.trained() is not module):
            here.trained = weakref.ref(module)
        return "forward"

    def _attributes(self, module: Any) -> dict[str, Any]:
        made_of = module._modules.get(COMPILED)
        attrs: dict[str, Any] = {"tag": type(module if made_of is None else made_of).__name__}
        if not module.training:
            attrs["mode"] = "eval"
        if self._torch.is_autocast_enabled():
            attrs["autocast"] = str(self._torch.get_autocast_gpu_dtype())[6:]
        elif self._torch.is_autocast_cpu_enabled():
            attrs["autocast"] = str(self._torch.get_autocast_cpu_dtype())[6:]
        return attrs

    def _inner(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        depth = here.depth
        name = self._name(here.modules[-1], module)
        here.modules.append(module)
        try:
            if name == COMPILED:
                return call(module, *args, **kwargs)
            here.depth = depth + 1
            with self._spans.open(name, tag=type(module).__name__):
                return call(module, *args, **kwargs)
        finally:
            here.modules.pop()
            here.depth = depth

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
            if undo.done or here.is_backward or here.is_foreign:
                return run(*args, **kwargs)
            here.is_backward = True
            here.backwards += 1
            # Modules that are called meanwhile are called anew.
            depth, here.depth = here.depth, 0
            modules, here.modules = here.modules, []
            try:
                with self._spans.open("backward", **attrs):
                    self._backward = _hodo.current()
                    return run(*args, **kwargs)
            finally:
                self._backward = None
                here.is_backward = False
                here.depth, here.modules = depth, modules

        return passing
