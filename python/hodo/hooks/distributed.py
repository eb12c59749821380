"""torch.distributed: collectives that the program calls, or a wrapper such as FSDP for it, are scopes."""

from __future__ import annotations

import functools
import threading
from typing import Any

from hodo import _hodo
from hodo.hooks import Settings, Undo
from hodo.hooks._compiled import compiling

COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
    "_all_gather_base",
    "_reduce_scatter_base",
)


class _Depth(threading.local):
    inside = False


_depth = _Depth()


def install(undo: Undo, settings: Settings) -> None:
    """Hooks the collectives; those of DDP are C++ of torch's own, inside ``backward``."""
    import torch
    from torch import distributed

    if not distributed.is_available():
        return
    home = distributed.distributed_c10d
    is_compiling = compiling(torch)
    for name in COLLECTIVES:
        run = vars(home).get(name)
        if callable(run):
            made = _collective(run, name.strip("_"), is_compiling, undo)
            undo.patch(home, name, made)
            if vars(distributed).get(name) is run:
                undo.patch(distributed, name, made)


def _collective(run: Any, name: str, is_compiling: Any, undo: Undo) -> Any:
    @functools.wraps(run)
    def collective(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return run(*args, **kwargs)
        # One collective of torch's may be made of others.
        if undo.done or _depth.inside:
            return run(*args, **kwargs)
        _depth.inside = True
        try:
            with _hodo.scope(name, **_attributes(args, kwargs)):
                return run(*args, **kwargs)
        finally:
            _depth.inside = False

    return collective


def _attributes(args: Any, kwargs: Any) -> dict[str, Any]:
    """The bytes of the largest tensor: what is sent or what is received by one rank."""
    sizes = [
        each.numel() * each.element_size()
        for each in (*args[:2], *kwargs.values())
        if hasattr(each, "element_size") and hasattr(each, "numel")
    ]
    return {"bytes": max(sizes)} if sizes else {}
