"""What a program recorded, in the shapes that cirron-sdk gives it."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

_FRAME = ("id", "parent_id", "name", "index", "wall_us", "cpu_ns", "gpu_ns", "memory_peak_bytes")
_COUNTS = ("mark_count", "depth")

Row = dict[str, Any]


def trace(run: str | None, format: str, name: str | None, last: int | None) -> Any:
    """``ci.trace``: prints the tree, or gives the scopes of ``run`` as ``format`` says."""
    if format == "tree":
        print(_tree(run, name, last))
        return None
    spans = _filtered(_spans(run), name, last)
    if format == "df":
        pandas: Any = import_module("pandas")
        return pandas.DataFrame([_flat(span) for span in spans], columns=[*_FRAME, *_COUNTS])
    document = {"roots": _roots(spans), "span_count": len(spans)}
    return document if format == "dict" else json.dumps(document)


def _tree(run: str | None, name: str | None, last: int | None) -> str:
    from hodo._trace import trace

    return "nothing is recorded" if run is None else str(trace(run, name=name, last=last))


def _spans(run: str | None) -> list[Row]:
    """Every scope in the order it opened, with its marks."""
    if run is None:
        return []
    from hodo._trace import open

    opened = open(run)
    marks: dict[str, list[Row]] = {}
    for mark in _rows(opened.marks()):
        value = mark["text"] if mark["value"] is None else mark["value"]
        kept = {"name": mark["name"], "value": value, "kind": mark["kind"]}
        if mark["scope"] is not None:
            marks.setdefault(_id(mark["process"], mark["scope"]), []).append(kept)
    return [_span(row, marks) for row in _rows(opened.spans())]


def _span(row: Row, marks: dict[str, list[Row]]) -> Row:
    own = _id(row["process"], row["id"])
    start, took = row["start_ns"], row["duration_ns"]
    is_open = row["state"] in ("open", "left open")
    parent = row["parent"]
    return {
        "id": own,
        "parent_id": None if parent is None else _id(row["parent_process"], parent),
        "name": row["name"],
        "index": row["index"],
        "start_ns": start,
        "end_ns": None if is_open or start is None else start + took,
        "wall_us": None if took is None else took // 1000,
        "cpu_ns": row["cpu_ns"],
        "gpu_ns": None,
        "memory_peak_bytes": None,
        "attrs": json.loads(row["attributes"] or "{}"),
        "marks": marks.get(own, []),
        "depth": row["depth"],
    }


def _id(process: str, scope: int) -> str:
    return f"{process}{scope:016x}"


def _rows(table: Any) -> list[Row]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]


def _filtered(spans: list[Row], name: str | None, last: int | None) -> list[Row]:
    """Those of a name and what is in them; then those that closed last."""
    if name is not None:
        kept: set[str] = set()
        for span in spans:  # a parent opened before its children
            if span["name"] == name or span["parent_id"] in kept:
                kept.add(span["id"])
        spans = [span for span in spans if span["id"] in kept]
    if last is not None:
        closed = sorted((s for s in spans if s["end_ns"] is not None), key=lambda s: -s["end_ns"])
        latest = {span["id"] for span in closed[: max(0, last)]}
        spans = [span for span in spans if span["id"] in latest]
    return spans


def _roots(spans: list[Row]) -> list[Row]:
    """The scopes whose parent is not among them, each with its children."""
    nodes = {span["id"]: {**span, "children": []} for span in spans}
    roots: list[Row] = []
    for node in nodes.values():
        node.pop("depth")
        parent = nodes.get(node["parent_id"])
        (roots if parent is None else parent["children"]).append(node)
    return roots


def _flat(span: Row) -> Row:
    row = {key: span[key] for key in _FRAME}
    return {**row, "mark_count": len(span["marks"]), "depth": span["depth"]}
