"""A run for people: as text, and as HTML that needs nothing but itself."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from html import escape
from typing import Any

Node = dict[str, Any]

# Rows of a tree that a person may still read; the rest is counted.
_MAX_ROWS = 200
_MAX_NAME = 120
_MAX_LIST = 10
_MAX_CELL = 40
# Notebooks keep what they show: a page stays well under 200 KB whatever the names are.
_MAX_ROW_BYTES = 120_000
_MAX_LIST_BYTES = 15_000

_STYLE = """<style>
.hodo{--fg:#1d2330;--dim:#667085;--line:#e4e7ec;--bg:#fff;--bar:#c7d7fe;--hot:#b42318;--warm:#b54708;
background:var(--bg);color:var(--fg);font:13px/1.5 system-ui,sans-serif;padding:10px 12px;max-width:70em;overflow-x:auto}
@media (prefers-color-scheme:dark){.hodo{--fg:#e4e7ec;--dim:#98a2b3;--line:#344054;--bg:#101828;--bar:#2d3f73;--hot:#fda29b;--warm:#fec84b}}
.hodo table{border-collapse:collapse;width:100%;margin:6px 0;background:none;color:inherit;font-size:13px}
.hodo th,.hodo td{padding:2px 8px;border:0;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums;background:none;color:inherit}
.hodo th{color:var(--dim);font-weight:500}.hodo th:first-child,.hodo td:first-child{text-align:left}
.hodo td:first-child{font-family:ui-monospace,monospace;overflow:hidden;text-overflow:ellipsis;max-width:34em}
.hodo .bar{background:linear-gradient(var(--bar),var(--bar)) no-repeat left/var(--share) 100%}
.hodo .dim{color:var(--dim)}.hodo .hot{color:var(--hot)}.hodo .warm{color:var(--warm)}
</style>"""


@dataclass
class Row:
    """A line of the tree."""

    node: Node
    branch: str

    @property
    def share(self) -> float | None:
        """Of the time of the scopes around it; above 1 where children overlap."""
        whole, own = self.node["parent_ns"], self.node["total_ns"]
        return own / whole if whole and own is not None else None


def text(document: dict[str, Any]) -> str:
    """The tree as text."""
    rows, hidden = _rows(document["nodes"])
    head = ["", "count", "total", "self", "mean", "p95", "of parent"]
    cells = [head, *([r.branch + _label(r.node), *_numbers(r), _percent(r.share)] for r in rows)]
    widths = [max(_width(line[at]) for line in cells) for at in range(len(head))]
    lines = [_title(document), _amounts(document), *_warnings(document)]
    if rows:
        lines.append("")
        lines += [_line(line, widths) for line in cells]
    if hidden:
        lines.append(f"… and {_count(hidden)} smaller paths, in format='dict'")
    lines += ["", *_endings(document)] if _endings(document) else []
    return "\n".join(lines)


def html(document: dict[str, Any]) -> str:
    """The same as HTML: one block, no script, light and dark."""
    rows, hidden = _rows(document["nodes"])
    body: list[str] = []
    size = 0
    for row in rows:
        line = _html_row(row)
        size += len(line.encode())
        if size > _MAX_ROW_BYTES:
            hidden += len(rows) - len(body)
            break
        body.append(line)
    parts = [f"<b>{escape(_title(document))}</b>", _div("dim", _amounts(document))]
    parts += [_div("hot", warning) for warning in _warnings(document)]
    if body:
        heads = "".join(f"<th>{head}</th>" for head in _HEADS)
        parts.append(f"<table><tr>{heads}</tr>{''.join(body)}</table>")
    if hidden:
        parts.append(_div("dim", f"… and {_count(hidden)} smaller paths left out"))
    parts += [_div("warm", line) for line in _endings(document)]
    parts.append(_html_marks(document))
    return f'{_STYLE}<div class="hodo">{"".join(parts)}</div>'


def table_text(names: list[str], rows: list[tuple[Any, ...]], length: int) -> str:
    """The first rows of a table."""
    cells = [list(map(_safe, names)), *([_cell(value) for value in row] for row in rows)]
    widths = [max(_width(line[at]) for line in cells) for at in range(len(names))]
    lines = [_line(line, widths) for line in cells]
    more = f", of which {_count(len(rows))} are shown" if length > len(rows) else ""
    return "\n".join([*lines, f"{_plural(length, 'row', 'rows')}{more}"])


def table_html(names: list[str], rows: list[tuple[Any, ...]], length: int) -> str:
    """The same as HTML."""
    heads = "".join(f"<th>{escape(_safe(name))}</th>" for name in names)
    lines = ("".join(f"<td>{escape(_cell(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    more = f", of which {_count(len(rows))} are shown" if length > len(rows) else ""
    words = f"{_plural(length, 'row', 'rows')}{more}"
    return f'{_STYLE}<div class="hodo"><table><tr>{heads}</tr>{body}</table>{_div("dim", words)}</div>'


def _cell(value: object) -> str:
    shown = _value(value)
    return shown if len(shown) <= _MAX_CELL else shown[: _MAX_CELL - 1] + "…"


_HEADS = ("scope", "count", "total", "self", "mean", "p95", "of parent")


def _html_row(row: Row) -> str:
    share = row.share
    bar = f' class="bar" style="--share:{min(share, 1) * 100:.1f}%"' if share is not None else ""
    name = _label(row.node)
    indent = min(row.node["depth"], 24)
    numbers = "".join(f"<td>{number}</td>" for number in _numbers(row))
    return (
        f'<tr><td style="padding-left:{8 + 16 * indent}px">{escape(name)}</td>'
        f"{numbers}<td{bar}>{_percent(share)}</td></tr>"
    )


def _html_marks(document: dict[str, Any]) -> str:
    found = [("", mark) for mark in document["marks_outside_scopes"]]
    for node in document["nodes"]:
        found += [(node["name"], mark) for mark in node["marks"] if mark["name"] != "hodo.overhead"]
    lines: list[str] = []
    for scope, mark in found[:_MAX_LIST]:
        cells = [mark["name"], scope, mark["count"], mark["first"], mark["last"]]
        cells += [mark["min"], mark["max"]]
        lines.append("".join(f"<td>{escape(_value(cell))}</td>" for cell in cells))
    while lines and sum(map(len, lines)) > _MAX_LIST_BYTES:
        lines.pop()
    if not found:
        return ""
    heads = "".join(f"<th>{h}</th>" for h in ("mark", "in", "count", "first", "last", "min", "max"))
    more = len(found) - len(lines)
    rest = _div("dim", f"… and {_count(more)} more marks left out") if more else ""
    return f"<table><tr>{heads}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{rest}"


def _div(kind: str, words: str) -> str:
    return f'<div class="{kind}">{escape(words)}</div>'


def _rows(nodes: list[Node]) -> tuple[list[Row], int]:
    """The largest paths with what leads to them, in the order they came; how many are left out."""
    parents = _parents(nodes)
    by_size = sorted(range(len(nodes)), key=lambda at: -(nodes[at]["total_ns"] or 0))
    chosen: set[int] = set()
    for at in by_size:
        way = []
        next_at: int | None = at
        while next_at is not None and next_at not in chosen:
            way.append(next_at)
            next_at = parents[next_at]
        if len(chosen) + len(way) <= _MAX_ROWS or not chosen:
            chosen.update(way)
    shown = sorted(chosen)
    return _branches([nodes[at] for at in shown]), len(nodes) - len(shown)


def _parents(nodes: list[Node]) -> list[int | None]:
    """Where the parent of each stands: the last one before it that is a level higher."""
    parents: list[int | None] = []
    last_at: dict[int, int] = {}
    for at, node in enumerate(nodes):
        parents.append(last_at.get(node["depth"] - 1))
        last_at[node["depth"]] = at
    return parents


def _branches(nodes: list[Node]) -> list[Row]:
    """The lines in front of the names, from the last line up: what goes on below is known then."""
    rows: list[Row] = []
    goes_on: set[int] = set()
    for node in reversed(nodes):
        depth = node["depth"]
        levels = range(max(1, depth - 10), depth)
        branch = "".join("│  " if level in goes_on else "   " for level in levels)
        if depth:
            branch += "├─ " if depth in goes_on else "└─ "
        goes_on = {level for level in goes_on if level < depth} | {depth}
        rows.append(Row(node, branch))
    return rows[::-1]


def _label(node: Node) -> str:
    tag = node["tag"] or {}
    shown = f" / {tag['one']}" if "one" in tag else ""
    notes = [f"{_count(node[key])} {key}" for key in ("open", "failed") if node[key]]
    return _safe(node["name"] + shown) + (f"  ({', '.join(notes)})" if notes else "")


def _numbers(row: Row) -> list[str]:
    node = row.node
    if node["kind"] != "scope":
        return [""] * 5
    times = node["durations"] or {}
    numbers = [node["total_ns"], node["self_ns"], times.get("mean_ns"), times.get("p95_ns")]
    return [_count(node["count"]), *map(duration, numbers)]


def _title(document: dict[str, Any]) -> str:
    app = document["run"]["app"] or "(no name)"
    parts = [_safe(app), document["state"] or "no process yet", duration(document["wall_ns"])]
    return "  ".join(parts)


def _amounts(document: dict[str, Any]) -> str:
    shown = document["spans_shown"]
    parts = [
        _safe(document["run"]["id"]),
        _plural(len(document["processes"]), "process", "processes"),
        _plural(document["spans"], "scope", "scopes"),
        f"{_count(shown)} of them shown" if shown != document["spans"] else "",
    ]
    return " · ".join(part for part in parts if part)


def _warnings(document: dict[str, Any]) -> list[str]:
    records = document["records"]
    found = []
    if records["lost_records"]:
        found.append(f"{_plural(records['lost_records'], 'record', 'records')} lost")
    if records["unexplained"]:
        words = _plural(records["unexplained"], "record", "records")
        found.append(f"{words} missing without a reason")
    if document["uncalibrated_processes"]:
        words = _plural(document["uncalibrated_processes"], "process", "processes")
        found.append(f"the times of {words} are not known")
    return found


def _endings(document: dict[str, Any]) -> list[str]:
    """Scopes that failed or are open, a line each; not where a filter may have dropped them."""
    if document["spans_shown"] != document["spans"]:
        return []
    lines = []
    for key in ("failed", "open"):
        for ending in document[key]["scopes"][:_MAX_LIST]:
            steps = [
                _safe(step["name"]) + ("" if step["index"] is None else f" {step['index']}")
                for step in ending["path"][:6]
            ]
            error = f": {_safe(ending['error'])}" if ending["error"] else ""
            after = f" for {duration(ending['duration_ns'])}" if key == "open" else ""
            lines.append(f"{key}{after}: {' ‹ '.join(steps)}{error}")
    return lines


def duration(ns: float | None) -> str:
    """Three digits and a unit; a dash where there is no number."""
    if ns is None:
        return "–"
    if ns < 999.5:
        return f"{ns:.0f} ns"
    for unit, size in (("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return f"{_three(ns / size)} {unit}"
    return f"{_three(ns / 1e9)} s"


def _three(number: float) -> str:
    digits = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{digits}f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.0f} %" if share >= 0.1 else f"{share * 100:.1f} %"


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _plural(number: int, one: str, many: str) -> str:
    return f"{_count(number)} {one if number == 1 else many}"


def _value(value: object) -> str:
    shown = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
    return _safe(shown)


def _safe(name: str) -> str:
    """What a terminal or a page may take for a command is spelt out; long names are cut."""
    cut = name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
    plain = (c if unicodedata.category(c)[0] != "C" else f"\\u{{{ord(c):x}}}" for c in cut)
    return "".join("\\u{2028}" if c in "\u2028\u2029" else c for c in plain)


def _width(shown: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in shown)
    return len(shown) + wide - sum(unicodedata.combining(c) > 0 for c in shown)


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = cells
    padded = [first + " " * (widths[0] - _width(first))]
    padded += [
        " " * (width - _width(cell)) + cell for cell, width in zip(rest, widths[1:], strict=True)
    ]
    return "  ".join(padded).rstrip()
