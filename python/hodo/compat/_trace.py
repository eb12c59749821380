"""What a program recorded, in the shapes that cirron-sdk gives it."""

from __future__ import annotations

from typing import Any

import hodo


def trace(run: str | None, format: str, name: str | None, last: int | None) -> Any:
    """``ci.trace``: prints the tree, or gives the run as ``format`` says."""
    return hodo.trace(run, format=format, name=name, last=last)
