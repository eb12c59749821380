"""Pictures of a run, with matplotlib, which is imported only here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hodo import _show

if TYPE_CHECKING:
    from hodo._trace import Run

Line = tuple[list[float], list[float]]


def tree(run: Run, ax: Any, top: int) -> Any:
    columns = ("path", "self_ns")
    rows = [(path, ns) for path, ns in _columns(run.tree(), columns) if ns is not None]
    return _bars(ax, rows, top, "time of its own", _nothing(run, "no scope with a time"))


def steps(run: Run, ax: Any) -> Any:
    query = 'select path, rank, process, "index", duration_ns from steps order by start_ns'
    lines: dict[str, Line] = defaultdict(lambda: ([], []))
    for path, rank, process, index, ns in run.sql(query).fetchall():
        if ns is not None:
            _add(lines[_whose(path, rank, process)], index, ns / 1e6)
    ax = _lines(ax, lines, _nothing(run, "no loop of scopes with an index"))
    ax.set(xlabel="index", ylabel="ms")
    return ax


def marks(run: Run, name: str, ax: Any) -> Any:
    columns = ("name", "path", "rank", "process", "at_ns", "value")
    rows = list(_columns(run.marks(), columns))
    lines: dict[str, Line] = defaultdict(lambda: ([], []))
    start = run.dict()["start_ns"] or 0
    for mark, path, rank, process, at, value in rows:
        if mark == name and at is not None and value is not None:
            _add(lines[_whose(path, rank, process)], (at - start) / 1e9, value)
    known = ", ".join(sorted({_show._safe(row[0]) for row in rows})[:20])
    why = f"no numbers marked {name!r}; its marks are {known or 'none'}"
    ax = _lines(ax, lines, _nothing(run, why))
    ax.set(xlabel="s", ylabel=_label(name))
    return ax


def samples(run: Run, series: str, ax: Any) -> Any:
    columns = ("metric", "source", "host", "unit", "time_ns", "value")
    lines: dict[str, Line] = defaultdict(lambda: ([], []))
    units = set()
    start = run.dict()["start_ns"] or 0
    for metric, source, host, unit, at, value in _columns(run.samples(series), columns):
        units.add(unit)
        # A gap stays a gap: nothing is drawn where nothing could be read.
        there = float("nan") if value is None else value
        _add(lines[_label(f"{metric} {source} {host}")], (at - start) / 1e9, there)
    if len(units) > 1:
        raise ValueError(f"{series!r} has several units ({', '.join(sorted(units))}): name one metric")
    ax = _lines(ax, lines, _nothing(run, f"no samples of {series!r}"))
    ax.set(xlabel="s", ylabel=_label("".join(units)))
    return ax


def kernels(run: Run, ax: Any, top: int) -> Any:
    sums: dict[str, int] = defaultdict(int)
    for name, ns in _columns(run.kernels(), ("short_name", "duration_ns")):
        sums[name] += ns or 0
    rows = sorted(sums.items(), key=lambda row: -row[1])
    return _bars(ax, rows, top, "time of the kernels", _nothing(run, "no kernels"))


def _axes(ax: Any) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"plots need matplotlib, which cannot be imported ({error}): `pip install 'hodo[plot]'`"
        ) from error
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _columns(table: Any, names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    places = [table.columns.index(name) for name in names]
    return (tuple(row[place] for place in places) for row in table.fetchall())


def _nothing(run: Run, why: str) -> ValueError:
    return ValueError(f"nothing to draw of {run.folder}: {why}")


def _add(line: Line, x: float, y: float) -> None:
    line[0].append(x)
    line[1].append(y)


def _bars(ax: Any, rows: list[tuple[str, int]], top: int, what: str, nothing: ValueError) -> Any:
    largest = sorted(rows, key=lambda row: row[1])[-top:] if top > 0 else []
    if not largest:
        raise nothing
    ax = _axes(ax)
    places = range(len(largest))
    ax.barh(places, [ns / 1e6 for _, ns in largest])
    ax.set_yticks(places, [_label(name) for name, _ in largest])
    ax.set(xlabel=f"ms, {what}")
    return ax


def _lines(ax: Any, lines: dict[str, Line], nothing: ValueError) -> Any:
    if not lines:
        raise nothing
    ax = _axes(ax)
    for label, (x, y) in lines.items():
        ax.plot(x, y, label=label, marker="." if len(x) < 100 else None)
    if len(lines) > 1:
        ax.legend(fontsize="small")
    return ax


def _whose(path: str | None, rank: int | None, process: str) -> str:
    who = f"process {process}" if rank is None else f"rank {rank}"
    return _label(f"{path or 'outside scopes'}, {who}")


def _label(name: str) -> str:
    """A name as text: matplotlib takes what is between dollars for mathematics."""
    return _show._safe(name).replace("$", r"\$")
