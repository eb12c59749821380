"""Checks a Perfetto export against the report of the same run: same paths, counts and durations.

    perfetto_tree.py TRACE REPORT.json

TRACE is what `hodo export --to perfetto` wrote, REPORT.json what `hodo report --json` printed. The
trace is parsed with the definitions Perfetto publishes; the tree is built again from nothing but
the trace: slices that lie inside one another on a track, and `hodo.parent_id` where a scope is not
drawn inside its parent. GPU work lies on tracks of its streams: as many kernels for each scope as the
report has, each with an arrow from its launch where that is known.
"""

import json
import sys
from collections import Counter, defaultdict

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

# What the report calls a scope whose record is lost but whose children are there.
LOST = "(lost scope)"


def refuse(why):
    sys.exit(f"perfetto_tree: {why}")


class Names:
    """Interned names of one packet sequence."""

    def __init__(self):
        self.events, self.keys, self.categories, self.values = {}, {}, {}, {}

    def add(self, data):
        for table, entries in (
            (self.events, data.event_names),
            (self.keys, data.debug_annotation_names),
            (self.categories, data.event_categories),
        ):
            for entry in entries:
                if entry.iid in table:
                    refuse(f"name {entry.iid} is spelt out twice")
                table[entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            if entry.iid in self.values:
                refuse(f"value {entry.iid} is spelt out twice")
            self.values[entry.iid] = entry.str.decode()


def annotation(value, names):
    kind = value.WhichOneof("value")
    if kind == "string_value_iid":
        return names.values[value.string_value_iid]
    return getattr(value, kind) if kind else None


class Slice:
    def __init__(self, sequence, name, start, notes, parent):
        self.sequence, self.name, self.start, self.notes, self.parent = sequence, name, start, notes, parent
        self.end = None
        self.id = notes.get("hodo.scope_id")


class Gpu:
    """Work on GPUs, and the arrows that lead to it."""

    def __init__(self):
        self.slices, self.tracks, self.begun, self.ended = [], set(), {}, {}

    def begin(self, event, opened, sort):
        opened.sort, opened.flow = sort, None
        self.slices.append(opened)
        self.tracks.add(event.track_uuid)
        for flow in event.terminating_flow_ids:
            if flow in self.ended:
                refuse(f"arrow {flow} ends twice")
            opened.flow, self.ended[flow] = flow, opened


def of_process(tracks, uuid):
    """Whether a track stands under a process or a thread."""
    track = tracks[uuid]
    while track.parent_uuid and not (track.HasField("process") or track.HasField("thread")):
        track = tracks[track.parent_uuid]
    return track.HasField("process") or track.HasField("thread")


def read(path):
    """The tracks, slices, counter values and instants of a trace, and its GPU work."""
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    tracks, names = {}, defaultdict(Names)
    open_on, slices, counters, instants = defaultdict(list), [], Counter(), Counter()
    gpu = Gpu()
    # A viewer sorts by time and keeps the file's order of equal times.
    packets = sorted(
        enumerate(trace.packet), key=lambda p: (p[1].timestamp if p[1].HasField("track_event") else -1, p[0])
    )
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            if descriptor.uuid in tracks:
                refuse(f"track {descriptor.uuid} is described twice")
            if descriptor.parent_uuid and descriptor.parent_uuid not in tracks:
                refuse(f"track {descriptor.uuid} stands under one that is not there")
            tracks[descriptor.uuid] = descriptor
        if packet.HasField("interned_data"):
            names[packet.trusted_packet_sequence_id].add(packet.interned_data)
    for _, packet in packets:
        if not packet.HasField("track_event"):
            continue
        event, sequence = packet.track_event, packet.trusted_packet_sequence_id
        known = names[sequence]
        if event.track_uuid not in tracks:
            refuse(f"an event lies on track {event.track_uuid}, which is not described")
        stack = open_on[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            notes = {known.keys[a.name_iid]: annotation(a, known) for a in event.debug_annotations}
            opened = Slice(sequence, known.events[event.name_iid], packet.timestamp, notes, stack[-1] if stack else None)
            categories = [known.categories[iid] for iid in event.category_iids]
            if categories[0] == "gpu":
                if stack:
                    refuse(f"{opened.name} overlaps another on its track")
                gpu.begin(event, opened, categories[1])
            else:
                slices.append(opened)
            stack.append(opened)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            if not stack:
                refuse("a slice ends that did not begin")
            stack.pop().end = packet.timestamp
        elif event.type == TrackEvent.TYPE_COUNTER:
            # Those of a process are marks; those of a machine are its readings.
            if of_process(tracks, event.track_uuid):
                counters[tracks[event.track_uuid].name] += 1
        elif event.type == TrackEvent.TYPE_INSTANT and event.flow_ids:
            (flow,) = event.flow_ids
            if not tracks[event.track_uuid].HasField("thread"):
                refuse(f"launch {flow} is on no thread")
            gpu.begun[flow] = packet.timestamp
        elif event.type == TrackEvent.TYPE_INSTANT:
            instants[known.events[event.name_iid]] += 1
    if any(open_on.values()):
        refuse("a slice never ends")
    return tracks, slices, counters, instants, gpu


def path_of(scope, by_id, sequences):
    """Names from the outermost scope; a process hangs under the scope that started it."""
    names = []
    while scope is not None:
        names.append(scope.name)
        above = scope.notes.get("hodo.parent_id")
        if above is None:
            scope = scope.parent
            continue
        process = scope.notes.get("hodo.parent_process")
        sequence = scope.sequence if process is None else sequences.get(process)
        scope = by_id.get((sequence, above))
        if scope is None and process is None:
            names.append(LOST)
    return tuple(reversed(names))


def sequences_of(tracks):
    """Packet sequences by the random id of their process, which stands in the track's labels."""
    labels = {t.uuid: t.process.process_labels for t in tracks.values() if t.HasField("process")}
    ids = (label.removeprefix("hodo ") for uuid in sorted(labels) for label in labels[uuid] if label.startswith("hodo "))
    return {int(process, 16): at + 1 for at, process in enumerate(ids)}


def totals(slices, sequences):
    """Count, nanoseconds, failed and open by path."""
    by_id = {(s.sequence, s.id): s for s in slices}
    if len(by_id) != len(slices):
        refuse("two slices have the same scope id")
    result = defaultdict(lambda: [0, 0, 0, 0])
    for scope in slices:
        entry = result[path_of(scope, by_id, sequences)]
        entry[0] += 1
        entry[1] += scope.end - scope.start
        entry[2] += scope.notes.get("failed", False)
        entry[3] += scope.notes.get("open_at_end", False)
    return result


def compare(report, found):
    wanted = {tuple(n["path"]): n for n in report["nodes"] if n["kind"] == "scope"}
    if set(wanted) != set(found):
        refuse(f"paths differ: only in the report {set(wanted) - set(found)}, only in the trace {set(found) - set(wanted)}")
    for path, node in wanted.items():
        count, total_ns, failed, opened = found[path]
        if (node["count"], node["failed"], node["open"]) != (count, failed, opened):
            refuse(f"{path}: report {node['count']} {node['failed']} {node['open']}, trace {count} {failed} {opened}")
        # Both ends of a slice are rounded to a nanosecond of their own.
        if abs(node["total_ns"] - total_ns) > count:
            refuse(f"{path}: report {node['total_ns']} ns, trace {total_ns} ns")


def check_tracks(report, tracks):
    processes = [t for t in tracks.values() if t.HasField("process")]
    threads = Counter(t.thread.thread_name for t in tracks.values() if t.HasField("thread"))
    if len(processes) != len(report["processes"]):
        refuse(f"{len(processes)} process tracks for {len(report['processes'])} processes")
    if len({p.process.pid for p in processes}) != len(processes):
        refuse("two process tracks share a pid")
    named = Counter(t["name"] for p in report["processes"] for t in p["threads"] if t["name"])
    if named - threads:
        refuse(f"threads without a track: {named - threads}")


def check_gpu(report, tracks, gpu):
    """Kernels by scope are those of the report; every arrow has both ends, on tracks of a device."""
    work, kernels = report["gpu"]["all"], Counter(s.notes["scope"] for s in gpu.slices if s.sort == "kernel")
    wanted = Counter({"/".join(n["path"]): n["gpu"]["own"]["kernels"] for n in report["nodes"] if n["gpu"]})
    for key, title in (("outside", "(outside any scope)"), ("unknown", "(unknown launch)"), ("lost_scopes", "(lost scope)")):
        wanted[title] += (report["gpu"][key] or {"kernels": 0})["kernels"]
    untimed = work["unstamped"] + work["unfinished"]
    if not untimed and +wanted != kernels:
        refuse(f"kernels by scope: report {+wanted}, trace {kernels}")
    others = sum(c["count"] for c in work["copies"]) + work["sets"]["count"]
    if not untimed and len(gpu.slices) != work["kernels"] + others:
        refuse(f"{len(gpu.slices)} slices of GPU work for {work['kernels']} kernels and {others} others")
    if sum(s.notes.get("inherited", False) for s in gpu.slices) != work["inherited"]:
        refuse("inherited work differs")
    if set(gpu.begun) != set(gpu.ended):
        refuse(f"arrows with one end: {set(gpu.begun) ^ set(gpu.ended)}")
    for uuid in gpu.tracks:
        device = tracks[tracks[uuid].parent_uuid]
        if not device.name.startswith("GPU ") or not tracks[device.parent_uuid].HasField("process"):
            refuse(f"track {tracks[uuid].name} is under no device of a process")


def main():
    trace, report_path = sys.argv[1:]
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    tracks, slices, counters, instants, gpu = read(trace)
    if len(slices) != report["spans"]:
        refuse(f"{len(slices)} slices for {report['spans']} scopes")
    compare(report, totals(slices, sequences_of(tracks)))
    check_tracks(report, tracks)
    check_gpu(report, tracks, gpu)
    marks = sum(p["marks"] for p in report["processes"])
    if sum(counters.values()) + sum(instants.values()) != marks:
        refuse(f"{sum(counters.values())} counter values and {sum(instants.values())} instants for {marks} marks")
    arrows = len(gpu.begun)
    print(f"same tree: {len(slices)} scopes on {len(tracks)} tracks, {marks} marks, {len(gpu.slices)} on GPUs, {arrows} arrows")


if __name__ == "__main__":
    main()
