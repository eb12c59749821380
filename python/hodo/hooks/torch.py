"""torch: calls of modules, backward passes and steps of optimizers are scopes.

Wrappers ask first whether they are being compiled: for ``torch.compile`` the answer is a constant, so
it sees the function that they wrap and nothing else.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _loop
from hodo.hooks._spans import Spans, here


def install(undo: Undo, settings: Settings) -> None:
    """Hooks modules, autograd, optimizers, scalers and CUDA graphs."""
    import torch

    hooks = _Torch(torch, undo, settings)
    _now.spans = hooks.spans
    undo.later(_now.off)
    hooks.modules(settings.layers)
    hooks.autograd()
    hooks.optimizers()
    hooks.scalers()
    hooks.graphs()


class _Now:
    """The hooking that is on. Schedules keep the step that an optimizer had when they were made, also
    beyond the hooking that it was of: so that looks here."""

    spans: Spans | None = None

    def off(self) -> None:
        """None is on."""
        self.spans = None


_now = _Now()


def compiling(torch: Any) -> Callable[[], bool]:
    """The function that says whether the caller is being compiled."""
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return asked or (lambda: False)


def hide(wrapper: Any) -> None:
    """Keeps ``torch.compile`` from starting at a wrapper: it starts at what that calls, as without."""
    try:
        from torch._C._dynamo.eval_frame import skip_code  # type: ignore[import-not-found]
    except ImportError:
        return
    skip_code(wrapper.__code__)


class _Torch:
    """One hooking of torch."""

    def __init__(self, torch: Any, undo: Undo, settings: Settings) -> None:
        self._torch, self._undo = torch, undo
        self.spans = Spans(torch, settings, undo)
        self._is_compiling = compiling(torch)
        self._names: weakref.WeakKeyDictionary[Any, dict[int, str]] = weakref.WeakKeyDictionary()
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
        hide(__call__)
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
            with self.spans.open(self._kind(module), **self._attributes(module)):
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
        # What torch.compile made says by this what it made it of.
        made_of = module._modules.get("_orig_mod")
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
        here.depth = depth + 1
        name = self._name(here.modules[-1], module)
        here.modules.append(module)
        try:
            with self.spans.open(name, tag=type(module).__name__):
                return call(module, *args, **kwargs)
        finally:
            here.modules.pop()
            here.depth = depth

    def _name(self, parent: Any, module: Any) -> str:
        """What the parent calls a module: ``layers.3``, or by its kind too where that is a number."""
        names = self._names.get(parent)
        if names is None or id(module) not in names:
            names = {id(child): name for name, child in parent.named_modules()}
            self._names[parent] = names
        name, kind = names.get(id(module), ""), type(module).__name__
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
                with self.spans.open("backward", **attrs):
                    self._backward = _hodo.current()
                    return run(*args, **kwargs)
            finally:
                self._backward = None
                here.is_backward = False
                here.depth, here.modules = depth, modules

        hide(passing)
        return passing

    def optimizers(self) -> None:
        """The steps of all optimizers, whatever their class."""
        optimizer = self._torch.optim.Optimizer
        begin = optimizer.__init__

        @functools.wraps(begin)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            begin(self, *args, **kwargs)
            if not undo.done:
                hook(type(self))

        def hook(kind: type) -> None:
            for each in kind.__mro__[: kind.__mro__.index(optimizer)]:
                step = vars(each).get("step")
                if step is not None and not hasattr(step, "_hodo"):
                    undo.patch(each, "step", stepping(step))

        undo, stepping = self._undo, self._stepping
        undo.patch(optimizer, "__init__", __init__)
        # torch marks the classes that have objects.
        for kind in _kinds_of(optimizer):
            if getattr(vars(kind).get("step"), "hooked", False):
                hook(kind)

    def _stepping(self, step: Any) -> Any:
        is_compiling = self._is_compiling

        @functools.wraps(step)
        def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return step(self, *args, **kwargs)
            spans = _now.spans
            if spans is None or here.is_optimizing:
                here.stepped = True
                return step(self, *args, **kwargs)
            here.is_optimizing = True
            span = _AfterClosure(spans, self)
            try:
                with span:
                    return step(self, *span.around(args), **span.around_named(kwargs))
            finally:
                here.is_optimizing = False

        stepping._hodo = True  # type: ignore[attr-defined]
        hide(stepping)
        return stepping

    def scalers(self) -> None:
        """Steps through a GradScaler, which may leave them out; and the unscaling before them."""
        amp = getattr(self._torch, "amp", None)
        for home in (amp, self._torch.cuda.amp):
            scaler = getattr(home, "GradScaler", None)
            if scaler is None or "step" not in vars(scaler):
                continue
            self._undo.patch(scaler, "step", self._scaled(scaler.step))
            self._undo.patch(scaler, "unscale_", self._unscaled(scaler.unscale_))

    def _scaled(self, step: Any) -> Any:
        undo, spans = self._undo, self.spans

        @functools.wraps(step)
        def scaled(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if undo.done or here.is_optimizing or not self.is_enabled():
                return step(self, optimizer, *args, **kwargs)
            here.is_optimizing, here.stepped = True, False
            try:
                with spans.open("optimizer", scaled=True, **_steps_of(optimizer)) as scope:
                    result = step(self, optimizer, *args, **kwargs)
                    if not here.stepped:
                        scope.set(skipped=True)
                    return result
            finally:
                here.is_optimizing = False

        return scaled

    def _unscaled(self, unscale: Any) -> Any:
        undo, spans = self._undo, self.spans

        @functools.wraps(unscale)
        def unscaled(self: Any, *args: Any, **kwargs: Any) -> Any:
            if undo.done or not self.is_enabled():
                return unscale(self, *args, **kwargs)
            with spans.open("unscale"):
                return unscale(self, *args, **kwargs)

        return unscaled

    def graphs(self) -> None:
        """Captures and replays of CUDA graphs."""
        graphs, undo, spans = self._torch.cuda.graphs, self._undo, self.spans
        replay, enter, leave = (
            graphs.CUDAGraph.replay,
            graphs.graph.__enter__,
            graphs.graph.__exit__,
        )

        @functools.wraps(replay)
        def replayed(self: Any) -> Any:
            if undo.done:
                return replay(self)
            with spans.open("graph_replay"):
                return replay(self)

        @functools.wraps(enter)
        def __enter__(self: Any) -> Any:
            spans.events.captures += 1
            self._hodo = None if undo.done else _hodo.scope("graph_capture").__enter__()
            try:
                return enter(self)
            except BaseException as error:
                done(self, error)
                raise

        @functools.wraps(leave)
        def __exit__(self: Any, *args: Any) -> Any:
            try:
                return leave(self, *args)
            finally:
                done(self, args[1] if len(args) > 1 else None)

        def done(graph: Any, error: Any) -> None:
            scope = graph.__dict__.pop("_hodo", None)
            if scope is not None:
                scope.__exit__(None if error is None else type(error), error, None)
            spans.events.captures = max(0, spans.events.captures - 1)

        undo.patch(graphs.CUDAGraph, "replay", replayed)
        undo.patch(graphs.graph, "__enter__", __enter__)
        undo.patch(graphs.graph, "__exit__", __exit__)


class _AfterClosure:
    """The scope of an optimizer's step. A closure, which computes the loss anew, comes before it when it
    is first called; an optimizer that calls it again does so inside."""

    def __init__(self, spans: Spans, optimizer: Any) -> None:
        self.spans, self._optimizer = spans, optimizer
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
            here.is_optimizing = False
            try:
                result = closure(*args, **kwargs)
            finally:
                here.is_optimizing = True
            self._open()
            return result

        return told

    def _open(self) -> None:
        if self._span is None:
            span = self.spans.open("optimizer", **_steps_of(self._optimizer))
            span.__enter__()
            self._span = span

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._span is not None:
            self._span.__exit__(kind, error, trace)


def _kinds_of(kind: type) -> list[type]:
    """All classes below one."""
    found = []
    for each in kind.__subclasses__():
        found += [each, *_kinds_of(each)]
    return found


def _steps_of(optimizer: Any) -> dict[str, Any]:
    """What is said of an optimizer's step: how many backward passes it is of, where not one."""
    backwards, here.backwards = here.backwards, 0
    attrs: dict[str, Any] = {"tag": type(optimizer).__name__}
    if backwards > 1:
        attrs["accumulated"] = backwards
    return attrs
