"""What hodo and torch have to agree on: who has CUPTI, and whose gradient is being computed.

Torch is never imported here: what is imported already is looked at, and what is imported later is
looked at then.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from hodo import _hodo
from hodo._imports import when_imported

_WHY = "torch.profiler has CUPTI"
# What nodes that only add to a gradient have instead of a number.
_NO_NUMBER = 2**64 - 1
_having: set[Any] = set()
"""The profiles of torch's that have it."""


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
