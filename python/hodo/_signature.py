"""What can be known of a function's arguments without evaluating what is not ours."""

from __future__ import annotations

import inspect
import sys
from typing import Any


def signature_of(function: Any) -> inspect.Signature | None:
    """The signature of what can be called; none where it has none, as some of those written in C."""
    try:
        if sys.version_info >= (3, 14):
            from annotationlib import Format

            # Annotations may name what is imported for type checkers alone.
            return inspect.signature(function, annotation_format=Format.FORWARDREF)
        return inspect.signature(function)
    # Whatever stands there is the program's own, and may raise anything when it is asked.
    except Exception:
        return None


def parameters_of(function: Any) -> list[inspect.Parameter]:
    """The parameters of what can be called; none where they cannot be told."""
    signature = signature_of(function)
    return [] if signature is None else list(signature.parameters.values())
