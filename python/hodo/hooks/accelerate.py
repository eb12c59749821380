"""accelerate: its loaders stand around torch's, and read a batch ahead."""

from __future__ import annotations

from hodo.hooks import Settings, Undo
from hodo.hooks.loader import hook


def install(undo: Undo, settings: Settings) -> None:
    """Hooks the loaders that ``Accelerator.prepare`` makes."""
    from accelerate import data_loader

    for name in ("DataLoaderShard", "DataLoaderDispatcher"):
        hook(undo, getattr(data_loader, name))
