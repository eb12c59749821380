"""Wrappers of functions that ``torch.compile`` may come across.

They ask first whether they are being compiled. For the compiler the answer is a constant, so it sees
the function that they wrap and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any


def compiling(torch: Any) -> Callable[[], bool]:
    """The function that says whether the caller is being compiled."""
    compiler = getattr(torch, "compiler", None)
    # The first is the cheaper: every call of a module asks it.
    for name in ("is_dynamo_compiling", "is_compiling"):
        if hasattr(compiler, name):
            asked: Callable[[], bool] = getattr(compiler, name)
            return asked
    return lambda: False


def hide(skip: Callable[[CodeType], None]) -> None:
    """Keeps ``torch.compile`` from starting at a function of the hooks: it starts at what their wrappers
    call, as without them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("hodo.hooks.") or name == "hodo._proxy":
            for code in _codes_of(vars(module), name):
                skip(code)


def _codes_of(names: Any, module: str) -> Iterator[CodeType]:
    """The code of functions, of methods, and of functions inside of either."""
    for each in list(names.values()):
        each = getattr(each, "fget", getattr(each, "__func__", each))
        if isinstance(each, FunctionType) and each.__module__ == module:
            yield from _nested(each.__code__)
        elif isinstance(each, type) and each.__module__ == module:
            yield from _codes_of(vars(each), module)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _nested(inner)
