"""Wrappers of functions that ``torch.compile`` may come across.

They ask first whether they are being compiled. For the compiler the answer is a constant, so it sees
the function that they wrap and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiling(torch: Any) -> Callable[[], bool]:
    """The function that says whether the caller is being compiled."""
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return asked or (lambda: False)


def hide(wrapper: Any) -> None:
    """Keeps ``torch.compile`` from starting at a wrapper: it starts at what that calls, as without."""
    try:
        from torch._C._dynamo.eval_frame import skip_code
    except ImportError:
        return
    skip_code(wrapper.__code__)
