"""What the programs beside this file share.

`PROGRAM.py hodo` runs the program under hodo; `PROGRAM.py expected` prints what hodo must show, a line
`COUNT PATH: WHAT` for every scope that launched something: counted by torch.profiler in a run of its
own, or known by the program.
"""

from __future__ import annotations

import collections
import contextlib
import json
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterable

import torch

Scope = Callable[[str], contextlib.AbstractContextManager]
Work = Callable[[Scope], None]
WHAT = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set"}


def main(
    work: Work,
    *,
    warm_up: Work | None = None,
    expected: Iterable[str] | None = None,
    captured: str | None = None,
) -> None:
    """Runs ``work`` as the command line says.

    ``warm_up`` comes before, unrecorded. ``expected`` are the lines where the program knows them.
    ``captured`` is the path of the scope that graphs were captured in.
    """
    if sys.argv[1] == "expected" and expected is not None:
        print(*expected, sep="\n")
        return
    if warm_up:
        warm_up(lambda name: contextlib.nullcontext())
        torch.cuda.synchronize()
    if sys.argv[1] == "hodo":
        import hodo

        hodo.init(app=pathlib.Path(sys.argv[0]).stem)
        work(hodo.scope)
        torch.cuda.synchronize()
        hodo.flush()
        state = hodo.health()["gpu"]
        assert state["state"] == "capturing", state
        hodo.shutdown()
        return
    for line, count in sorted(_counted(work, captured).items()):
        print(count, line)


def _counted(work: Work, captured: str | None) -> collections.Counter[str]:
    from torch.profiler import ProfilerActivity, profile, record_function

    names: set[str] = set()

    def scope(name: str) -> contextlib.AbstractContextManager:
        names.add(name)
        return record_function(name)

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work(scope)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    return count(events, names, captured)


def count(events: list[dict], names: set[str], captured: str | None) -> collections.Counter[str]:
    """Work by the scopes that were open when it was launched, the outermost first.

    Backward blocks its caller, so the thread does not matter where one thread has scopes.
    """
    windows = sorted(
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"] in names
    )
    calls = {
        event["args"]["correlation"]: (event["ts"], event["name"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    counts: collections.Counter[str] = collections.Counter()
    for event in events:
        what = WHAT.get(event.get("cat", ""))
        if what is None:
            continue
        at, call = calls[event["args"]["correlation"]]
        path = "/".join(name for start, end, name in windows if start <= at <= end) or "-"
        in_graph = "GraphLaunch" in call
        counts[f"{path}: {what}" + (f" captured in {captured}" if in_graph else "")] += 1
    return counts
