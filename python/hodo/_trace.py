"""Reading runs: this process's own, or any that was kept."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias, overload

import hodo
from hodo import _hodo
from hodo._table import Format, Recorded, Table

Path: TypeAlias = "str | os.PathLike[str]"
Where: TypeAlias = "str | Iterable[str] | Mapping[str, object]"
Document: TypeAlias = dict[str, Any]
Last: TypeAlias = "int | str | timedelta"

_FORMATS = ("tree", "dict", "json", "df", "polars", "arrow")


class Run:
    """A run as it was when it was read: prints as the tree of its scopes, shows in notebooks."""

    def __init__(self, reading: _hodo.Reading, filters: dict[str, Any]) -> None:
        self._reading, self._filters = reading, filters
        self._document: dict[str, Any] | None = None
        self._tables: dict[str, Table] = {}

    @property
    def folder(self) -> str:
        """The run's folder."""
        return os.fspath(self._reading.folder)

    def json(self) -> str:
        """All that ``hodo report --json`` prints, as JSON; docs/report-json.md explains each key."""
        return self._reading.document(**self._filters)

    def dict(self) -> dict[str, Any]:
        """The same as a dict; its numbers are nanoseconds and counts, ``None`` is not captured."""
        if self._document is None:
            self._document = json.loads(self.json())
        return self._document

    @property
    def id(self) -> str:
        """The run's id."""
        return self._reading.id

    def table(self, name: str, format: Format | None = None) -> Any:
        """A table by its name: those below, ``"attrs"`` or ``"health"``; docs/parquet.md has the columns.

        Without a format it is a :class:`Table`, else of pandas (``"df"``), ``"polars"`` or pyarrow
        (``"arrow"``). It holds what is inside the scopes that the run was filtered by.
        """
        if name not in self._tables:
            columns = self._reading.table(name, **self._filters)
            self._tables[name] = Table(Recorded(columns))
        return self._tables[name].to(format)

    def tree(self, format: Format | None = None) -> Any:
        """The paths of scopes, a row each, with the numbers of a report."""
        return self.table("tree", format)

    def spans(self, format: Format | None = None) -> Any:
        """The scopes, a row each, in the order they opened. ``attributes`` is a JSON object.

        A scope's handle has ``id == row.process + f"{row.id:016x}"``.
        """
        return self.table("spans", format)

    def marks(self, format: Format | None = None) -> Any:
        """The marks in these scopes, a row each: numbers in ``value``, else ``text``."""
        return self.table("marks", format)

    def kernels(self, format: Format | None = None) -> Any:
        """The GPU kernels that these scopes launched, a row each."""
        return self.table("kernels", format)

    def copies(self, format: Format | None = None) -> Any:
        """What else the GPU did for these scopes: copies, sets, waits, memory taken and given back."""
        return self.table("copies", format)

    def samples(self, series: str | None = None, format: Format | None = None) -> Any:
        """What was sampled of the machines of the run, a row for each reading, of all of its time.

        ``series`` is part of a metric's name, or a pattern: ``"gpu.power"``, ``"gpu.*"``. ``value`` is
        in ``unit``, of a counter its growth a second; it is missing where it could not be read.
        """
        if series is None:
            return self.table("samples", format)
        return Table(Recorded(self._reading.samples(series))).to(format)

    def processes(self, format: Format | None = None) -> Any:
        """The processes of the run, a row each."""
        return self.table("processes", format)

    def verdict(self) -> Document | None:
        """What bounds the run, why, and what to try, as in ``hodo report --json``; of a whole run only."""
        verdict: Document | None = self.dict()["verdict"]
        return verdict

    def sql(
        self, query: str, *, timeout_s: float | None = 60.0, memory_bytes: int = 2 << 30
    ) -> Table:
        """What a query on these tables and the views of ``hodo sql`` gives; see :func:`sql`."""
        from hodo import _sql

        return _sql.sql(query, [self], _sql.Limits(timeout_s, memory_bytes))

    def plot_tree(self, ax: Any = None, *, top: int = 20) -> Any:
        """Draw the paths with the most time of their own; returns the axes, as all plots do."""
        from hodo import _plot

        return _plot.tree(self, ax, top)

    def plot_steps(self, ax: Any = None) -> Any:
        """Draw how long each pass of the outermost loops took, by rank; asks SQL for the ``steps``."""
        from hodo import _plot

        return _plot.steps(self, ax)

    def plot_marks(self, name: str, ax: Any = None) -> Any:
        """Draw the numbers of a mark over time, by rank and path."""
        from hodo import _plot

        return _plot.marks(self, name, ax)

    def plot_samples(self, series: str, ax: Any = None) -> Any:
        """Draw what was sampled of the machines; ``series`` as in :meth:`samples`, of one unit."""
        from hodo import _plot

        return _plot.samples(self, series, ax)

    def plot_kernels(self, ax: Any = None, *, top: int = 20) -> Any:
        """Draw the kernels that took the most time."""
        from hodo import _plot

        return _plot.kernels(self, ax, top)

    def __str__(self) -> str:
        from hodo import _show

        return _show.text(self.dict())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from hodo import _show

        return _show.html(self.dict())


@overload
def trace(
    run: Path | None = None,
    format: Literal["tree"] = "tree",
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> Run: ...
@overload
def trace(
    run: Path | None = None,
    *,
    format: Literal["dict"],
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> dict[str, Any]: ...
@overload
def trace(
    run: Path | None = None,
    *,
    format: Literal["json"],
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> str: ...
@overload
def trace(
    run: Path | None = None,
    format: str = "tree",
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> Any: ...
def trace(
    run: Path | None = None,
    format: str = "tree",
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> Any:
    if format not in _FORMATS:
        raise ValueError(f"format is one of {', '.join(_FORMATS)}, not {format!r}")
    read = Run(_read(run, dir), _filters(name, where, last, scope))
    if format == "tree":
        read.dict()  # A filter that makes no sense is refused here, not when it is printed.
        return read
    if format in ("dict", "json"):
        return read.dict() if format == "dict" else read.json()
    return read.spans(format)  # type: ignore[arg-type]


def open(run: Path | None = None, *, dir: Path | None = None) -> Run:
    if _hodo.is_on():
        _hodo.flush(10.0)
    reading = _hodo.read_run(_dir(dir), run)
    if (unreadable := reading.unreadable_bytes) is not None:
        words = f"{unreadable} bytes of {reading.folder} cannot be read: what it gives is not all"
        warnings.warn(f"{words}; `hodo verify` says where", RuntimeWarning, stacklevel=2)
    return Run(reading, _filters(None, None, None, None))


def _runs_in(run: Path | None) -> list[Path | None]:
    """The runs of a folder that is none itself; else what was named."""
    if run is None or not os.path.isdir(run) or os.path.exists(os.path.join(run, "run.json")):
        return [run]
    return [os.fspath(folder) for folder in _hodo.runs_in(run)] or [run]


def sql(
    query: str,
    run: Path | Iterable[Path] | None = None,
    *,
    dir: Path | None = None,
    timeout_s: float | None = 60.0,
    memory_bytes: int = 2 << 30,
) -> Table:
    from hodo import _sql

    several = isinstance(run, Iterable) and not isinstance(run, str | os.PathLike)
    runs: Any = run if several else [run]
    folders = [folder for one in runs for folder in _runs_in(one)]
    opened: dict[str, Run] = {}
    for one in (open(folder, dir=dir) for folder in folders):
        if (first := opened.setdefault(one.id, one)) is not one:
            words = f"{one.id} is there twice: {first.folder} is asked, {one.folder} is not"
            warnings.warn(words, RuntimeWarning, stacklevel=2)
    if not opened:
        raise ValueError("no run was named: leave run out for the newest")
    return _sql.sql(query, list(opened.values()), _sql.Limits(timeout_s, memory_bytes))


def report(
    run: Path | None = None,
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    dir: Path | None = None,
) -> Run | None:
    try:
        read = Run(_read(run, dir), _filters(name, where, last, None))
    except NothingRecorded as why:
        # A program that ends with a report runs on where hodo is switched off.
        logging.getLogger("hodo").warning("no report: %s", why)
        return None
    if _in_notebook():
        read.dict()
        return read
    print(_printed(read.folder, read._filters), end="")
    return None


def _printed(folder: str, filters: dict[str, Any]) -> str:
    """The report by the program that comes with the package: there is no second one."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hodo")
    command = [program, "report", "--color", "always" if _has_colours() else "never"]
    for option in ("name", "last"):
        if filters[option] is not None:
            command.append(f"--{option}={filters[option]}")
    command += [f"--where={condition}" for condition in filters["conditions"]]
    if sys.stdout is not None and sys.stdout.isatty():
        command.append(f"--width={os.get_terminal_size(sys.stdout.fileno()).columns}")
    done = subprocess.run([*command, "--", folder], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode(errors="replace")


def _has_colours() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _read(run: Path | None, dir: Path | None) -> _hodo.Reading:
    if run is None and dir is None:
        run = _own_run()
    return _hodo.read_run(_dir(dir), run)


def _dir(dir: Path | None) -> Path:
    return dir or os.environ.get("HODO_DIR") or ".hodo"


class NothingRecorded(RuntimeError):
    """This process has no run that could be read."""


def _own_run() -> str:
    _hodo.flush(10.0)
    health = _hodo.health()
    folder = health["run"]
    if folder is None:
        raise NothingRecorded(f"this process records nothing: {_why_off()}")
    if not os.path.isdir(folder):
        raise NothingRecorded(f"this run is not on disk: {health['degraded'] or folder}")
    return str(folder)


def _why_off() -> str:
    switch = os.environ.get("HODO")
    if switch in ("0", "off", "false", "no"):
        return f"HODO={switch} switches hodo off"
    return (
        "hodo is off. Call hodo.init() first, or say which run to read: "
        "hodo.trace('.hodo/<run>'), or hodo.trace(dir='.hodo') for the newest"
    )


def _filters(
    name: str | None, where: Where | None, last: Last | None, scope: str | None
) -> dict[str, Any]:
    return {"name": name, "conditions": _conditions(where), "last": _last(last), "scope": scope}


def _conditions(where: Where | None) -> list[str]:
    if where is None:
        return []
    if isinstance(where, str):
        return [where]
    if not isinstance(where, Mapping):
        return [str(condition) for condition in where]
    if wrong := [key for key in where if not key or set(key) & set("=!<>")]:
        raise ValueError(f"where has the key {wrong[0]!r}; write comparisons as a text: 'loss>0.5'")
    return [f"{key}={_value(value)}" for key, value in where.items()]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _last(last: Last | None) -> str | None:
    if isinstance(last, bool) or not isinstance(last, int | str | timedelta | None):
        raise TypeError(f"last is a number of scopes or a time such as '10s', not {last!r}")
    if isinstance(last, timedelta):
        return f"{last.total_seconds():f}s"
    return None if last is None else str(last)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


setattr(hodo, "Run", Run)
setattr(hodo, "Table", Table)
