"""pytorch_lightning: lightning by its other name, with classes of its own."""

from __future__ import annotations

from hodo.hooks import Settings, Undo
from hodo.hooks.lightning import install_in


def install(undo: Undo, settings: Settings) -> None:
    """Hooks the ``Trainer`` of ``pytorch_lightning``."""
    import pytorch_lightning

    install_in(pytorch_lightning, undo)
