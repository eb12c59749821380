"""An OTLP receiver: takes what `hodo export --to otlp --endpoint` posts, decodes it with
OpenTelemetry's own definitions, and compares the tree with the report of the same run.

    otlp_receiver.py REPORT.json [FILE]

With FILE it decodes that instead of listening. Else it prints its port, answers the first post with
503 (which a client must try again), takes everything until a GET says that all was sent, and then
says what it found.
"""

import json
import sys
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


def refuse(why):
    sys.exit(f"otlp_receiver: {why}")


def listen():
    """Requests as they come, until a GET."""
    requests, refused, done = [], [], []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path != "/v1/traces" or self.headers["content-type"] != "application/x-protobuf":
                return self.answer(400, b"not a trace")
            if self.headers["authorization"] != "Bearer x":
                return self.answer(401, b"who are you?")
            if not refused:
                refused.append(True)
                return self.answer(503, b"busy")
            requests.append(ExportTraceServiceRequest.FromString(body))
            self.answer(200, ExportTraceServiceResponse().SerializeToString())

        def do_GET(self):
            done.append(True)
            self.answer(200, b"")

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    print(server.server_port, flush=True)
    while not done:
        server.handle_request()
    return requests


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(v) for v in value.array_value.values]
    if kind == "kvlist_value":
        return {v.key: plain(v.value) for v in value.kvlist_value.values}
    return getattr(value, kind)


def check(requests, report):
    spans, events, dropped = {}, 0, 0
    traces = set()
    for request in requests:
        for resource in request.resource_spans:
            about = {a.key: plain(a.value) for a in resource.resource.attributes}
            if about["service.name"] != report["run"]["app"] or about["hodo.run"] != report["run"]["id"]:
                refuse(f"a resource that is not the run: {about}")
            for scope in resource.scope_spans:
                for span in scope.spans:
                    if len(span.trace_id) != 16 or len(span.span_id) != 8 or span.span_id in spans:
                        refuse(f"ids of {span.name}")
                    traces.add(span.trace_id)
                    events += len(span.events)
                    dropped += span.dropped_events_count
                    attributes = {a.key: plain(a.value) for a in span.attributes}
                    spans[span.span_id] = (span, attributes)
    if len(traces) != 1:
        refuse(f"{len(traces)} traces")
    found = defaultdict(lambda: [0, 0, 0])
    for span, attributes in spans.values():
        if span.name == "(marks outside any scope)":
            continue
        path, at = [], span
        while at is not None:
            path.append(at.name)
            above = at.parent_span_id
            at = spans[above][0] if above in spans else None
            if at is None and above:
                path.append("(lost scope)")
        sums = found[tuple(reversed(path))]
        sums[0] += 1
        sums[1] += span.end_time_unix_nano - span.start_time_unix_nano
        sums[2] += span.status.code == 2
        if "hodo.scope_id" not in attributes or ("hodo.cpu_ns" in attributes) == ("hodo.cpu_not_captured" in attributes):
            refuse(f"attributes of {span.name}: {attributes}")
    nodes = [n for n in report["nodes"] if n["kind"] == "scope"]
    expected = {tuple(n["path"]): [n["count"], n["total_ns"], n["failed"]] for n in nodes}
    if expected != dict(found):
        keys = {*expected, *found}
        refuse(f"trees differ: {[(k, expected.get(k), found.get(k)) for k in keys if expected.get(k) != found.get(k)][:5]}")
    marks = sum(p["marks"] for p in report["processes"])
    if events + dropped != marks:
        refuse(f"{events} events and {dropped} dropped of {marks} marks")
    user = sum(len([k for k in a if not k.startswith(("hodo.", "thread."))]) for _, a in spans.values())
    print(f"same tree: {len(spans)} spans, {events} events, {user} attributes in {len(requests)} requests")


def main(report, file=None):
    with open(report) as opened:
        report = json.load(opened)
    if file is None:
        return check(listen(), report)
    with open(file, "rb") as opened:
        check([ExportTraceServiceRequest.FromString(opened.read())], report)


main(*sys.argv[1:])
