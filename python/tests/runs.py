"""Running programs that record, and reading back what they recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hodo

PROGRAM = Path(hodo.__file__).resolve().parent / "bin" / "hodo"
# What would make a program record elsewhere, or not at all.
_ENVIRONMENT = ("HODO", "HODO_DIR", "HODO_RUN", "HODO_PARENT", "HODO_APP", "HODO_GPU", "HODO_INJECT",
                "HODO_LIBRARY", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CI")


def environment(dir: Path, **more: str) -> dict[str, str]:
    """A clean environment for a program that records into ``dir``."""
    clean = {key: value for key, value in os.environ.items() if key not in _ENVIRONMENT}
    return {**clean, "HODO_DIR": str(dir), "PYTHONPATH": os.pathsep.join(sys.path), **more}


@dataclass
class Ended:
    """A program that has ended."""

    code: int
    out: str
    err: str


def written(dir: Path, code: str) -> Path:
    """``code`` as a file in ``dir``."""
    dir.mkdir(parents=True, exist_ok=True)
    file = dir / "program.py"
    file.write_text(textwrap.dedent(code))
    return file


def run(
    dir: Path,
    code: str,
    *args: str,
    flags: tuple[str, ...] = (),
    expect: int | None = 0,
    timeout: float = 600,
    **env: str,
) -> Ended:
    """Runs ``code`` as a program of its own."""
    command = [sys.executable, *flags, str(written(dir, code)), *args]
    done = subprocess.run(
        command, env=environment(dir, **env), capture_output=True, text=True, timeout=timeout
    )
    if expect is not None:
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return Ended(done.returncode, done.stdout, done.stderr)


def report(dir: Path, *args: str) -> dict[str, Any]:
    """What ``hodo report --json`` says of the newest run in ``dir``."""
    command = [str(PROGRAM), "report", "--json", "--dir", str(dir), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def paths(dir: Path, *args: str) -> Counter[tuple[str, ...]]:
    """How often each path of scopes was recorded, by the names from the outermost."""
    counts: Counter[tuple[str, ...]] = Counter()
    for node in report(dir, *args)["nodes"]:
        counts[tuple(node["path"])] += node["count"]
    return counts


def recorded(dir: Path, code: str, *args: str, **more: Any) -> Counter[tuple[str, ...]]:
    """Runs ``code``; the paths it recorded."""
    run(dir, code, *args, **more)
    return paths(dir)


def node(dir: Path, *path: str) -> dict[str, Any]:
    """The node of the tree with this path."""
    nodes = report(dir)["nodes"]
    found = [n for n in nodes if tuple(n["path"]) == path]
    assert len(found) == 1, (path, [n["path"] for n in nodes])
    return dict(found[0])
