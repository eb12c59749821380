"""Scopes while ``torch.compile`` compiles: nothing, so that it compiles as if they were not there."""

from __future__ import annotations

from hodo import _hodo
from hodo._imports import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class Nothing:
    """Stands for a scope in a compiled function."""

    id = index = start_ns = None
    name = ""
    recorded = False

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set(self, **attrs: Any) -> None:
        """Sets nothing."""

    def mark(self, name: str, value: Any, kind: str = "point", **attrs: Any) -> None:
        """Marks nothing."""

    def fail(self, error: Any) -> None:
        """Fails nothing."""

    def end(self, error: Any = None) -> None:
        """Ends nothing."""


def be_invisible() -> None:
    """Tells ``torch.compile``, when it is first used, what to see in place of scopes."""
    when_imported("torch._dynamo", _substitute)


def _substitute(dynamo: ModuleType) -> None:
    # From torch 2.5 on; before, a scope in a compiled function is a graph break.
    substitute = getattr(getattr(dynamo, "decorators", None), "substitute_in_graph", None)
    if substitute is None or getattr(dynamo, "_hodo", False):
        return

    def scope(name: Any, *args: Any, **attrs: Any) -> Nothing:
        return Nothing()

    def mark(name: Any, *args: Any, **attrs: Any) -> None:
        return None

    def is_on() -> bool:
        return False

    def items(items: Any) -> Any:
        return items

    for original, instead in (
        (_hodo.scope, scope),
        (_hodo.begin, scope),
        (_hodo.again, scope),
        (_hodo.attach, scope),
        (_hodo.mark, mark),
        (_hodo.is_on, is_on),
        (_hodo.epochs, items),
        (_hodo.batches, items),
    ):
        substitute(original, skip_signature_check=True)(instead)
    dynamo._hodo = True  # type: ignore[attr-defined]
