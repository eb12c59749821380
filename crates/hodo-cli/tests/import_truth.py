"""Checks an imported run against the file it was imported from.

    import_truth.py SOURCE REPORT.json

SOURCE is what another tool wrote: a Chrome trace of torch.profiler (.json, .json.gz), an archive of a
Cirron spool or of a GPUFlight log (.tgz). REPORT.json is what `hodo report --json --kernels-in-full`
printed of the import. The source is read again here, with nothing but json, gzip and tarfile:
counts and times of kernels by name and by scope, of sets, copies and waits, of scopes by name.
"""

import gzip
import json
import sys
import tarfile
from collections import Counter, defaultdict
from decimal import Decimal


def refuse(why):
    sys.exit(f"import_truth: {why}")


class Truth:
    """Counts and nanoseconds, by name or path."""

    def __init__(self):
        self.kernels = defaultdict(lambda: [0, 0])
        self.kernels_by_scope = defaultdict(lambda: [0, 0])
        self.scopes = defaultdict(lambda: [0, 0])
        self.sets = [0, 0]
        self.copies = [0, 0]

    def kernel(self, name, path, ns):
        for sums in (self.kernels[name], self.kernels_by_scope[(name, path)]):
            sums[0] += 1
            sums[1] += ns

    def scope(self, name, ns):
        self.scopes[name][0] += 1
        self.scopes[name][1] += ns


def ns(event, key):
    return int(event[key] * 1000)


def chrome(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        trace = json.load(file, parse_float=Decimal, parse_int=Decimal)
    truth = Truth()
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    threads = defaultdict(list)
    calls = {}
    for event in slices:
        if event["cat"] not in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"):
            continue
        event["start"], event["end"] = ns(event, "ts"), ns(event, "ts") + ns(event, "dur")
        threads[event["tid"]].append(event)
        truth.scope(event["name"], ns(event, "dur"))
        if event["cat"] in ("cuda_runtime", "cuda_driver"):
            correlation = event.get("args", {}).get("correlation")
            if correlation not in calls or event["start"] < calls[correlation]["start"]:
                calls[correlation] = event
    for events in threads.values():
        nest(events)
    marked = [e for events in threads.values() for e in events if e["cat"] == "user_annotation"]
    for events in threads.values():
        for event in events:
            # A backward operation belongs to what its caller has open.
            asked = event["name"].startswith("autograd::engine::evaluate_function")
            asked = asked or event.get("args", {}).get("Fwd thread id", 0) > 0
            if event["up"] is None and event["cat"] == "cpu_op" and asked:
                around = [m for m in marked if m["start"] <= event["start"] and event["end"] <= m["end"]]
                event["up"] = max(around, key=lambda m: m["start"], default=None)
    for event in slices:
        if event["cat"] == "kernel":
            scope = calls[event["args"]["correlation"]]
            while scope is not None and scope["cat"] in ("cuda_runtime", "cuda_driver"):
                scope = scope["up"]
            path = []
            while scope is not None:
                path.append(scope["name"])
                scope = scope["up"]
            truth.kernel(event["name"], tuple(reversed(path)), ns(event, "dur"))
        for category, sums in (("gpu_memset", truth.sets), ("gpu_memcpy", truth.copies)):
            if event["cat"] == category:
                sums[0] += 1
                sums[1] += ns(event, "dur")
    return truth


def nest(events):
    """Says of each event which one of its thread it lies in."""
    open_ones = []
    for event in sorted(events, key=lambda e: (e["start"], -e["end"])):
        while open_ones and open_ones[-1]["end"] <= event["start"]:
            open_ones.pop()
        around = [o for o in open_ones if event["end"] <= o["end"]]
        event["up"] = around[-1] if around else None
        open_ones.append(event)


def cirron(archive):
    truth, seen = Truth(), set()
    for member in archive.getmembers():
        if not member.name.endswith(".json"):
            continue
        for span in json.load(archive.extractfile(member))["spans"]:
            if span["id"] not in seen:
                seen.add(span["id"])
                truth.scope(span["name"], span["end_ns"] - span["start_ns"])
    return truth


def gpuflight(archive):
    truth, names, kernel_names = Truth(), {}, {}
    begun, details, kernels = {}, {}, []
    for member in archive.getmembers():
        if not member.name.endswith(".log.gz"):
            continue
        for line in gzip.decompress(archive.extractfile(member).read()).splitlines():
            record = json.loads(line)
            kind = record["type"]
            if kind == "dictionary_update":
                kernel_names.update(record.get("kernel_dict", {}))
                names.update(record.get("scope_name_dict", {}))
            elif kind == "kernel_detail":
                details[record["corr_id"]] = record
            elif kind == "memset_event":
                truth.sets[0] += 1
                truth.sets[1] += record["end_ns"] - record["start_ns"]
            elif kind.endswith("_batch"):
                rows = [dict(zip(record["columns"], row)) for row in record["rows"]]
                if kind == "kernel_event_batch":
                    kernels += rows
                for row in rows if kind == "scope_event_batch" else []:
                    if row["event_type"] == 0:
                        begun[row["scope_instance_id"]] = record["base_time_ns"] + row["dt_ns"]
                    else:
                        start = begun.pop(row["scope_instance_id"])
                        truth.scope(names[str(row["name_id"])], record["base_time_ns"] + row["dt_ns"] - start)
    for row in kernels:
        path = details[row["corr_id"]]["user_scope"]
        path = () if path == "global" else tuple(path.split("|"))
        truth.kernel(kernel_names[str(row["kernel_id"])], path, row["duration_ns"])
    return truth


def read(path):
    if not path.endswith(".tgz"):
        return chrome(path)
    with tarfile.open(path) as archive:
        is_cirron = any("/spool/" in name for name in archive.getnames())
        return cirron(archive) if is_cirron else gpuflight(archive)


def same(what, expected, found):
    if expected != found:
        differ = [(k, expected.get(k), found.get(k)) for k in {*expected, *found} if expected.get(k) != found.get(k)]
        refuse(f"{what} differ (source, import): {differ[:5]}")


def main(source, report):
    truth = read(source)
    with open(report) as file:
        report = json.load(file)
    rows = report["kernels"]["rows"]
    same("kernels", dict(truth.kernels), {r["name"]: [r["count"], r["total_ns"]] for r in rows})
    by_scope = {(r["name"], tuple(s["path"])): [s["count"], s["total_ns"]] for r in rows for s in r["scopes"]}
    same("kernels by scope", {k: v for k, v in truth.kernels_by_scope.items() if k[1]}, {k: v for k, v in by_scope.items() if k[1] and not k[1][0].startswith("(")})
    found = Counter(), Counter()
    for node in report["nodes"]:
        if node["kind"] == "scope":
            found[0][node["name"]] += node["count"]
            found[1][node["name"]] += node["total_ns"]
    found = {name: [count, found[1][name]] for name, count in found[0].items()}
    found.pop("cirron.session", None)  # made of what its absence leaves
    same("scopes", dict(truth.scopes), found)
    if report["gpu"]["captured"]:
        everything = report["gpu"]["all"]
        for what, found in (("sets", [everything["sets"]]), ("copies", everything["copies"])):
            sums = [sum(s[key] for s in found) for key in ("count", "total_ns")]
            same(what, {what: getattr(truth, what)}, {what: sums})
    print(f"the same: {sum(v[0] for v in truth.kernels.values())} kernels of {len(truth.kernels)} names, "
          f"{sum(v[0] for v in truth.scopes.values())} scopes")


main(*sys.argv[1:])
