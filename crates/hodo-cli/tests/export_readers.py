"""Reads an export back with Python's own library and compares it with the report of the same run.

    export_readers.py REPORT.json SCOPES.csv MARKS.csv WORK.csv RUN.ndjson RUN.speedscope.json RUN.folded

REPORT.json is what `hodo report --json` printed. Every reader builds the tree again from nothing but
its file: paths with counts and total times, in folded stacks times of their own.
"""

import csv
import json
import sys
from collections import Counter, defaultdict


def refuse(why):
    sys.exit(f"export_readers: {why}")


def same(what, expected, found):
    if expected != found:
        keys = {*expected, *found}
        differ = [(k, expected.get(k), found.get(k)) for k in keys if expected.get(k) != found.get(k)]
        refuse(f"{what}: not as in the report (report, export): {differ[:5]}")


def strict(text):
    def constant(name):
        refuse(f"{name} is no JSON")

    return json.loads(text, parse_constant=constant)


def tree(rows, what):
    """Paths of scopes with counts and times, by the parents that their rows name."""
    names = {(row["process"], row["id"]): row for row in rows}
    sums = defaultdict(lambda: [0, 0])
    for row in rows:
        path, at = [], row
        while at is not None:
            path.append(at["name"])
            above = (at["parent_process"], at["parent"])
            at = names.get(above) if above[1] else None
            if at is None and above[1]:
                path.append("(lost scope)")
        path = tuple(reversed(path))
        if row["parent_process"] == row["process"] and "(lost scope)" not in path:
            own = row["path"].split("/")
            if list(path)[-len(own):] != own and not any("/" in name for name in path):
                refuse(f"{what}: {row['path']} is not {path}")
        sums[path][0] += 1
        sums[path][1] += int(row["duration_ns"])
    return dict(sums)


def main(report, scopes, marks, work, lines, speedscope, folded):
    with open(report) as file:
        report = json.load(file)
    nodes = [n for n in report["nodes"] if n["kind"] == "scope"]
    expected = {tuple(n["path"]): [n["count"], n["total_ns"]] for n in nodes}
    counts = Counter()
    for path, (count, _) in expected.items():
        counts[path[-1]] += count

    def table(path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        if any(None in row or None in row.values() for row in rows):
            refuse(f"{path}: rows of different lengths")
        return rows

    scope_rows = table(scopes)
    same("csv", expected, tree(scope_rows, "csv"))
    for row in scope_rows:
        if row["attributes"]:
            strict(row["attributes"])
        if (row["cpu_ns"] == "") == (row["cpu_not_captured"] == ""):
            refuse("CPU time must be there, or why it is not")
    mark_rows, work_rows = table(marks), table(work)
    processes = report["processes"]
    if len(mark_rows) != sum(p["marks"] for p in processes):
        refuse(f"{len(mark_rows)} marks in the csv")
    if len(work_rows) != sum(p["gpu"]["work"] for p in processes):
        refuse(f"{len(work_rows)} pieces of work in the csv")

    by_type = defaultdict(list)
    with open(lines, encoding="utf-8") as file:
        for line in file:
            row = strict(line)
            by_type[row["type"]].append(row)
    if by_type["run"][0]["run"]["id"] != report["run"]["id"]:
        refuse("the first line is not the run")
    same("ndjson", expected, tree(by_type["scope"], "ndjson"))
    if (len(by_type["mark"]), len(by_type["work"])) != (len(mark_rows), len(work_rows)):
        refuse("ndjson and csv differ")
    kernels = sum(row["kind"] == "kernel" for row in by_type["work"])
    if report["gpu"]["captured"] and kernels != report["gpu"]["all"]["kernels"]:
        refuse(f"{kernels} kernels in ndjson")

    with open(speedscope, encoding="utf-8") as file:
        document = strict(file.read())
    drawn = Counter()
    for profile in document["profiles"]:
        opened, last = [], profile["startValue"]
        for event in profile["events"]:
            if event["at"] < last:
                refuse(f"speedscope: {profile['name']} goes back in time")
            last = event["at"]
            if event["type"] == "O":
                opened.append(event["frame"])
                drawn[document["shared"]["frames"][event["frame"]]["name"]] += 1
            elif opened.pop() != event["frame"]:
                refuse(f"speedscope: {profile['name']} closes another frame than the innermost")
        if opened or last > profile["endValue"]:
            refuse(f"speedscope: {profile['name']} does not end")
    for name, count in counts.items():
        if drawn[name] < count:
            refuse(f"speedscope: {drawn[name]} of {count} {name}")

    own = {}
    with open(folded, encoding="utf-8") as file:
        for line in file:
            stack, _, ns = line.rstrip("\n").rpartition(" ")
            own[stack] = own.get(stack, 0) + int(ns)
    clean = lambda name: "".join("," if c == ";" else " " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in name)
    mine = Counter()
    for node in nodes:
        if node["self_ns"]:
            mine[";".join(clean(name) for name in node["path"])] += node["self_ns"]
    same("folded", dict(mine), own)
    print(f"the same: {len(scope_rows)} scopes, {len(mark_rows)} marks, {len(work_rows)} on GPUs")


main(*sys.argv[1:])
