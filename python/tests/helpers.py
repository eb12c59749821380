"""Runs a program in a process of its own, and reads back what it recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import hodo


def program() -> str:
    """The `hodo` program: the package's own, else `HODO_PROGRAM`, else the one on the path."""
    packaged = Path(hodo.__file__).with_name("bin") / "hodo"
    found = os.environ.get("HODO_PROGRAM") or (packaged.exists() and packaged)
    return str(found or shutil.which("hodo") or "hodo")


class Run:
    """A recorded run, as the `hodo` program reads it."""

    def __init__(self, folder: Path, output: str = "", errors: str = "") -> None:
        self.folder, self.output, self.errors = folder, output, errors

    @cached_property
    def report(self) -> dict[str, Any]:
        """`hodo report --json`."""
        report: dict[str, Any] = json.loads(_hodo("report", "--json", str(self.folder)))
        return report

    @property
    def tree(self) -> str:
        """Every path of scopes on a line, indented, with its count; siblings by name."""
        nodes = sorted(self.report["nodes"], key=lambda node: node["path"])
        lines = ["  " * node["depth"] + f"{node['name']} {node['count']}" for node in nodes]
        return "\n".join(lines)

    def node(self, *path: str) -> dict[str, Any]:
        """The numbers of the scopes on a path."""
        return next(node for node in self.report["nodes"] if node["path"] == list(path))

    def marks(self, *path: str) -> dict[str, dict[str, Any]]:
        """The marks of the scopes on a path, by name; those outside all scopes for no path."""
        marks = self.node(*path)["marks"] if path else self.report["marks_outside_scopes"]
        return {mark["name"]: mark for mark in marks if mark["name"] != "hodo.overhead"}

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The spans of `hodo export --to chrome`, in order of their start."""
        exported = json.loads(_hodo("export", "--to", "chrome", str(self.folder)))
        spans = [event for event in exported["traceEvents"] if event["ph"] == "X"]
        return sorted(spans, key=lambda span: float(span["ts"]))

    def attributes(self, name: str) -> list[dict[str, Any]]:
        """Index and attributes of the scopes of a name, in order of their start."""
        own = ("cpu_ns", "hodo.overhead", "hodo.scope_id", "failed")
        named = [span.get("args", {}) for span in self.events if span["name"] == name]
        return [{k: v for k, v in args.items() if k not in own} for args in named]


def record(tmp_path: Path, code: str | Path, *args: str, **env: str) -> Run:
    """Runs `code`, a text or a file, and gives the newest run it left in `tmp_path`."""
    command = ["-c", code] if isinstance(code, str) else [str(code)]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HODO")}
    paths = [str(Path(hodo.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    clean["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(
        [sys.executable, *command, *args],
        cwd=tmp_path,
        env=clean | {"HODO_DIR": str(tmp_path / ".hodo")} | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    runs = sorted((tmp_path / ".hodo").glob("*/run.json"), key=lambda run: run.stat().st_mtime_ns)
    assert runs, f"nothing was recorded\n{done.stdout}\n{done.stderr}"
    return Run(runs[-1].parent, done.stdout, done.stderr)


def tree(run: Path) -> str:
    """The tree of a run's folder; see `Run.tree`."""
    return Run(run).tree


def _hodo(*arguments: str) -> str:
    done = subprocess.run(
        [program(), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"hodo {' '.join(arguments)}: {done.stderr}"
    return done.stdout
