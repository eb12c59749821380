"""What all tests share: they run against the installed package, never against the sources beside them."""

from __future__ import annotations

from pathlib import Path

import hodo
import pytest


def pytest_sessionstart() -> None:
    """A package without its runtime and program is not what users get."""
    package = Path(hodo.__file__).resolve().parent
    missing = [part for part in ("lib/libhodo.so", "bin/hodo") if not (package / part).exists()]
    if missing:
        pytest.exit(f"{package} has no {' and no '.join(missing)}: run `make test-python`", 4)
