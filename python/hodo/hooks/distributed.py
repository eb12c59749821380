"""torch.distributed: collectives that the program calls, or a wrapper such as FSDP for it, are scopes."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import weakref
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo, _ddp
from hodo.hooks._compiled import compiling
from hodo.hooks._passes import Passes, passes_of
from hodo.hooks._spans import here

COLLECTIVES = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_into_tensor",
    "gather_object",
    "gather_single",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "_all_gather_base",
    "_reduce_scatter_base",
)
# Far longer than they need; a bucket that nobody waits for is not waited for longer.
MOST_WAIT_S = 0.2


class _Here(threading.local):
    inside = False
    """Whether this thread is in a collective: one of torch's may be made of others."""


_here = _Here()


def install(undo: Undo, settings: Settings) -> None:
    """Hooks the collectives, what waits for those that come back at once, and DDP."""
    import torch
    from torch import distributed

    if not distributed.is_available():
        return
    home = distributed.distributed_c10d
    hooks = _Collectives(undo, compiling(torch), passes_of(torch))
    for name in COLLECTIVES:
        run = vars(home).get(name)
        if callable(run):
            made = hooks.collective(run, name.strip("_"))
            undo.patch(home, name, made)
            if vars(distributed).get(name) is run:
                undo.patch(distributed, name, made)
    work = getattr(distributed, "Work", None) or home.Work
    undo.patch(work, "wait", hooks.wait(work.wait))
    _ddp.install(torch, undo, settings, hooks)


class _Collectives:
    """One hooking of the collectives."""

    def __init__(self, undo: Undo, is_compiling: Any, passes: Passes) -> None:
        self._undo, self.is_compiling = undo, is_compiling
        self.passes = Reduced(passes)
        self._under_way: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        """What was begun and may be waited for, by name."""

    def collective(self, run: Any, name: str) -> Any:
        """A collective with a scope: until it is done, or, if that is waited for later, begun."""
        undo, is_compiling = self._undo, self.is_compiling

        @functools.wraps(run)
        def collective(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return run(*args, **kwargs)
            if undo.done or _here.inside:
                return run(*args, **kwargs)
            with self.quiet(), self.passes.where(), _hodo.scope(name, **_attributes(args, kwargs)):
                result = run(*args, **kwargs)
            for work in result if isinstance(result, list) else (result,):
                self._begun(work, name)
            return result

        return collective

    def wait(self, run: Any) -> Any:
        """Waiting for a collective that came back at once."""
        undo = self._undo

        @functools.wraps(run)
        def wait(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if undo.done or _here.inside:
                return run(self_, *args, **kwargs)
            name = self._under_way.get(self_)
            with self.passes.where(), _hodo.scope("wait", tag=name):
                return run(self_, *args, **kwargs)

        return wait

    @contextlib.contextmanager
    def quiet(self) -> Any:
        """While it is entered, no collective of this thread has a scope."""
        before, _here.inside = _here.inside, True
        try:
            yield
        finally:
            _here.inside = before

    def _begun(self, work: Any, name: str) -> None:
        if hasattr(work, "wait"):
            with contextlib.suppress(TypeError):
                self._under_way[work] = name


class Reduced:
    """The backward pass that is running, whose gradients threads of torch's reduce."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes
        self.running: Any = None
        self.chained: set[int] = set()
        """What of ours threads of torch's still have, by number."""

    def settle(self) -> None:
        """Waits until threads of torch's have nothing of ours: they give it up as soon as they can run."""
        if not self.chained:
            return
        until = time.monotonic() + MOST_WAIT_S
        while self.chained and time.monotonic() < until:
            time.sleep(0)
        self.chained.clear()

    def where(self) -> Any:
        """Puts what this thread does where it belongs: into the backward pass that it works for, if it is torch's."""
        own = (self._passes.of_thread() or self.running) if here.state.is_foreign else None
        return contextlib.nullcontext() if own is None else _hodo.attach(own)


def _attributes(args: Any, kwargs: Any) -> dict[str, Any]:
    """The bytes of the largest tensor: what is sent or what is received by one rank."""
    sizes = [
        each.numel() * each.element_size()
        for each in (*args[:2], *kwargs.values())
        if hasattr(each, "element_size") and hasattr(each, "numel")
    ]
    attrs: dict[str, Any] = {"bytes": max(sizes)} if sizes else {}
    if kwargs.get("async_op"):
        attrs["async"] = True
    return attrs
