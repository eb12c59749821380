"""torch.jit: a scripted function may call what the hooks have wrapped.

The compiler knows its own functions by their numbers, so it would take a wrapper for a function of the
program's, and compile that.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from hodo.hooks import Settings, Undo

# Of what the hooks wrap, what the compiler knows.
OPERATIONS = {"grad": "aten::grad", "backward": "aten::backward"}


def install(undo: Undo, settings: Settings) -> None:
    """Makes the compiler know wrappers, and what they wrap, for the same."""
    import torch
    from torch.jit import _builtins

    find = _builtins._find_builtin
    told: set[int] = set()

    def tell() -> None:
        for name, operation in OPERATIONS.items():
            for each in _inside(getattr(torch.autograd, name)):
                if find(each) is None:
                    _builtins._register_builtin(each, operation)
                if _is_ours(each):
                    told.add(id(each))

    @functools.wraps(find)
    def _find_builtin(function: Any) -> Any:
        if not undo.done:
            tell()
        return find(function)

    def forget() -> None:
        # Another function may come to the number of one that is no more.
        for number in told:
            _builtins._get_builtin_table().pop(number, None)

    undo.patch(_builtins, "_find_builtin", _find_builtin)
    undo.later(forget)


def _inside(function: Any) -> Iterator[Any]:
    """A function, and what it wraps."""
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


def _is_ours(function: Any) -> bool:
    home = getattr(function, "__globals__", {}).get("__name__", "")
    return str(home).startswith("hodo.hooks.")
