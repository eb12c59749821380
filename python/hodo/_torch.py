"""What hodo and torch have to agree on: who has CUPTI, and whose gradient is being computed.

Torch is never imported here: what is imported already is looked at, and what is imported later is
looked at then.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from hodo import _hodo

_WHY = "torch.profiler has CUPTI"
# What nodes that only add to a gradient have instead of a number.
_NO_NUMBER = 2**64 - 1
_having: set[Any] = set()
"""The profiles of torch's that have it."""


def when_imported(name: str, action: Callable[[ModuleType], None]) -> None:
    """Calls ``action`` with the module ``name``, now or right after it is imported."""
    module = sys.modules.get(name)
    if module is not None and not _is_being_imported(module):
        action(module)
    elif not any(isinstance(one, _Watch) and one.is_for(name, action) for one in sys.meta_path):
        sys.meta_path.insert(0, _Watch(name, action))


def _is_being_imported(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _Watch:
    """Finds nothing; sees one module being looked for, and steps aside."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._action = action

    def is_for(self, name: str, action: Callable[[ModuleType], None]) -> bool:
        """Whether it waits for ``name`` to do ``action``."""
        return (self._name, self._action) == (name, action)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._action)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads as another does, then acts."""

    def __init__(self, loader: Any, action: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._action = action

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._action(module)
        except Exception as error:
            from hodo._control import _log

            _log().warning("this %s is not as hodo knows it: %r", module.__name__, error)


def share_cupti() -> None:
    """Lets ``torch.profiler`` have CUPTI while it runs, whenever torch is imported."""
    when_imported("torch.autograd.profiler", _share_cupti)


def _share_cupti(module: ModuleType) -> None:
    profile = module.profile
    if hasattr(profile, "_hodo"):
        return
    prepare, leave = profile._prepare_trace, profile.__exit__
    # Private to torch, and not in every version.
    start = getattr(profile, "_start_trace", None)

    def done(self: Any) -> None:
        # One that fails inside another, or is of the CPU alone, leaves CUPTI to the other.
        if self in _having:
            _having.discard(self)
            if not _having:
                _hodo.gpu_resume()

    @functools.wraps(prepare)
    def _prepare_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _wants_cuda(self):
            _having.add(self)
            _hodo.gpu_give_way(_WHY)
        try:
            return prepare(self, *args, **kwargs)
        except BaseException:
            done(self)
            raise

    @functools.wraps(leave)
    def __exit__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return leave(self, *args, **kwargs)
        finally:
            done(self)

    profile._prepare_trace = _prepare_trace
    profile.__exit__ = __exit__
    if start is not None:

        @functools.wraps(start)
        def _start_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return start(self, *args, **kwargs)
            except BaseException:
                done(self)
                raise

        profile._start_trace = _start_trace
    profile._hodo = True


def _wants_cuda(profile: Any) -> bool:
    """Whether a profile is of CUDA too; one that does not say so may be."""
    device = getattr(profile, "use_device", "cuda")
    return bool(getattr(profile, "enabled", True)) and device in ("cuda", None, True)


def by_layer() -> None:
    """Makes kernels of the backward pass also say which forward scope they belong to."""
    when_imported("torch.optim", _by_layer)


def _by_layer(_: ModuleType) -> None:
    autograd = sys.modules["torch.autograd"]
    if hasattr(autograd, "_hodo") or not _hodo.gpu_watch_forward(True):
        return
    for name, roots in (("backward", "tensors"), ("grad", "outputs")):
        setattr(autograd, name, _labelled(getattr(autograd, name), roots))
    autograd._hodo = True  # type: ignore[attr-defined]


def _labelled(run: Any, name: str) -> Any:
    """A function that computes gradients, of what it is passed first or as ``name``."""

    @functools.wraps(run)
    def labelled(*args: Any, **kwargs: Any) -> Any:
        hooks: list[Any] = []
        # Inside another pass, as where activations are computed anew: that one's node.
        before = _hodo.gpu_swap_forward(0)
        if _hodo.is_on():
            try:
                roots = args[0] if args else kwargs.get(name)
                roots = roots if isinstance(roots, (list, tuple)) else (roots,)
                _label(roots, before, hooks)
            except Exception as error:
                _warn(type(error).__name__, str(error))
        try:
            return run(*args, **kwargs)
        finally:
            _hodo.gpu_swap_forward(before)
            # A graph that is kept runs again, and is labelled again.
            for hook in hooks:
                hook.remove()

    return labelled


@functools.cache
def _warn(kind: str, text: str) -> None:
    from hodo._control import _log

    _log().warning("backward is not labelled by layer: %s: %s", kind, text)


def _label(tensors: Sequence[Any], otherwise: int, hooks: list[Any]) -> None:
    """Before each node of a graph runs, its thread says whose gradient it computes.

    Nodes that only add to a parameter's gradient say nothing: they run right after the one that
    computed it. Others whose scope is not known say ``otherwise``, for their thread still has that
    of the node before.
    """
    nodes = [tensor.grad_fn for tensor in tensors if getattr(tensor, "grad_fn", None) is not None]
    seen = set(nodes)
    while nodes:
        node = nodes.pop()
        number = node._sequence_nr()
        if number != _NO_NUMBER:
            scope = _hodo.gpu_forward_of(number) or otherwise
            hooks.append(node.register_prehook(functools.partial(_hodo.gpu_forward, scope)))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
